//! Terms of run-time costs that several libraries share. apiserver `pkg/cel/library/cost.go`.
//!
//! The arithmetic is in doubles and rounds up, as upstream's: with whole numbers some sizes would cost one unit less.

use super::opaque::OpaqueValue;
use super::overload::{Form, Overload, Ty};
use crate::eval::{EvalError, Meter, Value, actual_size};

/// Looking once at each code point of a string; cel-go `common.StringTraversalCostFactor`.
const TRAVERSAL: f64 = 0.1;
/// One code point of a regular expression; cel-go `common.RegexStringLengthCostFactor`.
const REGEX_LENGTH: f64 = 0.25;

/// The size of a string as CEL counts it: code points.
pub(super) fn size(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// One pass over something of `size`.
pub(super) fn traversal(size: usize) -> u64 {
    units(size as f64 * TRAVERSAL)
}

/// Two passes over something of `size`.
pub(super) fn double_traversal(size: usize) -> u64 {
    units(size as f64 * 2.0 * TRAVERSAL)
}

/// A search through `size` with a regular expression of `pattern_size`.
pub(super) fn regex(size: usize, pattern_size: usize) -> u64 {
    units((1.0 + size as f64) * TRAVERSAL).saturating_mul(units(pattern_size as f64 * REGEX_LENGTH))
}

/// Parsing a selector: a list, the text, and one requirement for every second byte of it.
pub(super) fn selector(size: usize) -> u64 {
    const LIST: u64 = 10;
    const REQUIREMENT: u64 = 50;
    const REQUIREMENTS_PER_SIZE: f64 = 0.5;
    let requirements = units(size as f64 * REQUIREMENTS_PER_SIZE).saturating_mul(REQUIREMENT);
    LIST.saturating_add(traversal(size)).saturating_add(requirements)
}

/// A walk through a value: a tenth per byte of each string and bytes, rounded down, 1 per other scalar, nothing for the lists and maps
/// themselves. apiserver `traversalCost`.
///
/// # Errors
/// When time is up, or the value holds more than one evaluation may look at: the walk is as long as the value.
pub(super) fn values(value: &Value<'_>, meter: &mut Meter<'_>) -> Result<u64, Box<EvalError>> {
    let scalar = |value: &Value<'_>| match value {
        Value::String(text) => (text.len() as f64 * TRAVERSAL) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * TRAVERSAL) as u64,
        _ => 1,
    };
    let mut pending: Vec<Value<'_>> = vec![*value];
    let mut cost = 0_u64;
    while let Some(value) = pending.pop() {
        meter.work(1)?;
        match value {
            Value::List(items) => pending.extend_from_slice(items),
            Value::Map(map) => {
                pending.extend(map.entries().iter().flat_map(|entry| [entry.key, entry.value]))
            }
            other => cost = cost.saturating_add(scalar(&other)),
        }
    }
    Ok(cost)
}

/// What a call costs of which several overloads were left: most costs go by the overload.
#[inline]
pub(crate) fn of_unknown_overload(overload: &Overload, args: &[Value<'_>]) -> u64 {
    match (overload.name, args) {
        ("containsIP" | "containsCIDR", [cidr, _]) => cidr_comparison(overload.name, cidr),
        _ => 1,
    }
}

/// Comparing with the bytes of a CIDR, without parsing what it is compared with.
fn cidr_comparison(function: &str, cidr: &Value<'_>) -> u64 {
    let size = usize::try_from(actual_size(cidr)).unwrap_or(usize::MAX);
    let masked = if function == "containsCIDR" { traversal(size) + 1 } else { 0 };
    double_traversal(size) + masked
}

/// What a call costs whose code never runs, because an argument is an error (`None`) or because no overload takes the arguments; an error has
/// size 1. `resolved`: the overload was known before. apiserver `CallCost`, cel-go `costCall`, `ext/lists.go`, `ext/sets.go`.
///
/// # Errors
/// As [`values`].
pub(crate) fn of_failed_call(
    overload: &Overload,
    resolved: bool,
    args: &[Option<Value<'_>>],
    meter: &mut Meter<'_>,
) -> Result<u64, Box<EvalError>> {
    const NEW_LIST: u64 = 11;
    let size = |index: usize| {
        let size = args.get(index).and_then(Option::as_ref).map_or(1, actual_size);
        usize::try_from(size).unwrap_or(usize::MAX)
    };
    Ok(match overload.name {
        "check" => super::authorizer::CHECK_COST,
        "fieldSelector" | "labelSelector" => selector(size(1)),
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => match args.first() {
            Some(Some(list)) => values(list, meter)?,
            _ => 1,
        },
        "ip" if overload.form == Form::Member => 1,
        "url"
        | "lowerAscii"
        | "upperAscii"
        | "substring"
        | "trim"
        | "jsonpatch.escapeKey"
        | "cidr"
        | "isIP"
        | "isCIDR"
        | "ip"
        | "quantity"
        | "isQuantity"
        | "semver"
        | "isSemver" => traversal(size(0)),
        "replace" | "split" | "ip.isCanonical" => double_traversal(size(0)),
        "find" | "findAll" | "matches" => regex(size(0), size(1)),
        "containsIP" | "containsCIDR" => {
            let cidr = args.first().copied().flatten().unwrap_or(Value::Null);
            let text = matches!(overload.params, [_, Ty::String]) && resolved;
            cidr_comparison(overload.name, &cidr) + if text { traversal(size(1)) } else { 0 }
        }
        "startsWith" | "endsWith" => traversal(size(1)),
        "strings.quote" | "format" => traversal(size(0)),
        "contains" => traversal(size(0)).saturating_mul(traversal(size(1))),
        "sets.contains" | "sets.intersects" => 1 + (size(0) as u64).saturating_mul(size(1) as u64),
        "sets.equivalent" => 1 + 2 * (size(0) as u64).saturating_mul(size(1) as u64),
        "@sortByAssociatedKeys" if resolved => match args {
            [_, Some(Value::List(keys))] => super::lists::self_comparison(keys),
            _ => 1,
        },
        "slice" | "reverse" | "lists.range" => NEW_LIST + 1,
        "flatten" if resolved => {
            let depth = match args {
                [_, Some(Value::Int(depth))] => u64::try_from(*depth).unwrap_or(1),
                _ => 1,
            };
            (size(0) as u64).saturating_mul(depth).saturating_add(NEW_LIST)
        }
        "validate" => match args.first() {
            Some(Some(Value::Opaque(OpaqueValue::Format(format)))) => regex(size(1), format.regex_size()),
            _ => 1,
        },
        _ => 1,
    })
}

fn units(cost: f64) -> u64 {
    cost.ceil() as u64
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
    fn traversals_round_up(#[case] size: usize, #[case] once: u64, #[case] twice: u64) {
        assert_eq!((traversal(size), double_traversal(size)), (once, twice));
    }

    #[test]
    fn every_term_of_a_selector_is_rounded_up() {
        assert_eq!(selector("a=b".len()), 111);
    }

    #[test]
    fn sizes_are_code_points() {
        assert_eq!((size("abc"), size("äöü")), (3, 3));
    }
}
