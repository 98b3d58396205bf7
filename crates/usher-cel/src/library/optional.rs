//! Optionals: `optional.of`, `optional.none`, `optional.ofNonZeroValue`, `optional.unwrap`, `unwrapOpt`, `value`, `hasValue`, `or`, `orValue`, and
//! `first`, `last` of lists, which answer with one. cel-go `cel/library.go`; they cost 1, `or` and `orValue` nothing.

use super::overload::{Call, Form, Implementation, Overload, Ty};
use crate::eval::{EvalError, EvalResult, KeyText, Timestamp, Value};

const V: Ty = Ty::Param("V");
const OPTIONAL: Ty = Ty::Optional(&V);
const LIST: Ty = Ty::List(&V);
const LIST_OF_OPTIONALS: Ty = Ty::List(&OPTIONAL);

pub(super) const OVERLOADS: &[Overload] = &[
    overload("optional.of", Form::Global, &[V], OPTIONAL, of),
    overload("optional.ofNonZeroValue", Form::Global, &[V], OPTIONAL, of_non_zero_value),
    overload("optional.none", Form::Global, &[], OPTIONAL, none),
    overload("optional.unwrap", Form::Global, &[LIST_OF_OPTIONALS], LIST, unwrap),
    overload("unwrapOpt", Form::Member, &[LIST_OF_OPTIONALS], LIST, unwrap),
    overload("value", Form::Member, &[OPTIONAL], V, value),
    overload("hasValue", Form::Member, &[OPTIONAL], Ty::Bool, has_value),
    overload("or", Form::Member, &[OPTIONAL, OPTIONAL], OPTIONAL, or),
    overload("orValue", Form::Member, &[OPTIONAL, V], V, or_value),
    overload("first", Form::Member, &[LIST], OPTIONAL, first),
    overload("last", Form::Member, &[LIST], OPTIONAL, last),
];

const fn overload(
    name: &'static str,
    form: Form,
    params: &'static [Ty],
    result: Ty,
    call: Implementation,
) -> Overload {
    Overload { name, form, params, result, since: 28, until: u8::MAX, call, prepare: None }
}

fn of<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    wrap(call, args.first().ok_or_else(EvalError::no_such_overload)?)
}

fn of_non_zero_value<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let value = args.first().ok_or_else(EvalError::no_such_overload)?;
    if is_zero(value) { Ok(Value::Optional(None)) } else { wrap(call, value) }
}

/// The value that a type starts with. cel-go's `traits.Zeroer`; types, optionals and the libraries' own types have none.
fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Int(value) | Value::Duration(value) => *value == 0,
        Value::Uint(value) => *value == 0,
        Value::Double(value) => *value == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        // Go's zero time is the first second of the year 1, not of 1970.
        Value::Timestamp(time) => time.seconds() == Timestamp::MIN_SECONDS && time.nanoseconds() == 0,
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Object(object) => object.fields.is_empty(),
        Value::Optional(_) | Value::Type(_) | Value::Opaque(_) => false,
    }
}

fn none<'a>(call: &mut Call<'_, '_, 'a>, _: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(Value::Optional(None))
}

fn unwrap<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let [Value::List(items)] = args else { return Err(EvalError::no_such_overload()) };
    // cel-go looks at the first element to see whether the overload fits.
    if items.first().is_some_and(|first| !matches!(first, Value::Optional(_))) {
        return Err(EvalError::no_such_overload());
    }
    let mut values = call.arena.list(0)?;
    for item in *items {
        call.meter.tick()?;
        match item {
            Value::Optional(Some(value)) => values.push(**value)?,
            Value::Optional(None) => {}
            other => {
                return Err(EvalError::invalid(format!("value {} is not optional", KeyText(other))));
            }
        }
    }
    Ok(Value::List(values.finish()))
}

fn value<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    optional(args)?.copied().ok_or_else(|| EvalError::invalid("optional.none() dereference"))
}

fn has_value<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(Value::Bool(optional(args)?.is_some()))
}

/// The evaluator does not compute the argument when the receiver has a value; here both are known.
fn or<'a>(_: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [first, second] = args else { return Err(EvalError::no_such_overload()) };
    Ok(if optional(args)?.is_some() { *first } else { *second })
}

fn or_value<'a>(_: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [_, default] = args else { return Err(EvalError::no_such_overload()) };
    Ok(*optional(args)?.unwrap_or(default))
}

