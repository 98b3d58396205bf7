//! Dates of the proleptic Gregorian calendar and times of day.
//!
//! Not jiff's: with an offset a CEL timestamp can fall into the year 0 or 10000, which jiff's calendar does not have.

use super::timestamp::Timestamp;

pub(crate) const SECONDS_PER_DAY: i64 = 86_400;

/// A point in time on a calendar and a clock somewhere.
pub(crate) struct Civil {
    /// Days since 1970-01-01.
    pub(crate) days: i64,
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) second_of_day: i64,
    pub(crate) millisecond: i64,
}

impl Civil {
    /// What clocks show that are `offset` seconds ahead of UTC.
    pub(crate) fn new(time: Timestamp, offset: i64) -> Self {
        let local = time.seconds().saturating_add(offset);
        let days = local.div_euclid(SECONDS_PER_DAY);
        let (year, month, day) = date_of(days);
        Self {
            days,
            year,
            month,
            day,
            second_of_day: local.rem_euclid(SECONDS_PER_DAY),
            millisecond: i64::from(time.nanoseconds() / 1_000_000),
        }
    }

    /// From 0.
    pub(crate) fn day_of_year(&self) -> i64 {
        self.days - days_of(self.year, 1, 1)
    }

    /// Sunday is 0; the first day of 1970 was a Thursday.
    pub(crate) fn day_of_week(&self) -> i64 {
        (self.days + 4).rem_euclid(7)
    }
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The inverse of [`days_of`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_day_numbers_are_inverse() {
        let mut last = None;
        for days in days_of(0, 1, 1)..days_of(10_001, 1, 1) {
            let date = date_of(days);
            assert_eq!(days_of(date.0, date.1, date.2), days);
            assert!(last < Some(date), "{date:?} does not follow {last:?}");
            last = Some(date);
        }
        assert_eq!(date_of(0), (1970, 1, 1));
    }
}
