//! Reads timestamps as Go's `time.Parse` reads RFC 3339: an hour of one digit and a comma before the fraction are taken, digits after
//! the ninth are dropped.

use std::str::FromStr;

use super::civil::{SECONDS_PER_DAY, days_of};
use super::error::EvalError;
use super::timestamp::Timestamp;

/// Errors are cel-go's: `type conversion error …` for what is no timestamp, `timestamp overflow` outside the years 1 to 9999.
impl FromStr for Timestamp {
    type Err = Box<EvalError>;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (seconds, nanoseconds, offset) = read(text).ok_or_else(|| {
            EvalError::invalid("type conversion error from 'string' to 'google.protobuf.Timestamp'")
        })?;
        Ok(Self::from_unix(seconds, nanoseconds)?.with_offset(offset))
    }
}

/// Seconds since 1970, nanoseconds after that, seconds east of UTC.
fn read(text: &str) -> Option<(i64, u32, i32)> {
    let mut rest = Digits(text.as_bytes());
    let year = rest.number(4)?;
    rest.literal(b'-')?;
    let month = rest.number(2).filter(|month| (1..=12).contains(month))?;
    rest.literal(b'-')?;
    let day = rest.number(2)?;
    rest.literal(b'T')?;
    let hour = rest.number(2).or_else(|| rest.number(1)).filter(|hour| *hour < 24)?;
    rest.literal(b':')?;
    let minute = rest.number(2).filter(|minute| *minute < 60)?;
    rest.literal(b':')?;
    let second = rest.number(2).filter(|second| *second < 60)?;
    let nanoseconds = rest.fraction();
    let offset = rest.offset()?;
    let next_month = if month == 12 { days_of(year + 1, 1, 1) } else { days_of(year, month + 1, 1) };
    if !rest.0.is_empty() || !(1..=next_month - days_of(year, month, 1)).contains(&day) {
        return None;
    }
    let local = days_of(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    Some((local - i64::from(offset), nanoseconds, offset))
}

/// What is left to read of a timestamp.
struct Digits<'t>(&'t [u8]);

impl Digits<'_> {
    /// Reads exactly `length` digits.
    fn number(&mut self, length: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(length)?;
        let mut number = 0;
        for digit in digits {
            number = number * 10 + i64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
        }
        self.0 = rest;
        Some(number)
    }

    fn literal(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    /// Nanoseconds of `.123` or `,123`; 0 when there is no fraction.
    fn fraction(&mut self) -> u32 {
        let [b'.' | b',', digits @ ..] = self.0 else { return 0 };
        let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return 0;
        }
        self.0 = &digits[length..];
        (0..9).fold(0, |value, place| {
            value * 10 + digits[..length].get(place).map_or(0, |digit| u32::from(digit - b'0'))
        })
    }

    /// Seconds of `Z` or `+hh:mm`. Go takes up to 24 hours and up to 60 minutes.
    fn offset(&mut self) -> Option<i32> {
        if self.literal(b'Z').is_some() {
            return Some(0);
        }
        let sign = match self.0.first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.number(2).filter(|hours| *hours <= 24)?;
        self.literal(b':')?;
        let minutes = self.number(2).filter(|minutes| *minutes <= 60)?;
        i32::try_from(sign * (hours * 60 + minutes) * 60).ok()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("2009-02-13T23:31:30Z", Some((1_234_567_890, 0)))]
    #[case("2009-02-13T23:31:30.5+01:00", Some((1_234_564_290, 500_000_000)))]
    #[case("2009-02-13T23:31:30,25Z", Some((1_234_567_890, 250_000_000)))]
    #[case("2009-02-13T23:31:30.1234567899Z", Some((1_234_567_890, 123_456_789)))]
    #[case("2009-02-13T3:31:30Z", Some((1_234_495_890, 0)))]
    #[case("2009-02-13T23:31:30+23:60", Some((1_234_481_490, 0)))]
    #[case("0001-01-01T00:00:00Z", Some((-62_135_596_800, 0)))]
    #[case("0000-12-31T23:00:00-01:00", Some((-62_135_596_800, 0)))]
    #[case("9999-12-31T23:59:59.999999999Z", Some((253_402_300_799, 999_999_999)))]
    #[case("2024-02-29T00:00:00Z", Some((1_709_164_800, 0)))]
    #[case("2009-02-29T00:00:00Z", None)]
    #[case("2009-02-13t23:31:30Z", None)]
    #[case("2009-02-13 23:31:30Z", None)]
    #[case("2009-2-13T23:31:30Z", None)]
    #[case("2009-13-13T23:31:30Z", None)]
    #[case("2009-02-00T23:31:30Z", None)]
    #[case("2009-02-13T24:31:30Z", None)]
    #[case("2009-02-13T23:31:60Z", None)]
    #[case("2009-02-13T23:31:30", None)]
    #[case("2009-02-13T23:31:30.Z", None)]
    #[case("2009-02-13T23:31:30Z ", None)]
    #[case("2009-02-13T23:31:30+25:00", None)]
    #[case("2009-02-13T23:31:30+23:61", None)]
    #[case("2009-02-13T23:31:30+0100", None)]
    #[case("10000-01-01T00:00:00Z", None)]
    #[case("", None)]
    #[case("é009-02-13T23:31:30Z", None)]
    fn timestamps_are_read_as_go_reads_rfc_3339(#[case] text: &str, #[case] expected: Option<(i64, u32)>) {
        let read = text.parse::<Timestamp>().ok();
        assert_eq!(read.map(|time| (time.seconds(), time.nanoseconds())), expected);
    }

    #[rstest]
    #[case("0000-02-13T23:31:30Z")]
    #[case("0001-01-01T00:00:00+01:00")]
    #[case("9999-12-31T23:59:59-01:00")]
    fn times_outside_of_cels_years_overflow(#[case] text: &str) {
        assert_eq!(text.parse::<Timestamp>().unwrap_err().message, "timestamp overflow");
    }
}
