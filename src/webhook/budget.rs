//! How long an answer may take.

use std::time::Duration;

use super::duration::parse_duration;

/// Kubernetes' default for `timeoutSeconds`; what is assumed when the caller does not say.
const DEFAULT: Duration = Duration::from_secs(10);
/// The largest `timeoutSeconds` that Kubernetes allows.
const MAX: Duration = Duration::from_secs(30);
/// The API server rounds what is left up to whole seconds, so that up to one of them may not exist.
const ROUNDING: Duration = Duration::from_secs(1);

/// The time for a request with this query string: its `timeout` minus a reserve for rounding and the way back.
///
/// An absent, zero, negative or malformed `timeout` counts as 10 s, one of more than 30 s as 30 s. The API server never sends any of
/// these, and an answer late is worth more than none.
pub(super) fn budget(query: Option<&str>) -> Duration {
    let timeout = query
        .and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("timeout=")))
        .and_then(parse_duration)
        .filter(|timeout| !timeout.is_zero())
        .map_or(DEFAULT, |timeout| timeout.min(MAX));
    // Of the last second, which may be as good as over, most is used all the same.
    timeout.saturating_sub(ROUNDING).max(timeout.min(ROUNDING).mul_f64(0.6))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::absent(None, 9_000)]
    #[case::other(Some("a=b"), 9_000)]
    #[case::zero(Some("timeout=0s"), 9_000)]
    #[case::negative(Some("timeout=-5s"), 9_000)]
    #[case::text(Some("timeout=abc"), 9_000)]
    #[case::one_second(Some("timeout=1s"), 600)]
    #[case::two_seconds(Some("timeout=2s"), 1_000)]
    #[case::ten_seconds(Some("x=1&timeout=10s"), 9_000)]
    #[case::thirty_seconds(Some("timeout=30s"), 29_000)]
    #[case::an_hour(Some("timeout=1h"), 29_000)]
    #[case::half_a_second(Some("timeout=500ms"), 300)]
    fn the_reserve_is_a_second_or_most_of_the_last_one(#[case] query: Option<&str>, #[case] millis: u64) {
        assert_eq!(budget(query), Duration::from_millis(millis));
    }
}
