//! CEL's order: `<`, `<=`, `>`, `>=`, and what sorts and picks by it.

use std::cmp::Ordering;

use super::error::{ErrorKind, EvalError};
use super::value::Value;

/// The order of two values: numbers across types, strings, bytes, `false` before `true`, timestamps, durations. `None` when there is no
/// order between them: other types, different types, NaN.
#[inline]
pub fn compare(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    Some(match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        (Value::Duration(a), Value::Duration(b)) => a.cmp(b),
        _ => return compare_numbers(a, b),
    })
}

/// As [`compare`], with cel-go's error where there is no order.
///
/// # Errors
/// `NaN values cannot be ordered`, else `no such overload`.
pub fn order(a: &Value<'_>, b: &Value<'_>) -> Result<Ordering, Box<EvalError>> {
    compare(a, b).ok_or_else(|| {
        let is_nan = |value: &Value<'_>| matches!(value, Value::Double(double) if double.is_nan());
        if is_nan(a) || (is_nan(b) && is_number(a)) {
            EvalError::new(ErrorKind::InvalidArgument, "NaN values cannot be ordered")
        } else {
            EvalError::no_such_overload()
        }
    })
}

/// Whether values of this type have an order at all.
pub(crate) fn is_comparable(value: &Value<'_>) -> bool {
    is_number(value)
        || matches!(
            value,
            Value::String(_) | Value::Bytes(_) | Value::Bool(_) | Value::Timestamp(_) | Value::Duration(_)
        )
}

fn is_number(value: &Value<'_>) -> bool {
    matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_))
}

/// Numbers as cel-go's operators compare them (`common/types/compare.go`): an integer beside a double becomes a double, so
/// `9223372036854775807 < 9223372036854775808.0` is false. (Map keys are found exactly: `eval::value`.)
#[inline]
pub(crate) fn compare_numbers(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Uint(a), Value::Uint(b)) => Some(a.cmp(b)),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Uint(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Int(a), Value::Double(b)) => (*a as f64).partial_cmp(b),
        (Value::Uint(a), Value::Double(b)) => (*a as f64).partial_cmp(b),
        (Value::Double(a), Value::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Value::Double(a), Value::Uint(b)) => a.partial_cmp(&(*b as f64)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use Value::{Bool, Bytes, Double, Duration, Int, Null, String, Uint};

    #[rstest]
    #[case::ints(Int(-2), Int(3), Some(Ordering::Less))]
    #[case::int_below_uint(Int(-1), Uint(0), Some(Ordering::Less))]
    #[case::uint_above_every_int(Uint(u64::MAX), Int(i64::MAX), Some(Ordering::Greater))]
    #[case::int_and_double(Int(1), Double(1.5), Some(Ordering::Less))]
    #[case::largest_int_equals_the_double_beside_it(
        Int(i64::MAX),
        Double(9_223_372_036_854_775_808.0),
        Some(Ordering::Equal)
    )]
    #[case::next_double_is_larger(Int(i64::MAX), Double(9_223_372_036_854_777_856.0), Some(Ordering::Less))]
    #[case::uint_and_huge_double(Uint(u64::MAX), Double(18_446_744_073_709_590_000.0), Some(Ordering::Less))]
    #[case::infinity(Double(f64::NEG_INFINITY), Int(i64::MIN), Some(Ordering::Less))]
    #[case::nan(Double(f64::NAN), Int(1), None)]
    #[case::strings(String("cat"), String("cab"), Some(Ordering::Greater))]
    #[case::bytes(Bytes(b"a"), Bytes(b"ab"), Some(Ordering::Less))]
    #[case::false_comes_first(Bool(false), Bool(true), Some(Ordering::Less))]
    #[case::durations(Duration(1), Duration(1), Some(Ordering::Equal))]
    #[case::different_types(String("1"), Int(1), None)]
    #[case::null(Null, Null, None)]
    fn values_compare_as_in_cel_go(
        #[case] a: Value<'static>,
        #[case] b: Value<'static>,
        #[case] expected: Option<Ordering>,
    ) {
        assert_eq!(compare(&a, &b), expected);
        assert_eq!(compare(&b, &a), expected.map(Ordering::reverse));
    }

    #[rstest]
    #[case(Double(f64::NAN), Double(1.0), "NaN values cannot be ordered")]
    #[case(Uint(1), Double(f64::NAN), "NaN values cannot be ordered")]
    #[case(Double(f64::NAN), String("x"), "NaN values cannot be ordered")]
    #[case(Uint(1), String("x"), "no such overload")]
    #[case(Null, Int(1), "no such overload")]
    fn values_without_an_order_say_why(
        #[case] a: Value<'static>,
        #[case] b: Value<'static>,
        #[case] expected: &str,
    ) {
        assert_eq!(order(&a, &b).unwrap_err().message, expected);
    }
}