fn first<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let [Value::List(items)] = args else { return Err(EvalError::no_such_overload()) };
    Ok(Value::Optional(items.first()))
}

fn last<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let [Value::List(items)] = args else { return Err(EvalError::no_such_overload()) };
    Ok(Value::Optional(items.last()))
}

fn wrap<'a>(call: &Call<'_, '_, 'a>, value: &Value<'a>) -> EvalResult<'a> {
    Ok(Value::Optional(Some(call.arena.alloc(*value)?)))
}

/// What the receiver holds.
fn optional<'v, 'a>(args: &'v [Value<'a>]) -> Result<Option<&'v Value<'a>>, Box<EvalError>> {
    match args.first() {
        Some(Value::Optional(held)) => Ok(*held),
        _ => Err(EvalError::no_such_overload()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::{check, time};
    use super::*;
    use Value::{Bool, Bytes, Double, Duration, Int, List, Null, Optional, String, Type, Uint};

    const ONE: Value<'static> = Optional(Some(&Int(1)));
    const NONE: Value<'static> = Optional(None);

    #[rstest]
    #[case("value", &[ONE], Ok(Int(1)), 1)]
    #[case("value", &[NONE], Err("optional.none() dereference"), 1)]
    #[case("value", &[Int(1)], Err("no such overload"), 1)]
    #[case("hasValue", &[ONE], Ok(Bool(true)), 1)]
    #[case("hasValue", &[NONE], Ok(Bool(false)), 1)]
    #[case("or", &[NONE, ONE], Ok(ONE), 0)]
    #[case("or", &[ONE, NONE], Ok(ONE), 0)]
    #[case("or", &[Int(1), ONE], Err("no such overload"), 0)]
    #[case("orValue", &[NONE, Int(2)], Ok(Int(2)), 0)]
    #[case("orValue", &[ONE, Int(2)], Ok(Int(1)), 0)]
    #[case("orValue", &[Int(1), Int(2)], Err("no such overload"), 0)]
    #[case("first", &[List(&[Int(1), Int(2)])], Ok(ONE), 1)]
    #[case("last", &[List(&[Int(2), Int(1)])], Ok(ONE), 1)]
    #[case("first", &[List(&[])], Ok(NONE), 1)]
    #[case("last", &[List(&[])], Ok(NONE), 1)]
    #[case("unwrapOpt", &[List(&[ONE, NONE])], Ok(List(&[Int(1)])), 1)]
    #[case("unwrapOpt", &[List(&[])], Ok(List(&[])), 1)]
    #[case("unwrapOpt", &[List(&[Int(1)])], Err("no such overload"), 1)]
    #[case("unwrapOpt", &[List(&[ONE, Int(1)])], Err("value 1 is not optional"), 1)]
    fn optionals_answer_as_in_cel_go(
        #[case] function: &str,
        #[case] args: &[Value<'static>],
        #[case] expected: Result<Value<'static>, &str>,
        #[case] cost: u64,
    ) {
        check(function, Form::Member, args, expected, cost);
    }

    #[test]
    fn optionals_are_made_of_any_value_or_none() {
        check("optional.of", Form::Global, &[Null], Ok(Optional(Some(&Null))), 1);
        check("optional.none", Form::Global, &[], Ok(NONE), 1);
        check("optional.unwrap", Form::Global, &[List(&[NONE, ONE])], Ok(List(&[Int(1)])), 1);
    }

    #[rstest]
    #[case(Null, true)]
    #[case(Bool(false), true)]
    #[case(Int(0), true)]
    #[case(Int(1), false)]
    #[case(Uint(0), true)]
    #[case(Double(-0.0), true)]
    #[case(String(""), true)]
    #[case(String(" "), false)]
    #[case(Bytes(b""), true)]
    #[case(Duration(0), true)]
    #[case(List(&[]), true)]
    #[case(List(&[Null]), false)]
    #[case(Type("int"), false)]
    #[case(NONE, false)]
    #[case(time(0, 0), false)]
    #[case(time(Timestamp::MIN_SECONDS, 0), true)]
    fn zero_values_make_no_optional(#[case] value: Value<'static>, #[case] zero: bool) {
        let expected = if zero { NONE } else { Optional(Some(Box::leak(Box::new(value)))) };
        check("optional.ofNonZeroValue", Form::Global, &[value], Ok(expected), 1);
    }
}
