//! What counts as equal for `test`.

use usher_cel::Value;
use usher_cel::document::{WriteOptions, write};

use super::error::Cause;

/// Whether two values are equal for the API server's JSON Patch library: scalars as they are written (`1` and `1.0` are written alike,
/// 2^60 as int and as double are not), objects by member, lists by item. Unlike CEL's `==`, and unlike RFC 6902.
///
/// # Errors
/// When null has to be compared inside a list: the library crashes there.
pub(super) fn same(a: &Value<'_>, b: &Value<'_>) -> Result<bool, Cause> {
    let mut pending = vec![(*a, *b)];
    while let Some((a, b)) = pending.pop() {
        let equal = match (a, b) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
            (Value::Int(_), Value::Double(_)) | (Value::Double(_), Value::Int(_)) => {
                written(&a)? == written(&b)?
            }
            (Value::List(a), Value::List(b)) if a.len() == b.len() => {
                if a.iter().chain(b).any(|item| matches!(item, Value::Null)) {
                    return Err(Cause::NullInList);
                }
                pending.extend(a.iter().copied().zip(b.iter().copied()));
                true
            }
            (Value::Map(a), Value::Map(b)) if a.len() == b.len() => a.entries().iter().all(|entry| {
                let other = b.get(&entry.key);
                pending.extend(other.map(|other| (entry.value, *other)));
                other.is_some()
            }),
            _ => false,
        };
        if !equal {
            return Ok(false);
        }
    }
    Ok(true)
}

fn written(number: &Value<'_>) -> Result<Vec<u8>, Cause> {
    let mut text = Vec::new();
    write(number, &mut text, WriteOptions::default()).map_err(Cause::Value)?;
    Ok(text)
}
