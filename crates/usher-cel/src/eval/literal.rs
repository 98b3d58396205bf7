//! List, map and struct literals. As in cel-go they cost what they cost even when a part of them is an error.

use std::fmt;

use super::error::{ErrorKind, EvalError, EvalResult};
use super::evaluator::Evaluator;
use super::select::KeyText;
use super::value::{Entry, Map, Object, Value};
use crate::compile::{Element, MapElement, StructElement};
use crate::cost::terms::{NEW_LIST, NEW_MAP, NEW_STRUCT};

#[inline(never)]
pub(super) fn list<'a>(evaluator: &mut Evaluator<'_, '_, 'a>, elements: &[Element]) -> EvalResult<'a> {
    let items = items(evaluator, elements);
    charged(evaluator, NEW_LIST, items).map(Value::List)
}

fn items<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    elements: &[Element],
) -> Result<&'a [Value<'a>], Box<EvalError>> {
    let mut list = evaluator.arena.list(elements.len())?;
    for element in elements {
        let value = evaluator.eval(element.value)?;
        match (element.optional, value) {
            (false, value) => list.push(value)?,
            (true, Value::Optional(Some(value))) => list.push(*value)?,
            (true, Value::Optional(None)) => {}
            (true, value) => {
                return Err(not_optional(format!(
                    "list element from non-optional value {}",
                    KeyText(&value)
                ))
                .at(evaluator.program.span(element.value)));
            }
        }
    }
    Ok(list.finish())
}

#[inline(never)]
pub(super) fn map<'a>(evaluator: &mut Evaluator<'_, '_, 'a>, elements: &[MapElement]) -> EvalResult<'a> {
    let entries = entries(evaluator, elements);
    let entries = charged(evaluator, NEW_MAP, entries)?;
    Ok(Value::Map(Map::new(entries, evaluator.arena)?))
}

fn entries<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    elements: &[MapElement],
) -> Result<&'a [Entry<'a>], Box<EvalError>> {
    let mut entries = evaluator.arena.list(elements.len())?;
    for element in elements {
        let key = evaluator.eval(element.key)?;
        let value = evaluator.eval(element.value)?;
        // The API server crashes here: Go has no maps with such keys.
        if matches!(key, Value::Bytes(_)) {
            return Err(EvalError::new(ErrorKind::WrongType, "unsupported key type")
                .at(evaluator.program.span(element.key)));
        }
        match (element.optional, value) {
            (false, value) => entries.push(Entry { key, value })?,
            (true, Value::Optional(Some(value))) => entries.push(Entry { key, value: *value })?,
            (true, Value::Optional(None)) => {}
            (true, value) => {
                return Err(
                    not_optional_entry(KeyText(&key), &value).at(evaluator.program.span(element.value))
                );
            }
        }
    }
    Ok(entries.finish())
}

#[inline(never)]
pub(super) fn structure<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    type_name: &'a str,
    elements: &'a [StructElement],
) -> EvalResult<'a> {
    let fields = fields(evaluator, elements);
    let fields = charged(evaluator, NEW_STRUCT, fields)?;
    Ok(Value::Object(evaluator.arena.alloc(Object { type_name, fields })?))
}

fn fields<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    elements: &'a [StructElement],
) -> Result<&'a [(&'a str, Value<'a>)], Box<EvalError>> {
    let mut fields = evaluator.arena.list::<(&'a str, Value<'a>)>(elements.len())?;
    for element in elements {
        let value = evaluator.eval(element.value)?;
        match (element.optional, value) {
            (false, value) => fields.push((&*element.name, value))?,
            (true, Value::Optional(Some(value))) => fields.push((&*element.name, *value))?,
            (true, Value::Optional(None)) => {}
            (true, value) => {
                return Err(
                    not_optional_entry(&element.name, &value).at(evaluator.program.span(element.value))
                );
            }
        }
    }
    Ok(fields.finish())
}

/// Charges for a literal, unless a budget is spent already.
#[inline]
fn charged<T>(
    evaluator: &mut Evaluator<'_, '_, '_>,
    cost: u64,
    made: Result<T, Box<EvalError>>,
) -> Result<T, Box<EvalError>> {
    if let Err(error) = &made
        && !error.kind.is_absorbable()
    {
        return made;
    }
    evaluator.meter.charge(cost)?;
    made
}

fn not_optional_entry(key: impl fmt::Display, value: &Value<'_>) -> Box<EvalError> {
    not_optional(format!("entry '{key}' from non-optional value {}", KeyText(value)))
}

fn not_optional(what: String) -> Box<EvalError> {
    EvalError::new(ErrorKind::WrongType, format!("cannot initialize optional {what}"))
}
