//! Kubernetes' own list functions: `isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf`, `includes`. apiserver
//! `pkg/cel/library/lists.go`; each costs one walk through the list.

use std::cmp::Ordering;

use super::cost;
use super::overload::{Call, Form, Implementation, Overload, Ty};
use crate::eval::{EvalError, EvalResult, Value, arithmetic, compare, equal_within, is_comparable};

const T: Ty = Ty::Param("A");
const LIST: Ty = Ty::List(&T);

const INTS: Ty = Ty::List(&Ty::Int);
const UINTS: Ty = Ty::List(&Ty::Uint);
const DOUBLES: Ty = Ty::List(&Ty::Double);
const BOOLS: Ty = Ty::List(&Ty::Bool);
const DURATIONS: Ty = Ty::List(&Ty::Duration);
const TIMESTAMPS: Ty = Ty::List(&Ty::Timestamp);
const STRINGS: Ty = Ty::List(&Ty::String);
const BYTES: Ty = Ty::List(&Ty::Bytes);

pub(super) const OVERLOADS: &[Overload] = &[
    member("isSorted", &[INTS], Ty::Bool, is_sorted),
    member("isSorted", &[UINTS], Ty::Bool, is_sorted),
    member("isSorted", &[DOUBLES], Ty::Bool, is_sorted),
    member("isSorted", &[BOOLS], Ty::Bool, is_sorted),
    member("isSorted", &[DURATIONS], Ty::Bool, is_sorted),
    member("isSorted", &[TIMESTAMPS], Ty::Bool, is_sorted),
    member("isSorted", &[STRINGS], Ty::Bool, is_sorted),
    member("isSorted", &[BYTES], Ty::Bool, is_sorted),
    member("sum", &[INTS], Ty::Int, |call, args| sum(call, args, Value::Int(0))),
    member("sum", &[UINTS], Ty::Uint, |call, args| sum(call, args, Value::Uint(0))),
    member("sum", &[DOUBLES], Ty::Double, |call, args| sum(call, args, Value::Double(0.0))),
    member("sum", &[DURATIONS], Ty::Duration, |call, args| sum(call, args, Value::Duration(0))),
    member("min", &[INTS], Ty::Int, min),
    member("min", &[UINTS], Ty::Uint, min),
    member("min", &[DOUBLES], Ty::Double, min),
    member("min", &[BOOLS], Ty::Bool, min),
    member("min", &[DURATIONS], Ty::Duration, min),
    member("min", &[TIMESTAMPS], Ty::Timestamp, min),
    member("min", &[STRINGS], Ty::String, min),
    member("min", &[BYTES], Ty::Bytes, min),
    member("max", &[INTS], Ty::Int, max),
    member("max", &[UINTS], Ty::Uint, max),
    member("max", &[DOUBLES], Ty::Double, max),
    member("max", &[BOOLS], Ty::Bool, max),
    member("max", &[DURATIONS], Ty::Duration, max),
    member("max", &[TIMESTAMPS], Ty::Timestamp, max),
    member("max", &[STRINGS], Ty::String, max),
    member("max", &[BYTES], Ty::Bytes, max),
    member("indexOf", &[LIST, T], Ty::Int, index_of),
    member("lastIndexOf", &[LIST, T], Ty::Int, last_index_of),
    Overload { since: 37, ..member("includes", &[Ty::Dyn, Ty::Dyn], Ty::Bool, includes) },
];

const fn member(name: &'static str, params: &'static [Ty], result: Ty, call: Implementation) -> Overload {
    Overload { name, form: Form::Member, params, result, since: 24, until: u8::MAX, call, prepare: None }
}

/// Neighbours without an order (a number beside a string, NaN) count as sorted, as upstream.
fn is_sorted<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let items = comparable_items(call, args)?;
    let descends = |pair: &[Value<'_>]| compare(&pair[0], &pair[1]) == Some(Ordering::Greater);
    Ok(Value::Bool(!items.windows(2).any(descends)))
}

/// The first item decides what is added up; of an empty list nothing is known but that its sum is 0.
/// `zero` is what an empty list of the declared type adds up to.
fn sum<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>], zero: Value<'a>) -> EvalResult<'a> {
    let items = walk(call, args)?;
    let mut total = match items.first() {
        None => zero,
        Some(Value::Int(_)) => Value::Int(0),
        Some(Value::Uint(_)) => Value::Uint(0),
        Some(Value::Double(_)) => Value::Double(0.0),
        Some(Value::Duration(_)) => Value::Duration(0),
        Some(_) => return Err(EvalError::no_such_overload()),
    };
    for item in items {
        // The walk has paid for the additions.
        total = arithmetic::sum(&total, item)?;
    }
    Ok(total)
}

fn min<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    extreme(call, args, "min", Ordering::Greater)
}

fn max<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    extreme(call, args, "max", Ordering::Less)
}

/// The item that none other beats: one is beaten when it compares to the next as `beaten`. Without an order between two the first stays.
fn extreme<'a>(
    call: &mut Call<'_, '_, 'a>,
    args: &[Value<'a>],
    name: &str,
    beaten: Ordering,
) -> EvalResult<'a> {
    let items = comparable_items(call, args)?;
    let mut best: Option<&Value<'a>> = None;
    for item in items {
        if best.is_none_or(|best| compare(best, item) == Some(beaten)) {
            best = Some(item);
        }
    }
    best.copied().ok_or_else(|| EvalError::invalid(format!("{name} called on empty list")))
}

