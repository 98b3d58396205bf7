//! Points in time as CEL has them: years 1 to 9999, nanoseconds, with the zone offset that the text had.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::civil::Civil;
use super::error::{ErrorKind, EvalError};

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// A CEL timestamp.
///
/// Not [`jiff::Timestamp`], which ends a day before CEL's year 9999 does, and forgets the offset: Kubernetes prints
/// `string(timestamp('2009-02-13T23:31:30+01:00'))` with the offset it was read with. The offset is never part of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
    offset: i32,
}

impl Timestamp {
    /// `0001-01-01T00:00:00Z`, cel-go's `minUnixTime`.
    pub const MIN_SECONDS: i64 = -62_135_596_800;
    /// `9999-12-31T23:59:59Z`, cel-go's `maxUnixTime`.
    pub const MAX_SECONDS: i64 = 253_402_300_799;

    /// A point in time by seconds since 1970 and nanoseconds after that (below 1,000,000,000); UTC.
    ///
    /// # Errors
    /// `timestamp overflow` outside the years 1 to 9999.
    pub fn from_unix(seconds: i64, nanoseconds: u32) -> Result<Self, Box<EvalError>> {
        if !(Self::MIN_SECONDS..=Self::MAX_SECONDS).contains(&seconds) {
            return Err(EvalError::new(ErrorKind::Overflow, "timestamp overflow"));
        }
        Ok(Self { seconds, nanoseconds: nanoseconds.min(999_999_999), offset: 0 })
    }

    /// The same point in time, printed with an offset of so many seconds east of UTC.
    #[must_use]
    pub fn with_offset(self, offset: i32) -> Self {
        Self { offset, ..self }
    }

    /// Whole seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds after [`Timestamp::seconds`].
    pub fn nanoseconds(self) -> u32 {
        self.nanoseconds
    }

    /// Seconds east of UTC of the zone it was written in.
    pub fn offset(self) -> i32 {
        self.offset
    }

    /// The point in time `duration` nanoseconds later; keeps the offset.
    ///
    /// # Errors
    /// `timestamp overflow` outside the years 1 to 9999.
    pub fn plus(self, duration: i64) -> Result<Self, Box<EvalError>> {
        let nanoseconds = i64::from(self.nanoseconds) + duration.rem_euclid(NANOS_PER_SECOND);
        let seconds = self.seconds + duration.div_euclid(NANOS_PER_SECOND) + nanoseconds / NANOS_PER_SECOND;
        let nanoseconds = u32::try_from(nanoseconds % NANOS_PER_SECOND).unwrap_or(0);
        Ok(Self::from_unix(seconds, nanoseconds)?.with_offset(self.offset))
    }

    /// Nanoseconds from `earlier` to `self`.
    ///
    /// # Errors
    /// `integer overflow` when that is more than a duration holds (292 years).
    pub fn since(self, earlier: Self) -> Result<i64, Box<EvalError>> {
        (self.seconds - earlier.seconds)
            .checked_mul(NANOS_PER_SECOND)
            .and_then(|whole| whole.checked_add(i64::from(self.nanoseconds) - i64::from(earlier.nanoseconds)))
            .ok_or_else(|| EvalError::new(ErrorKind::Overflow, "integer overflow"))
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanoseconds).cmp(&(other.seconds, other.nanoseconds))
    }
}

impl Hash for Timestamp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.seconds, self.nanoseconds).hash(state);
    }
}

/// RFC 3339 as Go prints it: as many digits of the fraction as are needed, `Z` for no offset.
impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let civil = Civil::new(*self, i64::from(self.offset));
        let seconds = civil.second_of_day;
        write!(f, "{:04}-{:02}-{:02}T", civil.year, civil.month, civil.day)?;
        write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        if self.nanoseconds > 0 {
            let fraction = format!("{:09}", self.nanoseconds);
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        match self.offset {
            0 => f.write_str("Z"),
            offset => {
                let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs() / 60);
                write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }
}
