//! Selection and index: `a.b`, `a['b']`, `a.?b`, `has(a.b)`. cel-go `interpreter/attributes.go`.

use super::error::{ErrorKind, EvalError, EvalResult};
use super::evaluator::Evaluator;
use super::value::Value;
use crate::ast::Span;
use crate::compile::{Path, Step};

/// Walks a path. After the first optional step, or from an optional base, absence is a value: the result is an optional.
#[inline(never)]
pub(super) fn path<'a>(evaluator: &mut Evaluator<'_, '_, 'a>, path: &'a Path) -> EvalResult<'a> {
    let base = evaluator.eval_base(path.base)?;
    let Some((value, optional)) = walk(evaluator, &base, &path.steps)? else {
        return Ok(Value::Optional(None));
    };
    if optional {
        return Ok(Value::Optional(Some(evaluator.arena.alloc(*value)?)));
    }
    Ok(*value)
}

/// `has(path)`: whether the last step leads anywhere; a step before it that leads nowhere is an error.
#[inline(never)]
pub(super) fn has<'a>(evaluator: &mut Evaluator<'_, '_, 'a>, path: &'a Path) -> EvalResult<'a> {
    let base = evaluator.eval_base(path.base)?;
    let Some((tested, steps)) = path.steps.split_last() else { return Ok(Value::Bool(true)) };
    let Some((value, _)) = walk(evaluator, &base, steps)? else { return Ok(Value::Bool(false)) };
    let Step::Field { name, span, .. } = tested else { return Ok(Value::Bool(true)) };
    match value {
        Value::Map(map) => Ok(Value::Bool(map.field(name).is_some())),
        Value::Object(object) => Ok(Value::Bool(object.field(name).is_some())),
        Value::List(_) => Err(no_field_of_list(*span)),
        // cel-go's presence test finds no field in a scalar, and no fault either.
        _ => Ok(Value::Bool(false)),
    }
}

/// Where the steps lead, and whether the base or one of them was optional; `None` when an optional one leads nowhere.
#[inline]
fn walk<'v, 'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    base: &'v Value<'a>,
    steps: &'a [Step],
) -> Result<Option<(&'v Value<'a>, bool)>, Box<EvalError>> {
    let (mut value, mut optional) = match base {
        Value::Optional(None) => return Ok(None),
        Value::Optional(Some(held)) => (*held, true),
        value => (value, false),
    };
    for step in steps {
        optional |= step.is_optional();
        if let Step::Field { name, .. } | Step::Key { name, .. } = step
            && let Value::Map(map) = value
            && let Some(found) = map.field(name)
        {
            evaluator.meter.charge(1)?;
            value = found;
            continue;
        }
        match take(evaluator, value, step, optional)? {
            Some(next) => value = next,
            None => return Ok(None),
        }
    }
    Ok(Some((value, optional)))
}

/// Any step but that to a field which a map has.
#[inline(never)]
fn take<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    value: &Value<'a>,
    step: &'a Step,
    optional: bool,
) -> Result<Option<&'a Value<'a>>, Box<EvalError>> {
    let found = match step {
        Step::Field { name, span, .. } => absent(value, name, *span, optional),
        Step::Key { name, span, .. } => {
            look_up(value, &Value::String(name), optional).map_err(|error| error.at(*span))
        }
        Step::Index { index, span, .. } => {
            let index = evaluator.eval_attribute(*index)?;
            look_up(value, &index, optional).map_err(|error| error.at(*span))
        }
    };
    // What is absent behind a `?` costs nothing.
    if !matches!(found, Ok(None)) {
        evaluator.meter.charge(1)?;
    }
    found
}

/// A field of anything but a map that has it.
fn absent<'a>(
    value: &Value<'a>,
    name: &str,
    span: Span,
    optional: bool,
) -> Result<Option<&'a Value<'a>>, Box<EvalError>> {
    let found = match value {
        Value::Object(object) => object.field(name),
        // Behind a `?` too.
        Value::List(_) => return Err(no_field_of_list(span)),
        _ => None,
    };
    match found {
        None if !optional => Err(EvalError::no_such_key(name).at(span)),
        found => Ok(found),
    }
}

#[cold]
fn no_field_of_list(span: Span) -> Box<EvalError> {
    EvalError::new(ErrorKind::NoSuchOverload, "unsupported index type 'string' in list").at(span)
}

fn look_up<'a>(
    value: &Value<'a>,
    index: &Value<'a>,
    optional: bool,
) -> Result<Option<&'a Value<'a>>, Box<EvalError>> {
    match value {
        Value::Map(map) => match map.get(index) {
            Some(value) => Ok(Some(value)),
            None if optional => Ok(None),
            None => Err(EvalError::no_such_key(KeyText(index))),
        },
        Value::List(list) => {
            let at = match index {
                Value::Int(at) => i128::from(*at),
                Value::Uint(at) => i128::from(*at),
                Value::Double(at) if at.trunc() == *at && at.abs() < 9_007_199_254_740_992.0 => *at as i128,
                _ => {
                    let name = super::value::type_name(index);
                    return Err(EvalError::new(
                        ErrorKind::NoSuchOverload,
                        format!("unsupported index type '{name}' in list"),
                    ));
                }
            };
            match usize::try_from(at).ok().and_then(|at| list.get(at)) {
                Some(value) => Ok(Some(value)),
                None if optional => Ok(None),
                None => Err(EvalError::new(ErrorKind::IndexOutOfRange, format!("index out of bounds: {at}"))),
            }
        }
        Value::Object(object) => match index {
            Value::String(name) => match object.field(name) {
                None if !optional => Err(EvalError::no_such_key(name)),
                found => Ok(found),
            },
            _ => Err(EvalError::no_such_overload()),
        },
        _ if optional => Ok(None),
        _ => Err(EvalError::no_such_overload()),
    }
}

impl Step {
    fn is_optional(&self) -> bool {
        match self {
            Self::Field { optional, .. } | Self::Key { optional, .. } | Self::Index { optional, .. } => {
                *optional
            }
        }
    }
}

/// A key as Go prints it.
struct KeyText<'v>(&'v Value<'v>);

impl std::fmt::Display for KeyText<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Value::String(text) => f.write_str(text),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Uint(value) => write!(f, "{value}"),
            Value::Double(value) => write!(f, "{value}"),
            other => f.write_str(super::value::type_name(other)),
        }
    }
}
