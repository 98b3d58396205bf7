//! The operators `+ - * / %` and unary minus: cel-go's overloads, overflow checks and error texts.
//!
//! [`add`] can allocate and therefore charges its whole cost itself; all the others cost 1, which the evaluator charges.

use super::arena::Arena;
use super::error::{ErrorKind, EvalError, EvalResult};
use super::meter::Meter;
use super::size::actual_size;
use super::value::Value;
use crate::cost::terms::traversal;

/// `a + b`: sum of numbers of one type, concatenation of strings, bytes, lists, shift of a timestamp by a duration. Charges 0.1 per
/// code point or byte of both operands for strings and bytes, else 1.
///
/// # Errors
/// Overflow, `no such overload`, exhausted budgets.
pub fn add<'a>(a: &Value<'a>, b: &Value<'a>, arena: &'a Arena, meter: &mut Meter<'_>) -> EvalResult<'a> {
    let cost = match (a, b) {
        (Value::String(_), Value::String(_)) | (Value::Bytes(_), Value::Bytes(_)) => {
            traversal(actual_size(a) + actual_size(b))
        }
        _ => 1,
    };
    meter.charge(cost)?;
    match (a, b) {
        (Value::String(a), Value::String(b)) => Ok(Value::String(match (a.is_empty(), b.is_empty()) {
            (true, _) => b,
            (_, true) => a,
            _ => arena.concat(&[a, b])?,
        })),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Value::Bytes(concat(a, b, arena)?)),
        (Value::List(a), Value::List(b)) => Ok(Value::List(concat(a, b, arena)?)),
        _ => sum(a, b),
    }
}

