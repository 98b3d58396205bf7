//! Sets: `sets.contains`, `sets.equivalent`, `sets.intersects` over lists. cel-go `ext/sets.go`; costs as the API server's
//! `CallCost`: 1 + n·m, and twice that for `equivalent`.

use super::cost;
use super::overload::{Call, Form, Overload, Ty};
use crate::eval::{EvalError, EvalResult, Value, equal_within};

const LISTS: &[Ty] = &[Ty::List(&Ty::Param("T")), Ty::List(&Ty::Param("T"))];

pub(super) const OVERLOADS: &[Overload] = &[
    Overload {
        name: "sets.contains",
        form: Form::Global,
        params: LISTS,
        result: Ty::Bool,
        since: 29,
        until: u8::MAX,
        call: contains,
        prepare: None,
    },
    Overload {
        name: "sets.equivalent",
        form: Form::Global,
        params: LISTS,
        result: Ty::Bool,
        since: 29,
        until: u8::MAX,
        call: equivalent,
        prepare: None,
    },
    Overload {
        name: "sets.intersects",
        form: Form::Global,
        params: LISTS,
        result: Ty::Bool,
        since: 29,
        until: u8::MAX,
        call: intersects,
        prepare: None,
    },
];

fn contains<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (list, sublist) = lists(args)?;
    call.charge(pairs(list, sublist, 1))?;
    Ok(Value::Bool(holds_all(call, list, sublist)?))
}

fn equivalent<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (a, b) = lists(args)?;
    call.charge(pairs(a, b, 2))?;
    Ok(Value::Bool(holds_all(call, a, b)? && holds_all(call, b, a)?))
}

fn intersects<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (a, b) = lists(args)?;
    call.charge(pairs(a, b, 1))?;
    for item in a {
        if holds(call, b, item)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn holds_all<'a>(
    call: &mut Call<'_, '_, 'a>,
    list: &[Value<'a>],
    wanted: &[Value<'a>],
) -> Result<bool, Box<EvalError>> {
    for item in wanted {
        if !holds(call, list, item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn holds<'a>(
    call: &mut Call<'_, '_, 'a>,
    list: &[Value<'a>],
    item: &Value<'a>,
) -> Result<bool, Box<EvalError>> {
    call.meter.tick()?;
    for other in list {
        if equal_within(item, other, call.meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn lists<'a>(args: &[Value<'a>]) -> Result<(&'a [Value<'a>], &'a [Value<'a>]), Box<EvalError>> {
    match args {
        [Value::List(a), Value::List(b)] => Ok((a, b)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn pairs(a: &[Value<'_>], b: &[Value<'_>], passes: u64) -> u64 {
    cost::pairs(a.len() as u64, b.len() as u64, passes)
}
