//! Lists: `slice`, `flatten`, `sort`, `@sortByAssociatedKeys` (what the macro `sortBy` calls), `distinct`, `reverse`, `lists.range`.
//! cel-go `ext/lists.go`, version 3, with its costs: 10 for the new list, 1 for the call, and the work.

use std::cmp::Ordering;

use super::overload::{Call, Form, Implementation, Overload, Ty};
use crate::cost::terms::{LIST_CALL, PAIR, TEXT_PAIR};
use crate::eval::{EvalError, EvalResult, Value, compare, equal_within, is_comparable, type_name};

/// Kubernetes' cap of `lists.range`; below it, the cost limit decides.
const MAX_RANGE: i64 = 1_000_000;

const T: Ty = Ty::Param("T");
const LIST: Ty = Ty::List(&T);

pub(super) const OVERLOADS: &[Overload] = &[
    member("slice", &[LIST, Ty::Int, Ty::Int], LIST, slice),
    // cel-go declares the first with a list of lists and then takes any list, so that a flat one passes.
    member("flatten", &[Ty::List(&LIST)], LIST, flatten),
    member("flatten", &[Ty::List(&Ty::Dyn), Ty::Int], Ty::List(&Ty::Dyn), flatten),
    member("sort", &[Ty::List(&Ty::Int)], Ty::List(&Ty::Int), sort),
    member("sort", &[Ty::List(&Ty::Uint)], Ty::List(&Ty::Uint), sort),
    member("sort", &[Ty::List(&Ty::Double)], Ty::List(&Ty::Double), sort),
    member("sort", &[Ty::List(&Ty::Bool)], Ty::List(&Ty::Bool), sort),
    member("sort", &[Ty::List(&Ty::Duration)], Ty::List(&Ty::Duration), sort),
    member("sort", &[Ty::List(&Ty::Timestamp)], Ty::List(&Ty::Timestamp), sort),
    member("sort", &[Ty::List(&Ty::String)], Ty::List(&Ty::String), sort),
    member("sort", &[Ty::List(&Ty::Bytes)], Ty::List(&Ty::Bytes), sort),
    member(SORT_BY, &[LIST, Ty::List(&Ty::Int)], LIST, sort_by),
    member(SORT_BY, &[LIST, Ty::List(&Ty::Uint)], LIST, sort_by),
    member(SORT_BY, &[LIST, Ty::List(&Ty::Double)], LIST, sort_by),
    member(SORT_BY, &[LIST, Ty::List(&Ty::Bool)], LIST, sort_by),
    member(SORT_BY, &[LIST, Ty::List(&Ty::Duration)], LIST, sort_by),
    member(SORT_BY, &[LIST, Ty::List(&Ty::Timestamp)], LIST, sort_by),
    member(SORT_BY, &[LIST, Ty::List(&Ty::String)], LIST, sort_by),
    member(SORT_BY, &[LIST, Ty::List(&Ty::Bytes)], LIST, sort_by),
    member("distinct", &[LIST], LIST, distinct),
    member("reverse", &[LIST], LIST, reverse),
    Overload { form: Form::Global, ..member("lists.range", &[Ty::Int], Ty::List(&Ty::Int), range) },
];

const SORT_BY: &str = "@sortByAssociatedKeys";

const fn member(name: &'static str, params: &'static [Ty], result: Ty, call: Implementation) -> Overload {
    Overload { name, form: Form::Member, params, result, since: 34, until: u8::MAX, call, prepare: None }
}

fn slice<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(items), Value::Int(start), Value::Int(end)] = args else {
        return Err(EvalError::no_such_overload());
    };
    let length = items.len();
    let refuse = |why: String| EvalError::invalid(format!("cannot slice({start}, {end}), {why}"));
    let found = match (usize::try_from(*start), usize::try_from(*end)) {
        (Ok(from), Ok(to)) if from <= to => {
            items.get(from..to).ok_or_else(|| refuse(format!("list is length {length}")))
        }
        (Ok(_), Ok(_)) => Err(refuse("start index must be less than or equal to end index".into())),
        _ => Err(refuse("negative indexes not supported".into())),
    };
    // An error has size 1.
    charge(call, found.as_ref().map_or(1, |items| items.len() as u64))?;
    Ok(Value::List(found?))
}