/// [`add`] of scalars, which allocates nothing and is not charged here.
///
/// # Errors
/// Overflow, `no such overload`.
pub(crate) fn sum<'a>(a: &Value<'a>, b: &Value<'a>) -> EvalResult<'a> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_add(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_add(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Value::Timestamp(time), Value::Duration(duration))
        | (Value::Duration(duration), Value::Timestamp(time)) => Ok(Value::Timestamp(time.plus(*duration)?)),
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_add(*b)),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// `a - b`.
///
/// # Errors
/// Overflow, `no such overload`.
pub fn subtract<'a>(a: &Value<'a>, b: &Value<'a>) -> EvalResult<'a> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_sub(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_sub(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Ok(Value::Duration(a.since(*b)?)),
        (Value::Timestamp(time), Value::Duration(duration)) => {
            let back = duration.checked_neg().ok_or_else(int_overflow)?;
            Ok(Value::Timestamp(time.plus(back)?))
        }
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_sub(*b)),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// `a * b`.
///
/// # Errors
/// Overflow, `no such overload`.
pub fn multiply<'a>(a: &Value<'a>, b: &Value<'a>) -> EvalResult<'a> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_mul(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_mul(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// `a / b`: truncates integers towards zero; doubles divide by zero to infinity or NaN.
///
/// # Errors
/// `division by zero`, overflow, `no such overload`.
pub fn divide<'a>(a: &Value<'a>, b: &Value<'a>) -> EvalResult<'a> {
    match (a, b) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Err(EvalError::new(ErrorKind::DivideByZero, "division by zero"))
        }
        (Value::Int(a), Value::Int(b)) => int(a.checked_div(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_div(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// `a % b`, with the sign of `a`; integers only.
///
/// # Errors
/// `modulus by zero`, overflow, `no such overload`.
pub fn modulo<'a>(a: &Value<'a>, b: &Value<'a>) -> EvalResult<'a> {
    match (a, b) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Err(EvalError::new(ErrorKind::DivideByZero, "modulus by zero"))
        }
        (Value::Int(a), Value::Int(b)) => int(a.checked_rem(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_rem(*b)),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// `-a` of an int or double. (The type checker refuses it for a duration; cel-go's run time does not, and so it is here.)
///
/// # Errors
/// Overflow, `no such overload`.
pub fn negate<'a>(a: &Value<'a>) -> EvalResult<'a> {
    match a {
        Value::Int(a) => int(a.checked_neg()),
        Value::Double(a) => Ok(Value::Double(-a)),
        Value::Duration(a) => duration(a.checked_neg()),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn concat<'a, T: Copy>(a: &'a [T], b: &'a [T], arena: &'a Arena) -> Result<&'a [T], Box<EvalError>> {
    if a.is_empty() {
        return Ok(b);
    }
    if b.is_empty() {
        return Ok(a);
    }
    let mut joined = arena.list(a.len() + b.len())?;
    joined.extend(a)?;
    joined.extend(b)?;
    Ok(joined.finish())
}

fn int<'a>(result: Option<i64>) -> EvalResult<'a> {
    result.map(Value::Int).ok_or_else(int_overflow)
}

fn uint<'a>(result: Option<u64>) -> EvalResult<'a> {
    result.map(Value::Uint).ok_or_else(|| EvalError::new(ErrorKind::Overflow, "unsigned integer overflow"))
}

/// cel-go reports an overflowing duration as the integer that it is.
fn duration<'a>(result: Option<i64>) -> EvalResult<'a> {
    result.map(Value::Duration).ok_or_else(int_overflow)
}

fn int_overflow() -> Box<EvalError> {
    EvalError::new(ErrorKind::Overflow, "integer overflow")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::eval::{Timestamp, equal};
    use Value::{Bytes, Double, Duration, Int, List, Null, String, Uint};

    type Operator = for<'a> fn(&Value<'a>, &Value<'a>) -> EvalResult<'a>;

    const LAST_SECOND: i64 = Timestamp::MAX_SECONDS;

    fn time(seconds: i64, nanoseconds: u32) -> Value<'static> {
        Value::Timestamp(Timestamp::from_unix(seconds, nanoseconds).unwrap())
    }

    #[rstest]
    #[case::ints(Int(1), Int(2), Ok(Int(3)), 1)]
    #[case::int_overflow(Int(i64::MAX), Int(1), Err("integer overflow"), 1)]
    #[case::uint_overflow(Uint(u64::MAX), Uint(1), Err("unsigned integer overflow"), 1)]
    #[case::doubles(Double(0.5), Double(1.0), Ok(Double(1.5)), 1)]
    #[case::strings(String("hello"), String(" wörld"), Ok(String("hello wörld")), 2)]
    #[case::empty_strings_are_free(String(""), String(""), Ok(String("")), 0)]
    #[case::bytes(Bytes(b"a"), Bytes(b"\xff"), Ok(Bytes(b"a\xff")), 1)]
    #[case::lists(List(&[Int(1)]), List(&[Null]), Ok(List(&[Int(1), Null])), 1)]
    #[case::durations(Duration(1), Duration(2), Ok(Duration(3)), 1)]
    #[case::duration_overflow(Duration(i64::MAX), Duration(1), Err("integer overflow"), 1)]
    #[case::time_and_duration(time(0, 999_999_999), Duration(2), Ok(time(1, 1)), 1)]
    #[case::duration_and_time(Duration(-1), time(0, 0), Ok(time(-1, 999_999_999)), 1)]
    #[case::time_overflow(time(LAST_SECOND, 999_999_999), Duration(1), Err("timestamp overflow"), 1)]
    #[case::mixed_numbers(Int(1), Double(1.0), Err("no such overload"), 1)]
    fn sums_cost_what_cel_go_charges(
        #[case] a: Value<'static>,
        #[case] b: Value<'static>,
        #[case] expected: Result<Value<'static>, &str>,
        #[case] cost: u64,
    ) {
        let arena = Arena::default();
        let mut meter = Meter::new(u64::MAX);
        let result = add(&a, &b, &arena, &mut meter);
        check(result, expected);
        assert_eq!(meter.spent(), cost);
    }

    #[test]
    fn a_sum_that_costs_too_much_allocates_nothing() {
        let arena = Arena::default();
        let long = "x".repeat(1000);
        let result = add(&String(&long), &String("y"), &arena, &mut Meter::new(100));
        assert_eq!(result.unwrap_err().kind, ErrorKind::CostLimit);
        assert_eq!(arena.allocated_bytes(), 0);
    }

    #[rstest]
    #[case::int_minus(subtract, Int(i64::MIN), Int(1), Err("integer overflow"))]
    #[case::uint_minus(subtract, Uint(1), Uint(2), Err("unsigned integer overflow"))]
    #[case::times(subtract, time(1, 0), time(0, 1), Ok(Duration(999_999_999)))]
    #[case::times_too_far(subtract, time(LAST_SECOND, 0), time(0, 0), Err("integer overflow"))]
    #[case::time_minus_duration(subtract, time(0, 0), Duration(1), Ok(time(-1, 999_999_999)))]
    #[case::time_minus_shortest(subtract, time(0, 0), Duration(i64::MIN), Err("integer overflow"))]
    #[case::duration_minus_time(subtract, Duration(1), time(0, 0), Err("no such overload"))]
    #[case::int_times(multiply, Int(-1), Int(i64::MIN), Err("integer overflow"))]
    #[case::double_times(multiply, Double(2.0), Double(-0.5), Ok(Double(-1.0)))]
    #[case::int_divide(divide, Int(-7), Int(2), Ok(Int(-3)))]
    #[case::int_divide_overflow(divide, Int(i64::MIN), Int(-1), Err("integer overflow"))]
    #[case::divide_by_zero(divide, Int(1), Int(0), Err("division by zero"))]
    #[case::uint_divide_by_zero(divide, Uint(1), Uint(0), Err("division by zero"))]
    #[case::double_divide_by_zero(divide, Double(1.0), Double(0.0), Ok(Double(f64::INFINITY)))]
    #[case::modulo_keeps_the_sign(modulo, Int(-43), Int(42), Ok(Int(-1)))]
    #[case::modulo_by_zero(modulo, Uint(1), Uint(0), Err("modulus by zero"))]
    #[case::modulo_overflow(modulo, Int(i64::MIN), Int(-1), Err("integer overflow"))]
    #[case::modulo_of_doubles(modulo, Double(1.0), Double(1.0), Err("no such overload"))]
    fn operators_answer_as_cel_go(
        #[case] operator: Operator,
        #[case] a: Value<'static>,
        #[case] b: Value<'static>,
        #[case] expected: Result<Value<'static>, &str>,
    ) {
        check(operator(&a, &b), expected);
    }

    #[rstest]
    #[case(Int(5), Ok(Int(-5)))]
    #[case(Int(i64::MIN), Err("integer overflow"))]
    #[case(Double(1.5), Ok(Double(-1.5)))]
    #[case(Uint(1), Err("no such overload"))]
    #[case(Value::Bool(true), Err("no such overload"))]
    fn negation_answers_as_cel_go(#[case] a: Value<'static>, #[case] expected: Result<Value<'static>, &str>) {
        check(negate(&a), expected);
    }

    fn check(result: EvalResult<'_>, expected: Result<Value<'static>, &str>) {
        match (result, expected) {
            (Ok(value), Ok(expected)) => assert!(equal(&value, &expected), "{value:?} is not {expected:?}"),
            (Err(error), Err(expected)) => assert_eq!(error.message, expected),
            (result, expected) => panic!("{result:?} is not {expected:?}"),
        }
    }
}
