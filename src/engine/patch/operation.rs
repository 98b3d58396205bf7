//! Operations: from what an expression or a rule's author wrote, and to what goes on the wire.

use usher_cel::document::{self, LargeIntegers, Options, WriteError, WriteOptions};
use usher_cel::{Arena, Value};

use super::error::{Cause, PatchError};
use super::tree::kind;
use super::{MAX_OPERATIONS, MAX_PATCH_BYTES};

/// One step of a patch. Paths are as written, still escaped; values hold nothing but JSON.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    Add { path: &'a str, value: Value<'a> },
    Remove { path: &'a str },
    Replace { path: &'a str, value: Value<'a> },
    Move { from: &'a str, path: &'a str },
    Copy { from: &'a str, path: &'a str },
    Test { path: &'a str, value: Value<'a> },
}

impl<'a> Operation<'a> {
    /// The name on the wire.
    pub fn op(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Remove { .. } => "remove",
            Self::Replace { .. } => "replace",
            Self::Move { .. } => "move",
            Self::Copy { .. } => "copy",
            Self::Test { .. } => "test",
        }
    }

    /// Where it acts, as written.
    pub fn path(&self) -> &'a str {
        match self {
            Self::Add { path, .. }
            | Self::Remove { path }
            | Self::Replace { path, .. }
            | Self::Move { path, .. }
            | Self::Copy { path, .. }
            | Self::Test { path, .. } => path,
        }
    }

    fn from(&self) -> Option<&'a str> {
        match self {
            Self::Move { from, .. } | Self::Copy { from, .. } => Some(from),
            _ => None,
        }
    }

    fn value(&self) -> Option<&Value<'a>> {
        match self {
            Self::Add { value, .. } | Self::Replace { value, .. } | Self::Test { value, .. } => Some(value),
            _ => None,
        }
    }
}

/// Reads the operations that a CEL expression gave: a list of `JSONPatch{…}` objects or of maps with the same fields.
///
/// Values become what they are on the wire, as in MutatingAdmissionPolicy: timestamps and bytes become strings, integers beyond
/// ±(2^53 - 1) too, typed objects become maps.
///
/// # Errors
/// When the value is not a list of operations, an operation lacks something or has a value without JSON form, or a limit of this
/// module is exceeded.
pub fn parse_operations<'a>(patch: &Value<'a>, arena: &'a Arena) -> Result<&'a [Operation<'a>], PatchError> {
    let mut room = MAX_PATCH_BYTES;
    read(patch, arena, |value| as_json(value, &mut room, arena))
}

/// Reads a patch from the JSON text of a rule. Values are kept as they are written.
///
/// # Errors
/// As [`parse_operations`], and when the text is not JSON.
pub fn parse_patch<'a>(json: &'a str, arena: &'a Arena) -> Result<&'a [Operation<'a>], PatchError> {
    let patch = document::parse(json, arena, Options::default())
        .map_err(|error| PatchError::whole(Cause::Json(error)))?;
    read(&patch, arena, Ok)
}

/// Writes operations as the JSON array that an AdmissionResponse carries in base64.
///
/// # Errors
/// When there are more than [`MAX_OPERATIONS`], or more than [`MAX_PATCH_BYTES`] bytes.
pub fn write_operations(operations: &[Operation<'_>]) -> Result<Vec<u8>, PatchError> {
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::whole(Cause::TooManyOperations(operations.len())));
    }
    let mut out = vec![b'['];
    for (index, operation) in operations.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_operation(operation, &mut out).map_err(|cause| PatchError {
            index: Some(index),
            op: operation.op(),
            path: operation.path().to_owned(),
            cause,
        })?;
    }
    out.push(b']');
    if out.len() > MAX_PATCH_BYTES {
        return Err(PatchError::whole(Cause::PatchTooLarge));
    }
    Ok(out)
}

