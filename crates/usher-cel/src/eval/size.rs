//! Sizes and lengths as Kubernetes' cost model counts them (cel-go `interpreter/runtimecost.go`).

use super::value::Value;

/// The size of a value: code points of a string, bytes, elements, entries; 1 for everything that has no size.
pub fn actual_size(value: &Value<'_>) -> u64 {
    let size = match value {
        Value::String(text) => code_points(text),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.len(),
        Value::Optional(Some(held)) => return actual_size(held),
        Value::Opaque(opaque) => opaque.size(),
        _ => 1,
    };
    size as u64
}

/// Number of code points.
fn code_points(text: &str) -> usize {
    // `is_ascii` runs over words, so the common case costs next to nothing.
    if text.is_ascii() { text.len() } else { text.chars().count() }
}
