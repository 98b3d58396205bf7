//! Run-time costs of calls. The terms are those of [`crate::cost`]; apiserver `pkg/cel/library/cost.go`.

use super::opaque::OpaqueValue;
use super::overload::Overload;
pub(super) use crate::cost::terms::{
    CHECK, contains, double_traversal, network, pairs, regex, selector, traversal,
};
use crate::cost::{Model, terms};
use crate::eval::{EvalError, Meter, Value, actual_size};

/// The size of a string as CEL counts it: code points.
pub(super) fn size(text: &str) -> u64 {
    actual_size(&Value::String(text))
}

/// A walk through a value: a tenth per byte of each string and bytes, rounded down, 1 per other scalar, nothing for the lists and maps
/// themselves. apiserver `traversalCost`.
///
/// # Errors
/// When time is up, or the value holds more than one evaluation may look at: the walk is as long as the value.
pub(super) fn values(value: &Value<'_>, meter: &mut Meter<'_>) -> Result<u64, Box<EvalError>> {
    let scalar = |value: &Value<'_>| match value {
        Value::String(text) => (text.len() as f64 * terms::TRAVERSAL) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * terms::TRAVERSAL) as u64,
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
        // Without parsing what it is compared with.
        ("containsIP" | "containsCIDR", [cidr, _]) => {
            network(actual_size(cidr), overload.name == "containsCIDR")
        }
        _ => 1,
    }
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
    let size = |index: usize| args.get(index).and_then(Option::as_ref).map_or(1, actual_size);
    Ok(match Model::of(overload) {
        Model::Check => CHECK,
        Model::Selector => selector(size(1)),
        Model::Walk { .. } => match args.first() {
            Some(Some(list)) => values(list, meter)?,
            _ => 1,
        },
        Model::Traversal { .. } | Model::Quote | Model::Format => traversal(size(0)),
        Model::Canonical | Model::Replace | Model::Split => double_traversal(size(0)),
        Model::Search { .. } => regex(size(0), size(1)),
        Model::Affix { by_text } => traversal(size(usize::from(!by_text))),
        Model::Contains => contains(size(0), size(1)),
        Model::Network { masked, text } => {
            network(size(0), masked) + if text && resolved { traversal(size(1)) } else { 0 }
        }
        Model::Sets { passes } => pairs(size(0), size(1), passes),
        Model::Sort { by: 1, .. } if resolved => match args {
            [_, Some(Value::List(keys))] => super::lists::self_comparison(keys),
            _ => 1,
        },
        Model::Slice | Model::Reverse | Model::Range => terms::LIST_CALL + 1,
        Model::Flatten if resolved => {
            let depth = match args {
                [_, Some(Value::Int(depth))] => u64::try_from(*depth).unwrap_or(1),
                _ => 1,
            };
            size(0).saturating_mul(depth).saturating_add(terms::LIST_CALL)
        }
        Model::Validate => match args.first() {
            Some(Some(Value::Opaque(OpaqueValue::Format(format)))) => regex(size(1), format.regex_size()),
            _ => 1,
        },
        Model::Nominal
        | Model::Join
        | Model::Flatten
        | Model::Distinct
        | Model::Sort { .. }
        | Model::TextToBytes
        | Model::BytesToText => 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_code_points() {
        assert_eq!((size("abc"), size("äöü")), (3, 3));
    }
}