fn write_operation(operation: &Operation<'_>, out: &mut Vec<u8>) -> Result<(), Cause> {
    let path = Value::String(operation.path());
    let from = operation.from().map(Value::String);
    out.extend_from_slice(b"{\"op\":\"");
    out.extend_from_slice(operation.op().as_bytes());
    out.push(b'"');
    for (name, value) in [("from", from.as_ref()), ("path", Some(&path)), ("value", operation.value())] {
        let Some(value) = value else { continue };
        out.extend_from_slice(b",\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        let options = WriteOptions {
            limit: MAX_PATCH_BYTES.saturating_sub(out.len()),
            // As the API server writes the object, or a `test` of a string with `<` would fail there.
            escape_html: true,
            ..WriteOptions::default()
        };
        document::write(value, out, options).map_err(cause_of)?;
    }
    out.push(b'}');
    Ok(())
}

fn read<'a>(
    patch: &Value<'a>,
    arena: &'a Arena,
    mut convert: impl FnMut(Value<'a>) -> Result<Value<'a>, Cause>,
) -> Result<&'a [Operation<'a>], PatchError> {
    let Value::List(items) = patch else {
        return Err(PatchError::whole(Cause::NotAList(kind(patch))));
    };
    if items.len() > MAX_OPERATIONS {
        return Err(PatchError::whole(Cause::TooManyOperations(items.len())));
    }
    let full = |_| PatchError::whole(Cause::Memory);
    let mut operations = arena.list(items.len()).map_err(full)?;
    for (index, item) in items.iter().enumerate() {
        let operation = read_operation(item, &mut convert).map_err(|(op, path, cause)| PatchError {
            index: Some(index),
            op,
            path,
            cause,
        })?;
        operations.push(operation).map_err(full)?;
    }
    Ok(operations.finish())
}

fn read_operation<'a>(
    item: &Value<'a>,
    convert: &mut impl FnMut(Value<'a>) -> Result<Value<'a>, Cause>,
) -> Result<Operation<'a>, (&'static str, String, Cause)> {
    let member = |name: &str| match item {
        Value::Map(map) => Some(map.field(name).copied()),
        Value::Object(object) => Some(object.field(name).copied()),
        _ => None,
    };
    let text = |name: &'static str| match member(name) {
        Some(Some(Value::String(text))) => Ok(text),
        Some(None | Some(Value::Null)) => Err(Cause::MissingMember(name)),
        Some(Some(other)) => Err(Cause::MemberType(name, kind(&other))),
        None => Err(Cause::NotAnOperation(kind(item))),
    };
    let op = match text("op").map_err(|cause| ("", String::new(), cause))? {
        "add" => "add",
        "remove" => "remove",
        "replace" => "replace",
        "move" => "move",
        "copy" => "copy",
        "test" => "test",
        other => return Err(("", String::new(), Cause::UnknownOp(other.to_owned()))),
    };
    let path = text("path").map_err(|cause| (op, String::new(), cause))?;
    let at_path = |cause| (op, path.to_owned(), cause);
    let from = || text("from").map_err(at_path);
    let mut value = || convert(member("value").flatten().unwrap_or(Value::Null)).map_err(at_path);
    Ok(match op {
        "add" => Operation::Add { path, value: value()? },
        "replace" => Operation::Replace { path, value: value()? },
        "test" => Operation::Test { path, value: value()? },
        "move" => Operation::Move { from: from()?, path },
        "copy" => Operation::Copy { from: from()?, path },
        _ => Operation::Remove { path },
    })
}

/// A value of an expression as the API server will read it. `room` is how many bytes may still be written.
fn as_json<'a>(value: Value<'a>, room: &mut usize, arena: &'a Arena) -> Result<Value<'a>, Cause> {
    if let Value::Null | Value::Bool(_) | Value::String(_) = value {
        return Ok(value);
    }
    let mut text = Vec::new();
    let options =
        WriteOptions { large_integers: LargeIntegers::AsStrings, limit: *room, ..WriteOptions::default() };
    document::write(&value, &mut text, options).map_err(cause_of)?;
    *room -= text.len();
    let text = arena.alloc_str(&String::from_utf8_lossy(&text)).map_err(|_| Cause::Memory)?;
    document::parse(text, arena, Options::default()).map_err(|error| match error.kind {
        document::JsonErrorKind::Memory => Cause::Memory,
        _ => Cause::Json(error),
    })
}

fn cause_of(error: WriteError) -> Cause {
    match error {
        WriteError::TooLarge { .. } => Cause::PatchTooLarge,
        other => Cause::Value(other),
    }
}
