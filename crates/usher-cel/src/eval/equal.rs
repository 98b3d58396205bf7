//! CEL's equality: across numeric types, deep, without recursion.

use super::compare::compare_numbers;
use super::value::Value;

/// Whether two values are equal as CEL's `==` sees it: numbers by value whatever their type, lists by item, maps by entry; values of different types are not equal. NaN equals nothing.
pub fn equal<'a>(a: &Value<'a>, b: &Value<'a>) -> bool {
    // Scalars, the common case, need no stack.
    if let Some(answer) = equal_scalars(a, b) {
        return answer;
    }
    let mut pending: Vec<(Value<'a>, Value<'a>)> = vec![(*a, *b)];
    while let Some((a, b)) = pending.pop() {
        if let Some(answer) = equal_scalars(&a, &b) {
            if !answer {
                return false;
            }
            continue;
        }
        match (a, b) {
            (Value::List(a), Value::List(b)) => {
                if a.len() != b.len() {
                    return false;
                }
                pending.extend(a.iter().copied().zip(b.iter().copied()));
            }
            (Value::Map(a), Value::Map(b)) => {
                if a.len() != b.len() {
                    return false;
                }
                for entry in a.entries() {
                    match b.get(&entry.key) {
                        Some(other) => pending.push((entry.value, *other)),
                        None => return false,
                    }
                }
            }
            (Value::Optional(Some(a)), Value::Optional(Some(b))) => pending.push((*a, *b)),
            (Value::Object(a), Value::Object(b)) => {
                if a.type_name != b.type_name || a.fields.len() != b.fields.len() {
                    return false;
                }
                for (name, value) in a.fields {
                    match b.field(name) {
                        Some(other) => pending.push((*value, other)),
                        None => return false,
                    }
                }
            }
            _ => return false,
        }
    }
    true
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
