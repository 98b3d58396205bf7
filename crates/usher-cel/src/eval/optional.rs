//! `or` and `orValue`, of which the second operand may never be looked at. cel-go `cel/library.go` (`evalOptionalOr`).

use super::error::{EvalError, EvalResult};
use super::evaluator::Evaluator;
use super::value::Value;
use crate::compile::OptionalOr;

#[inline(never)]
pub(super) fn or<'a>(evaluator: &mut Evaluator<'_, '_, 'a>, or: &OptionalOr) -> EvalResult<'a> {
    let target = evaluator.eval(or.target)?;
    match target {
        Value::Optional(Some(held)) if or.value => Ok(*held),
        Value::Optional(Some(_)) => Ok(target),
        // cel-go does not ask whether the other of `or` is an optional.
        Value::Optional(None) => evaluator.eval(or.other),
        _ if or.lenient => Ok(target),
        _ => Err(EvalError::no_such_overload()),
    }
}