fn flatten<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (items, depth) = match args {
        [Value::List(items)] => (*items, 1),
        [Value::List(items), Value::Int(depth)] => (*items, *depth),
        _ => return Err(EvalError::no_such_overload()),
    };
    // A negative depth costs like 1.
    let factor = u64::try_from(depth).unwrap_or(1);
    charge(call, (items.len() as u64).saturating_mul(factor))?;
    let Ok(depth) = usize::try_from(depth) else {
        return Err(EvalError::invalid("level must be non-negative"));
    };
    let mut flat = call.arena.list(items.len())?;
    // What is left of the list at each level; a stack of its own, because documents nest deeper than threads' stacks.
    let mut levels = vec![items.iter()];
    while let Some(level) = levels.last_mut() {
        // Empty lists cost and hold nothing, however many there are.
        call.meter.work(1)?;
        match level.next() {
            None => {
                levels.pop();
            }
            Some(Value::List(inner)) if levels.len() <= depth => levels.push(inner.iter()),
            Some(item) => flat.push(*item)?,
        }
    }
    Ok(Value::List(flat.finish()))
}

fn sort<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(items)] = args else { return Err(EvalError::no_such_overload()) };
    sort_by_keys(call, items, items)
}

fn sort_by<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(items), Value::List(keys)] = args else { return Err(EvalError::no_such_overload()) };
    sort_by_keys(call, items, keys)
}

/// The items in the order of their keys. Items with equal keys keep their order; in cel-go they do only in short lists.
fn sort_by_keys<'a>(
    call: &mut Call<'_, '_, 'a>,
    items: &'a [Value<'a>],
    keys: &[Value<'a>],
) -> EvalResult<'a> {
    charge_self_comparison(call, keys)?;
    if items.len() != keys.len() {
        return Err(EvalError::invalid(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} \
             elements respectively",
            items.len(),
            keys.len()
        )));
    }
    let Some(first) = keys.first() else { return Ok(Value::List(items)) };
    if !is_comparable(first) {
        return Err(EvalError::invalid("list elements must be comparable"));
    }
    for key in keys {
        call.meter.tick()?;
        if type_name(key) != type_name(first) {
            return Err(EvalError::invalid("list elements must have the same type"));
        }
    }
    let mut order = call.arena.list::<u32>(keys.len())?;
    for index in 0..keys.len() {
        order.push(u32::try_from(index).unwrap_or(u32::MAX))?;
    }
    order.as_mut_slice().sort_by(|a, b| key_order(&keys[*a as usize], &keys[*b as usize]));
    let order = order.finish();
    let mut sorted = call.arena.list(items.len())?;
    for index in order {
        sorted.push(items[*index as usize])?;
    }
    Ok(Value::List(sorted.finish()))
}

/// A total order of values of one type: NaN, which has no order, comes last.
fn key_order(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    let is_nan = |value: &Value<'_>| matches!(value, Value::Double(double) if double.is_nan());
    compare(a, b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
}

fn distinct<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(items)] = args else { return Err(EvalError::no_such_overload()) };
    charge_self_comparison(call, items)?;
    let mut kept = call.arena.list::<Value<'a>>(items.len())?;
    for item in *items {
        let mut seen = false;
        for other in kept.as_mut_slice().iter() {
            if equal_within(item, other, call.meter)? {
                seen = true;
                break;
            }
        }
        if !seen {
            kept.push(*item)?;
        }
    }
    Ok(Value::List(kept.finish()))
}

fn reverse<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::List(items)] = args else { return Err(EvalError::no_such_overload()) };
    charge(call, items.len() as u64)?;
    let mut reversed = call.arena.list(items.len())?;
    for item in items.iter().rev() {
        reversed.push(*item)?;
    }
    Ok(Value::List(reversed.finish()))
}

fn range<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::Int(size)] = args else { return Err(EvalError::no_such_overload()) };
    if *size < 0 || *size > MAX_RANGE {
        charge(call, 1)?;
        return Err(EvalError::invalid(if *size < 0 {
            format!("lists.range: size must be non-negative, got {size}")
        } else {
            format!("lists.range: size {size} exceeds maximum allowed ({MAX_RANGE})")
        }));
    }
    charge(call, size.unsigned_abs())?;
    let mut numbers = call.arena.list(usize::try_from(*size).unwrap_or_default())?;
    for number in 0..*size {
        call.meter.tick()?;
        numbers.push(Value::Int(number))?;
    }
    Ok(Value::List(numbers.finish()))
}

fn charge(call: &mut Call<'_, '_, '_>, work: u64) -> Result<(), Box<EvalError>> {
    call.charge(work.saturating_add(LIST_CALL))
}

fn charge_self_comparison(call: &mut Call<'_, '_, '_>, items: &[Value<'_>]) -> Result<(), Box<EvalError>> {
    call.charge(self_comparison(items))
}

