//! Selection and index: `a.b`, `a['b']`, `a.?b`, `has(a.b)`. cel-go `interpreter/attributes.go`.

use std::fmt;

use super::error::{ErrorKind, EvalError, EvalResult};
use super::evaluator::Evaluator;
use super::operand;
use super::value::Value;
use crate::ast::Span;
use crate::compile::{Node, NodeId, Path, Program, Step};
use crate::library::number::general;

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
    let tested = test(evaluator, path);
    // The name is free. What costs one is the test, if it comes so far; behind a `?`, if it finds something.
    if !matches!(&tested, Ok((_, true))) {
        evaluator.meter.refund(1);
    }
    tested.map(|(found, _)| Value::Bool(found))
}

/// Whether the path leads anywhere, and whether the test of its last step counts.
#[inline]
fn test<'a>(evaluator: &mut Evaluator<'_, '_, 'a>, path: &'a Path) -> Result<(bool, bool), Box<EvalError>> {
    let base = evaluator.eval_base(path.base)?;
    let Some((tested, steps)) = path.steps.split_last() else { return Ok((true, true)) };
    let Some((value, optional)) = walk(evaluator, &base, steps)? else { return Ok((false, false)) };
    let Step::Field { name, span, .. } = tested else { return Ok((true, true)) };
    let found = match value {
        Value::Map(map) => map.field(name).is_some(),
        Value::Object(object) => object.field(name).is_some(),
        Value::List(_) => {
            evaluator.meter.charge(u64::from(!optional))?;
            return Err(no_field_of_list(*span));
        }
        // cel-go's presence test finds no field in a scalar, and no fault either.
        _ => false,
    };
    Ok((found, found || !optional))
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
        Step::Index { index, span, .. } => match evaluator.eval_attribute(*index) {
            Ok(key) => match qualifier_fault(evaluator, *index, &key) {
                Some(error) => Err(error.at(*span)),
                None => look_up(value, &key, optional).map_err(|error| error.at(*span)),
            },
            Err(error) if !error.kind.is_absorbable() => return Err(error),
            Err(error) => Err(error),
        },
    };
    // Behind a `?` only what is found costs.
    if matches!(found, Ok(Some(_))) || (found.is_err() && !optional) {
        evaluator.meter.charge(1)?;
    }
    found
}

/// cel-go's error for a value that can be no index of anything.
fn qualifier_fault(
    evaluator: &Evaluator<'_, '_, '_>,
    index: NodeId,
    key: &Value<'_>,
) -> Option<Box<EvalError>> {
    if matches!(key, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_)) {
        return None;
    }
    let name = if comes_from_document(evaluator.program, index) {
        operand::native_type(key)
    } else {
        operand::go_type(key)
    };
    Some(EvalError::new(ErrorKind::WrongType, format!("invalid qualifier type: {name}")))
}

/// Whether the value of a node is handed on as it stands in a document, without becoming a value of cel-go's.
fn comes_from_document(program: &Program, id: NodeId) -> bool {
    match program.node(id) {
        Node::Variable(_) => true,
        Node::Path(path) => {
            matches!(program.node(path.base), Node::Variable(_))
                && !path.steps.iter().any(|step| step.is_optional())
        }
        // What only one of the branches can have given has its text; both cannot be told apart without another evaluation.
        Node::Conditional { then, otherwise, .. } => {
            comes_from_document(program, *then) || comes_from_document(program, *otherwise)
        }
        _ => false,
    }
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
                Value::Uint(at) if i64::try_from(*at).is_ok() => i128::from(*at),
                Value::Uint(_) => return Err(unsupported_value(index)),
                // Both ends are excluded, as where cel-go converts doubles to ints.
                Value::Double(at) if at.trunc() == *at && at.abs() < i64::MAX as f64 => *at as i128,
                Value::Double(_) => return Err(unsupported_value(index)),
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
                None => Err(EvalError::new(
                    ErrorKind::IndexOutOfRange,
                    format!("index out of bounds: {}", KeyText(index)),
                )),
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
        // A scalar is to cel-go what has no such key.
        _ => Err(EvalError::no_such_key(KeyText(index))),
    }
}

#[cold]
fn unsupported_value(index: &Value<'_>) -> Box<EvalError> {
    let message = format!("unsupported index value {} in list", KeyText(index));
    EvalError::new(ErrorKind::IndexOutOfRange, message)
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
pub(crate) struct KeyText<'v>(pub(crate) &'v Value<'v>);

impl fmt::Display for KeyText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::String(text) => f.write_str(text),
            // Go's constant behind it.
            Value::Null => f.write_str("0"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Uint(value) => write!(f, "{value}"),
            Value::Double(value) => f.write_str(&general(*value)),
            Value::Timestamp(time) => match time.to_string().strip_suffix('Z') {
                Some(utc) => write!(f, "{} +0000 UTC", utc.replacen('T', " ", 1)),
                None => write!(f, "{time}"),
            },
            Value::Duration(nanoseconds) => write_duration(f, *nanoseconds),
            other => f.write_str(super::value::type_name(other)),
        }
    }
}

/// As Go prints a duration: `1h0m0s`, `1.5s`, `2ms`, `0s`.
fn write_duration(f: &mut fmt::Formatter<'_>, nanoseconds: i64) -> fmt::Result {
    let all = nanoseconds.unsigned_abs();
    if nanoseconds < 0 {
        f.write_str("-")?;
    }
    let (unit, size) = match all {
        0 => return f.write_str("0s"),
        1..1_000 => ("ns", 1),
        1_000..1_000_000 => ("µs", 1_000),
        1_000_000..1_000_000_000 => ("ms", 1_000_000),
        _ => ("s", 1_000_000_000),
    };
    let mut whole = all / size;
    if unit == "s" {
        let minutes = whole / 60;
        if minutes >= 60 {
            write!(f, "{}h", minutes / 60)?;
        }
        if minutes > 0 {
            write!(f, "{}m", minutes % 60)?;
        }
        whole %= 60;
    }
    write!(f, "{whole}")?;
    let digits = size.ilog10() as usize;
    let part = format!("{:0digits$}", all % size);
    let part = part.trim_end_matches('0');
    if !part.is_empty() {
        write!(f, ".{part}")?;
    }
    f.write_str(unit)
}
