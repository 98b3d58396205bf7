//! The terms that costs are made of, each in one place for evaluation and for estimates. cel-go `common/cost.go`, apiserver
//! `pkg/cel/library/cost.go`.
//!
//! The arithmetic is in doubles and rounds up, as upstream's: with whole numbers some sizes would cost one unit less.

/// Looking once at each code point of a string; cel-go `common.StringTraversalCostFactor`.
pub(crate) const TRAVERSAL: f64 = 0.1;
/// One code point of a regular expression; cel-go `common.RegexStringLengthCostFactor`.
const REGEX_LENGTH: f64 = 0.25;

/// A new list; cel-go `common.ListCreateBaseCost`.
pub(crate) const NEW_LIST: u64 = 10;
/// A new map; cel-go `common.MapCreateBaseCost`.
pub(crate) const NEW_MAP: u64 = 30;
/// A new structure; cel-go `common.StructCreateBaseCost`.
pub(crate) const NEW_STRUCT: u64 = 40;
/// A call that gives a new list.
pub(crate) const LIST_CALL: u64 = NEW_LIST + 1;
/// One question to the authorizer, whatever it takes.
pub(crate) const CHECK: u64 = 350_000;

/// Comparing each of `pairs` of elements, for `sort`, `sortBy` and `distinct`.
pub(crate) const PAIR: f64 = 2.0;
/// As [`PAIR`], of strings or bytes.
pub(crate) const TEXT_PAIR: f64 = PAIR + TRAVERSAL;

/// `size` things of which each costs `factor`, rounded up; what does not fit is [`u64::MAX`].
pub(crate) fn scaled(size: u64, factor: f64) -> u64 {
    // The cast saturates.
    (size as f64 * factor).ceil() as u64
}

/// One pass over something of `size`: a tenth per code point or byte.
pub(crate) fn traversal(size: u64) -> u64 {
    scaled(size, TRAVERSAL)
}

/// Two passes over something of `size`.
pub(crate) fn double_traversal(size: u64) -> u64 {
    scaled(size, 2.0 * TRAVERSAL)
}

/// A search through `size` with a regular expression of `pattern_size`.
pub(crate) fn regex(size: u64, pattern_size: u64) -> u64 {
    // One more, so that an empty text does not make a dear pattern free.
    traversal(size.saturating_add(1)).saturating_mul(scaled(pattern_size, REGEX_LENGTH))
}

/// A regular expression of `pattern_size` on each unit of `work`.
pub(crate) fn pattern(work: u64, pattern_size: u64) -> u64 {
    scaled(work, pattern_size as f64 * REGEX_LENGTH)
}

/// Looking for a part in a text.
pub(crate) fn contains(size: u64, part_size: u64) -> u64 {
    traversal(size).saturating_mul(traversal(part_size))
}

/// Parsing a selector: a list, the text, and one requirement for every second byte of it.
pub(crate) fn selector(size: u64) -> u64 {
    const REQUIREMENT: f64 = (NEW_LIST + NEW_STRUCT) as f64;
    const REQUIREMENTS_PER_SIZE: f64 = 0.5;
    let requirements = scaled(scaled(size, REQUIREMENTS_PER_SIZE), REQUIREMENT);
    NEW_LIST.saturating_add(traversal(size)).saturating_add(requirements)
}

/// Comparing each element of one list with each of another, `passes` times.
pub(crate) fn pairs(size: u64, other: u64, passes: u64) -> u64 {
    size.saturating_mul(other).saturating_mul(passes).saturating_add(1)
}

/// Comparing with the `size` bytes that the prefix of a network touches; with `masked`, those of another network.
pub(crate) fn network(size: u64, masked: bool) -> u64 {
    double_traversal(size).saturating_add(if masked { traversal(size) + 1 } else { 0 })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing(0, 0, 0)]
    #[case::begun_tens_count(1, 1, 1)]
    #[case::ten(10, 1, 2)]
    #[case::eleven(11, 2, 3)]
    fn traversals_round_up(#[case] size: u64, #[case] once: u64, #[case] twice: u64) {
        assert_eq!((traversal(size), double_traversal(size)), (once, twice));
    }

    #[test]
    fn every_term_of_a_selector_is_rounded_up() {
        assert_eq!(selector("a=b".len() as u64), 111);
    }

    #[test]
    fn what_does_not_fit_is_the_largest_number() {
        assert_eq!(regex(u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(scaled(u64::MAX, 1.0), u64::MAX);
        assert_eq!(pairs(1 << 40, 1 << 40, 2), u64::MAX);
    }
}