fn index_of<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let items = walk(call, args)?;
    let wanted = args.get(1).ok_or_else(EvalError::no_such_overload)?;
    for (at, item) in items.iter().enumerate() {
        if equal_within(item, wanted, call.meter)? {
            return Ok(index(Some(at)));
        }
    }
    Ok(index(None))
}

fn last_index_of<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let items = walk(call, args)?;
    let wanted = args.get(1).ok_or_else(EvalError::no_such_overload)?;
    for (at, item) in items.iter().enumerate().rev() {
        if equal_within(item, wanted, call.meter)? {
            return Ok(index(Some(at)));
        }
    }
    Ok(index(None))
}

/// Membership in a list, equality with anything else.
fn includes<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [target, wanted] = args else { return Err(EvalError::no_such_overload()) };
    let cost = cost::values(target, call.meter)?;
    call.charge(cost)?;
    let candidates = match target {
        Value::List(items) => items,
        other => std::slice::from_ref(other),
    };
    for item in candidates {
        if equal_within(item, wanted, call.meter)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn index<'a>(found: Option<usize>) -> Value<'a> {
    Value::Int(found.map_or(-1, |at| i64::try_from(at).unwrap_or(i64::MAX)))
}

/// The items of the receiver, after charging a walk through it.
fn walk<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> Result<&'a [Value<'a>], Box<EvalError>> {
    let Some(list @ Value::List(items)) = args.first() else { return Err(EvalError::no_such_overload()) };
    let cost = cost::values(list, call.meter)?;
    call.charge(cost)?;
    Ok(items)
}

fn comparable_items<'a>(
    call: &mut Call<'_, '_, 'a>,
    args: &[Value<'a>],
) -> Result<&'a [Value<'a>], Box<EvalError>> {
    let items = walk(call, args)?;
    if items.iter().all(is_comparable) { Ok(items) } else { Err(EvalError::no_such_overload()) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::check;
    use super::*;
    use Value::{Bool, Double, Duration, Int, List, Null, String, Uint};

    const NUMBERS: Value<'static> = List(&[Int(1), Int(3), Int(2), Int(3)]);
    const WORDS: Value<'static> = List(&[String("0123456789"), String("0123456789x")]);
    const MIXED: Value<'static> = List(&[Int(1), String("a")]);

    #[rstest]
    #[case("isSorted", &[NUMBERS], Ok(Bool(false)), 4)]
    #[case("isSorted", &[WORDS], Ok(Bool(true)), 2)]
    #[case("isSorted", &[List(&[])], Ok(Bool(true)), 0)]
    #[case("isSorted", &[MIXED], Ok(Bool(true)), 1)]
    #[case("isSorted", &[List(&[Null])], Err("no such overload"), 1)]
    #[case("sum", &[NUMBERS], Ok(Int(9)), 4)]
    #[case("sum", &[List(&[Uint(1), Uint(2)])], Ok(Uint(3)), 2)]
    #[case("sum", &[List(&[Double(1.5)])], Ok(Double(1.5)), 1)]
    #[case("sum", &[List(&[Duration(1), Duration(2)])], Ok(Duration(3)), 2)]
    #[case("sum", &[List(&[])], Ok(Int(0)), 0)]
    #[case("sum", &[List(&[Int(i64::MAX), Int(1)])], Err("integer overflow"), 2)]
    #[case("sum", &[List(&[Int(1), Double(1.0)])], Err("no such overload"), 2)]
    #[case("sum", &[WORDS], Err("no such overload"), 2)]
    #[case("min", &[NUMBERS], Ok(Int(1)), 4)]
    #[case("max", &[NUMBERS], Ok(Int(3)), 4)]
    #[case("max", &[WORDS], Ok(String("0123456789x")), 2)]
    #[case("max", &[MIXED], Ok(Int(1)), 1)]
    #[case("max", &[List(&[Double(1.0), Double(f64::NAN)])], Ok(Double(1.0)), 2)]
    #[case("min", &[List(&[])], Err("min called on empty list"), 0)]
    #[case("max", &[List(&[])], Err("max called on empty list"), 0)]
    #[case("max", &[List(&[Int(1), Null])], Err("no such overload"), 2)]
    #[case("indexOf", &[NUMBERS, Int(3)], Ok(Int(1)), 4)]
    #[case("lastIndexOf", &[NUMBERS, Double(3.0)], Ok(Int(3)), 4)]
    #[case("indexOf", &[WORDS, String("x")], Ok(Int(-1)), 2)]
    #[case("includes", &[NUMBERS, Int(2)], Ok(Bool(true)), 4)]
    #[case("includes", &[NUMBERS, String("2")], Ok(Bool(false)), 4)]
    #[case("includes", &[String("0123456789"), String("0123456789")], Ok(Bool(true)), 1)]
    #[case("includes", &[Null, Int(1)], Ok(Bool(false)), 1)]
    fn list_functions_answer_as_in_kubernetes(
        #[case] function: &str,
        #[case] args: &[Value<'static>],
        #[case] expected: Result<Value<'static>, &str>,
        #[case] cost: u64,
    ) {
        check(function, Form::Member, args, expected, cost);
    }
}
