//! Durations as Go writes them (`time.ParseDuration`): in the `timeout` that the API server sends, and in our flags.

use std::time::Duration;

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3600 * 1_000_000_000),
];

/// Reads `1h2m3.5s`, `300ms`, `0`. `None` for anything else, for negative durations, and for those that Go's 64 bits cannot hold.
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut total: u64 = 0;
    loop {
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit_end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, behind) = after.split_at(unit_end);
        let nanos = UNITS.iter().find(|(name, _)| *name == unit)?.1;
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(nanos)?)?.checked_add(of_unit(fraction, nanos))?;
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    i64::try_from(total).ok()?;
    Some(Duration::from_nanos(total))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// `0.fraction` of a unit, in nanoseconds, rounded down.
fn of_unit(fraction: &str, nanos: u64) -> u64 {
    // Fifteen digits are below a nanosecond of an hour.
    let mut scale = 1_u64;
    let mut value = 0_u64;
    for digit in fraction.bytes().take(15) {
        value = value * 10 + u64::from(digit - b'0');
        scale *= 10;
    }
    u64::try_from(u128::from(value) * u128::from(nanos) / u128::from(scale)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("10s", 10_000_000_000)]
    #[case("0", 0)]
    #[case("0s", 0)]
    #[case("+5s", 5_000_000_000)]
    #[case("1h2m3.5s", 3_723_500_000_000)]
    #[case(".5s", 500_000_000)]
    #[case("1.s", 1_000_000_000)]
    #[case("300ms", 300_000_000)]
    #[case("1µs2ns", 1_002)]
    #[case("0.000000001s", 1)]
    #[case("2562047h", 9_223_369_200_000_000_000)]
    fn what_go_reads_is_read(#[case] text: &str, #[case] nanos: u64) {
        assert_eq!(parse_duration(text), Some(Duration::from_nanos(nanos)));
    }

    #[rstest]
    #[case("")]
    #[case("3")]
    #[case("-5s")]
    #[case(".s")]
    #[case("abc")]
    #[case("1x")]
    #[case("1 s")]
    #[case("2562048h")]
    #[case("99999999999999999999s")]
    fn anything_else_is_not(#[case] text: &str) {
        assert_eq!(parse_duration(text), None);
    }
}
