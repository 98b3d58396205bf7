//! What counts as equal for `test`.

use usher_cel::Value;
use usher_cel::document::{WriteOptions, write};

use super::error::Cause;

/// Whether two values are equal for the API server's JSON Patch library: scalars as they are written (`1` and `1.0` are written alike,
/// 2^60 as int and as double are not), objects by member, lists by item. Unlike CEL's `==`, and unlike RFC 6902.
///
/// # Errors
/// When null has to be compared inside a list: the library crashes there.
pub(super) fn same<'a>(a: &Value<'a>, b: &Value<'a>) -> Result<bool, Cause> {
    let mut pending = vec![Pair { a: *a, b: *b, in_list: false }];
    while let Some(Pair { a, b, in_list }) = pending.pop() {
        let equal = match (a, b) {
            (Value::Null, _) | (_, Value::Null) if in_list => return Err(Cause::NullInList),
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
            (Value::Int(_), Value::Double(_)) | (Value::Double(_), Value::Int(_)) => {
                written(&a)? == written(&b)?
            }
            (Value::List(a), Value::List(b)) if a.len() == b.len() => {
                // The first item on top: a difference before the null is found first, there as here.
                let items = a.iter().zip(b).rev();
                pending.extend(items.map(|(a, b)| Pair { a: *a, b: *b, in_list: true }));
                true
            }
            (Value::Map(a), Value::Map(b)) if a.len() == b.len() => a.entries().iter().all(|entry| {
                let other = b.get(&entry.key);
                pending.extend(other.map(|other| Pair { a: entry.value, b: *other, in_list: false }));
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

struct Pair<'a> {
    a: Value<'a>,
    b: Value<'a>,
    in_list: bool,
}

fn written(number: &Value<'_>) -> Result<Vec<u8>, Cause> {
    let mut text = Vec::new();
    write(number, &mut text, WriteOptions::default()).map_err(Cause::Value)?;
    Ok(text)
}
