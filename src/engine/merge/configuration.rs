//! From what an expression gave to plain JSON.

use usher_cel::eval::{Arena, Entry, Map, Value, type_name};

use super::MAX_DEPTH;
use super::error::{Fault, MergeError, UnexpectedType};
use super::path::Path;

/// Most findings that are told at once.
const MOST: usize = 16;

/// Checks that the type name of each object is its path from the root: `Object.spec.containers` for those in the list
/// `containers`, as lists and maps have no name of their own. apiserver `cel/mutation/dynamic/objects.go`.
pub(super) fn check_type_names(configuration: &Value<'_>) -> Result<(), MergeError> {
    let Value::Object(_) = configuration else {
        return Err(MergeError::NotAnObject(type_name(configuration).to_owned()));
    };
    let mut unexpected = Vec::new();
    check(configuration, Path::Root, &mut unexpected, 0)?;
    if unexpected.is_empty() { Ok(()) } else { Err(MergeError::TypeNames(unexpected)) }
}

fn check(
    value: &Value<'_>,
    path: Path<'_>,
    unexpected: &mut Vec<UnexpectedType>,
    depth: usize,
) -> Result<(), MergeError> {
    if depth > MAX_DEPTH {
        return Err(MergeError::TooDeep);
    }
    match value {
        Value::Object(object) => {
            if !is_type_of(path, object.type_name) && unexpected.len() < MOST {
                let (found, expected) = (object.type_name.to_owned(), format!("Object{path}"));
                unexpected.push(UnexpectedType { found, expected });
            }
            let mut fields = object.fields.iter();
            fields.try_for_each(|(name, value)| check(value, Path::Field(&path, name), unexpected, depth + 1))
        }
        Value::List(items) => items.iter().try_for_each(|item| check(item, path, unexpected, depth + 1)),
        Value::Map(map) => {
            map.entries().iter().try_for_each(|entry| check(&entry.value, path, unexpected, depth + 1))
        }
        _ => Ok(()),
    }
}

/// Whether a type's name is `Object` and the fields of the path.
fn is_type_of(path: Path<'_>, name: &str) -> bool {
    let (mut path, mut rest) = (&path, name);
    while let Path::Field(parent, field) = path {
        let Some(shorter) = rest.strip_suffix(field).and_then(|rest| rest.strip_suffix('.')) else {
            return false;
        };
        (path, rest) = (parent, shorter);
    }
    rest == "Object"
}

/// The configuration as JSON, without `apiVersion` and `kind`, which are the live object's.
pub(super) fn to_json<'a>(configuration: &Value<'a>, arena: &'a Arena) -> Result<Value<'a>, MergeError> {
    let converted = convert(configuration, arena, 0).map_err(|failure| match failure {
        Failure::Fault(fault) => MergeError::Patch(vec![fault]),
        Failure::Other(error) => error,
    })?;
    let Value::Map(map) = converted else { return Ok(converted) };
    let mut entries = arena.list(map.len()).map_err(|_| MergeError::Memory)?;
    for entry in map.entries() {
        if !matches!(entry.key, Value::String("apiVersion" | "kind")) {
            entries.push(*entry).map_err(|_| MergeError::Memory)?;
        }
    }
    Map::new(entries.finish(), arena).map(Value::Map).map_err(|_| MergeError::Memory)
}

enum Failure {
    Fault(Fault),
    Other(MergeError),
}

fn convert<'a>(value: &Value<'a>, arena: &'a Arena, depth: usize) -> Result<Value<'a>, Failure> {
    if depth > MAX_DEPTH {
        return Err(Failure::Other(MergeError::TooDeep));
    }
    match value {
        Value::Bool(_) | Value::Int(_) | Value::String(_) => Ok(*value),
        Value::Double(number) if number.is_finite() => Ok(*value),
        Value::Object(object) => {
            let mut entries = arena.list(object.fields.len()).map_err(memory)?;
            for (name, value) in object.fields {
                let value = convert(value, arena, depth + 1).map_err(|failure| within(failure, name))?;
                entries.push(Entry { key: Value::String(name), value }).map_err(memory)?;
            }
            Map::new(entries.finish(), arena).map(Value::Map).map_err(memory)
        }
        Value::Map(map) => {
            let mut entries = arena.list(map.len()).map_err(memory)?;
            for entry in map.entries() {
                let Value::String(name) = entry.key else {
                    let message =
                        format!("the key of a map is of type {}, not string", type_name(&entry.key));
                    return Err(Failure::Fault(Fault::new(message)));
                };
                let value =
                    convert(&entry.value, arena, depth + 1).map_err(|failure| within(failure, name))?;
                entries.push(Entry { key: entry.key, value }).map_err(memory)?;
            }
            Map::new(entries.finish(), arena).map(Value::Map).map_err(memory)
        }
        Value::List(items) => {
            let mut converted = arena.list(items.len()).map_err(memory)?;
            for (index, item) in items.iter().enumerate() {
                let item = convert(item, arena, depth + 1).map_err(|failure| match failure {
                    Failure::Fault(fault) => Failure::Fault(fault.within(&format!("[{index}]"))),
                    other @ Failure::Other(_) => other,
                })?;
                converted.push(item).map_err(memory)?;
            }
            Ok(Value::List(converted.finish()))
        }
        // As Kubernetes: a type is its name, an optional in a field that does not ask for one is what it holds.
        Value::Type(name) => Ok(Value::String(name)),
        Value::Optional(Some(inner)) => convert(inner, arena, depth + 1),
        // As Kubernetes, where a null of an expression is no value of any type.
        Value::Null | Value::Optional(None) => {
            let message =
                "null cannot be merged: leave the field out, for example with `?field: optional.none()`";
            Err(Failure::Fault(Fault::new(message)))
        }
        other => {
            let message = format!(
                "a {} cannot be merged: make it a string, an int, a double or a bool",
                type_name(other)
            );
            Err(Failure::Fault(Fault::new(message)))
        }
    }
}

fn within(failure: Failure, name: &str) -> Failure {
    match failure {
        Failure::Fault(fault) => Failure::Fault(fault.within(&format!(".{name}"))),
        other @ Failure::Other(_) => other,
    }
}

fn memory<E>(_: E) -> Failure {
    Failure::Other(MergeError::Memory)
}