/// Twice the square of the length, a little more for strings and bytes, and a new list.
pub(super) fn self_comparison(items: &[Value<'_>]) -> u64 {
    let factor = match items.first() {
        Some(Value::String(_) | Value::Bytes(_)) => TEXT_PAIR,
        _ => PAIR,
    };
    let pairs = (items.len() as u64).saturating_mul(items.len() as u64);
    ((pairs as f64 * factor) as u64).saturating_add(LIST_CALL)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::check;
    use super::*;
    use Value::{Bool, Double, Int, List, Null, Optional, String, Uint};

    const NUMBERS: Value<'static> = List(&[Int(1), Int(2), Int(3)]);
    const NESTED: Value<'static> = List(&[Int(1), List(&[Int(2), List(&[Int(3)])])]);

    #[rstest]
    #[case("slice", &[NUMBERS, Int(1), Int(3)], Ok(List(&[Int(2), Int(3)])), 13)]
    #[case("slice", &[NUMBERS, Int(3), Int(3)], Ok(List(&[])), 11)]
    #[case("slice", &[NUMBERS, Int(1), Int(4)], Err("cannot slice(1, 4), list is length 3"), 12)]
    #[case("slice", &[NUMBERS, Int(-1), Int(3)], Err("cannot slice(-1, 3), negative indexes not supported"), 12)]
    #[case("slice", &[NUMBERS, Int(2), Int(1)], Err("cannot slice(2, 1), start index must be less than or equal to end index"), 12)]
    #[case("flatten", &[NESTED], Ok(List(&[Int(1), Int(2), List(&[Int(3)])])), 13)]
    #[case("flatten", &[NESTED, Int(2)], Ok(NUMBERS), 15)]
    #[case("flatten", &[NESTED, Int(0)], Ok(NESTED), 11)]
    #[case("flatten", &[NESTED, Int(-1)], Err("level must be non-negative"), 13)]
    #[case("sort", &[List(&[Int(3), Int(1), Int(2)])], Ok(NUMBERS), 29)]
    #[case("sort", &[List(&[String("b"), String("a")])], Ok(List(&[String("a"), String("b")])), 19)]
    #[case("sort", &[List(&[Bool(true), Bool(false)])], Ok(List(&[Bool(false), Bool(true)])), 19)]
    #[case("sort", &[List(&[])], Ok(List(&[])), 11)]
    #[case("sort", &[List(&[Int(1), String("a")])], Err("list elements must have the same type"), 19)]
    #[case("sort", &[List(&[Int(1), Uint(1)])], Err("list elements must have the same type"), 19)]
    #[case("sort", &[List(&[Optional(None)])], Err("list elements must be comparable"), 13)]
    #[case("@sortByAssociatedKeys", &[List(&[Null, Int(1), Int(2)]), List(&[Int(2), Int(1), Int(1)])], Ok(List(&[Int(1), Int(2), Null])), 29)]
    #[case("@sortByAssociatedKeys", &[NUMBERS, List(&[])], Err("@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got 3 and 0 elements respectively"), 11)]
    #[case("distinct", &[List(&[Int(1), Uint(1), Double(1.0), Int(2)])], Ok(List(&[Int(1), Int(2)])), 43)]
    #[case("distinct", &[List(&[])], Ok(List(&[])), 11)]
    #[case("reverse", &[NUMBERS], Ok(List(&[Int(3), Int(2), Int(1)])), 14)]
    fn lists_answer_as_in_version_3(
        #[case] function: &str,
        #[case] args: &[Value<'static>],
        #[case] expected: Result<Value<'static>, &str>,
        #[case] cost: u64,
    ) {
        check(function, Form::Member, args, expected, cost);
    }

    #[rstest]
    #[case(3, Ok(List(&[Int(0), Int(1), Int(2)])), 14)]
    #[case(0, Ok(List(&[])), 11)]
    #[case(-1, Err("lists.range: size must be non-negative, got -1"), 12)]
    #[case(1_000_001, Err("lists.range: size 1000001 exceeds maximum allowed (1000000)"), 12)]
    fn ranges_are_capped(
        #[case] size: i64,
        #[case] expected: Result<Value<'static>, &str>,
        #[case] cost: u64,
    ) {
        check("lists.range", Form::Global, &[Int(size)], expected, cost);
    }

    #[test]
    fn nan_is_sorted_behind_all_numbers() {
        let items: Vec<Value<'static>> = (0..100)
            .map(|number| Double(if number % 3 == 0 { f64::NAN } else { f64::from(100 - number) }))
            .collect();
        let library = super::super::testing::Library::default();
        let sorted = library.member("sort", &[List(&items)]).unwrap();
        let List(sorted) = sorted else { panic!("no list") };
        assert!(matches!(sorted, [.., Double(last)] if last.is_nan()));
        assert!(matches!(sorted[0], Double(2.0)));
    }
}
