//! CEL's equality: across numeric types, deep, without recursion.

use std::convert::Infallible;

use super::compare::compare_numbers;
use super::error::EvalError;
use super::meter::Meter;
use super::value::Value;

/// Whether two values are equal as CEL's `==` sees it: numbers by value whatever their type, lists by item, maps by entry; values of different types are not equal. NaN equals nothing.
pub fn equal<'a>(a: &Value<'a>, b: &Value<'a>) -> bool {
    let endless = |_: &Value<'a>, _: &Value<'a>| Ok::<(), Infallible>(());
    match walk(a, b, endless) {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}

/// As [`equal`], within what an evaluation may do. The costs of Kubernetes do not see how large the items of lists are, and values that
/// share their parts, such as `v.map(x, [x, x])` repeated, hold more pairs than any time suffices for.
///
/// # Errors
/// When time is up, or when more was compared than one evaluation may.
#[inline]
pub(crate) fn equal_within<'a>(
    a: &Value<'a>,
    b: &Value<'a>,
    meter: &mut Meter<'_>,
) -> Result<bool, Box<EvalError>> {
    walk(a, b, |a: &Value<'a>, b: &Value<'a>| meter.work(1 + scalar_length(a).min(scalar_length(b)) / 64))
}

fn scalar_length(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
        _ => 0,
    }
}

/// Compares; `step` is told of each pair.
#[inline]
fn walk<'a, E>(
    a: &Value<'a>,
    b: &Value<'a>,
    mut step: impl FnMut(&Value<'a>, &Value<'a>) -> Result<(), E>,
) -> Result<bool, E> {
    step(a, b)?;
    // Scalars, the common case, need no stack.
    match equal_scalars(a, b) {
        Some(answer) => Ok(answer),
        None => walk_containers(a, b, step),
    }
}

fn walk_containers<'a, E>(
    a: &Value<'a>,
    b: &Value<'a>,
    mut step: impl FnMut(&Value<'a>, &Value<'a>) -> Result<(), E>,
) -> Result<bool, E> {
    let mut pending: Vec<(Value<'a>, Value<'a>)> = vec![(*a, *b)];
    while let Some((a, b)) = pending.pop() {
        step(&a, &b)?;
        if let Some(answer) = equal_scalars(&a, &b) {
            if !answer {
                return Ok(false);
            }
            continue;
        }
        match (a, b) {
            (Value::List(a), Value::List(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                pending.extend(a.iter().copied().zip(b.iter().copied()));
            }
            (Value::Map(a), Value::Map(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                for entry in a.entries() {
                    match b.get(&entry.key) {
                        Some(other) => pending.push((entry.value, *other)),
                        None => return Ok(false),
                    }
                }
            }
            (Value::Optional(Some(a)), Value::Optional(Some(b))) => pending.push((*a, *b)),
            (Value::Object(a), Value::Object(b)) => {
                if a.type_name != b.type_name || a.fields.len() != b.fields.len() {
                    return Ok(false);
                }
                for (name, value) in a.fields {
                    match b.field(name) {
                        Some(other) => pending.push((*value, *other)),
                        None => return Ok(false),
                    }
                }
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// The answer when at least one side is a scalar or the types differ; `None` when both are containers of one type.
#[inline]
fn equal_scalars(a: &Value<'_>, b: &Value<'_>) -> Option<bool> {
    Some(match (a, b) {
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Type(a), Value::Type(b)) => a == b,
        (Value::Opaque(a), Value::Opaque(b)) => a.equals(b),
        (Value::Optional(None), Value::Optional(None)) => true,
        (Value::List(_), Value::List(_))
        | (Value::Map(_), Value::Map(_))
        | (Value::Object(_), Value::Object(_))
        | (Value::Optional(Some(_)), Value::Optional(Some(_))) => return None,
        _ => compare_numbers(a, b).is_some_and(std::cmp::Ordering::is_eq),
    })
}
