//! Calls of library functions. cel-go `interpreter/interpretable.go` (`evalUnary`, `evalBinary`, `evalVarArgs`).

use super::error::{EvalError, EvalResult};
use super::evaluator::Evaluator;
use super::operand;
use super::value::{Value, type_name};
use crate::compile::Callee;
use crate::library::{self, Call};

/// Arguments of a call that need no memory of the arena.
const INLINE_ARGS: usize = 4;

#[inline(never)]
pub(super) fn call<'a>(evaluator: &mut Evaluator<'_, '_, 'a>, callee: &'a Callee) -> EvalResult<'a> {
    let count = callee.args.len();
    let mut inline = [Value::Null; INLINE_ARGS];
    let mut spilled;
    let args: &mut [Value<'a>] = if count <= INLINE_ARGS {
        &mut inline[..count]
    } else {
        spilled = vec![Value::Null; count];
        &mut spilled
    };
    for index in 0..count {
        match evaluator.eval(callee.args[index]) {
            Ok(value) => args[index] = value,
            Err(error) => return Err(failed_argument(evaluator, callee, &args[..index], error)),
        }
    }
    let Some(overload) = callee.overloads.iter().find(|overload| overload.fits(args, callee.guarded)) else {
        return Err(no_overload(evaluator, callee, args));
    };
    let (arena, prepared) = (evaluator.arena, callee.prepared.as_ref());
    let authorizer = evaluator.activation.authorizer();
    if callee.flat_cost {
        let cost = library::cost_of_unknown_overload(overload, args);
        return evaluator
            .meter
            .flat(cost, |meter| (overload.call)(&mut Call { arena, meter, prepared, authorizer }, args));
    }
    (overload.call)(&mut Call { arena, meter: evaluator.meter, prepared, authorizer }, args)
}

/// The error of an argument, once what cel-go still does and charges has been done and charged: it evaluates both of two arguments where it
/// knows which code to call, and counts a call of which it has looked at every argument.
#[cold]
fn failed_argument<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    callee: &'a Callee,
    before: &[Value<'a>],
    error: Box<EvalError>,
) -> Box<EvalError> {
    if !error.kind.is_absorbable() {
        return error;
    }
    let mut args: Vec<Option<Value<'a>>> = before.iter().copied().map(Some).collect();
    args.push(None);
    if callee.is_binary() && args.len() == 1 {
        match evaluator.eval(callee.args[1]) {
            Err(other) if !other.kind.is_absorbable() => return other,
            other => args.push(other.ok()),
        }
    }
    if args.len() < callee.args.len() {
        return error;
    }
    charge_failed(evaluator, callee, &args).err().unwrap_or(error)
}

/// No overload takes the arguments.
#[cold]
fn no_overload<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    callee: &'a Callee,
    args: &[Value<'a>],
) -> Box<EvalError> {
    let known: Vec<Option<Value<'a>>> = args.iter().copied().map(Some).collect();
    if let Err(error) = charge_failed(evaluator, callee, &known) {
        return error;
    }
    let Some(overload) = callee.overloads.first() else { return EvalError::no_such_overload() };
    if callee.prepared.is_some() {
        return EvalError::no_such_overload();
    }
    match args.first() {
        Some(receiver) if overload.name == "flatten" => {
            let args = args[1..].iter().map(operand::type_text).collect::<Vec<_>>().join(", ");
            let receiver = operand::type_text(receiver);
            EvalError::no_such_overload_of(format_args!("{receiver}.flatten({args})"))
        }
        Some(receiver) if !callee.guarded => {
            operand::refusal(EvalError::no_such_overload(), overload.name, receiver)
        }
        _ => {
            let types = args.iter().map(type_name).collect::<Vec<_>>().join(", ");
            EvalError::no_such_overload_of(format_args!("{}({types})", overload.name))
        }
    }
}

fn charge_failed<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    callee: &'a Callee,
    args: &[Option<Value<'a>>],
) -> Result<(), Box<EvalError>> {
    let Some(overload) = callee.overloads.first() else { return Ok(()) };
    let resolved = callee.overloads.len() == 1;
    let cost = library::failed_call_cost(overload, resolved, args, evaluator.meter)?;
    evaluator.meter.charge(cost)
}

impl Callee {
    /// Whether cel-go calls this as a function of two arguments, both of which it evaluates whatever the first gives.
    fn is_binary(&self) -> bool {
        let known = (self.overloads.len() == 1 || !self.guarded) && self.prepared.is_none();
        // The one function of two arguments that is bound as one of any number; with a constant pattern those on patterns are, too.
        self.args.len() == 2 && known && self.overloads.first().is_some_and(|first| first.name != "format")
    }
}
