//! What tells the items of a list apart.

use std::fmt::Write as _;

use usher_cel::document::{WriteOptions, write};
use usher_cel::eval::Value;

use super::error::Fault;
use super::schema::{Items, ListType};

/// The identity of an item: equal texts, equal items. Also how it is shown: `[name="a",port=80]`, `[="a"]`.
pub(super) type Key = String;

/// The identities of the items of a list of type `map` or `set`.
///
/// # Errors
/// The first item that has none.
pub(super) fn keys(ty: &ListType, items: &[Value<'_>]) -> Result<Vec<Key>, Fault> {
    let key = |(index, item): (usize, &Value<'_>)| {
        let key = match &ty.items {
            Items::Map(names) => keyed(ty, names, item),
            Items::Set | Items::Atomic => member(item),
        };
        key.map_err(|message| Fault::new(format!("element {index}: {message}")))
    };
    items.iter().enumerate().map(key).collect()
}

fn keyed(ty: &ListType, names: &[&'static str], item: &Value<'_>) -> Result<Key, String> {
    let item = match item {
        Value::Map(item) => item,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let fields = ty.element.resolve().map.as_ref();
    let mut found: Vec<(&str, Value<'_>)> = names
        .iter()
        .filter_map(|name| {
            // An absent key without a default makes another key than any value of it.
            let default = || fields.and_then(|fields| fields.field(name)).and_then(|field| field.default);
            Some((*name, item.field(name).copied().or_else(default)?))
        })
        .collect();
    if found.is_empty() {
        let names = names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(" ");
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{names}] (and doesn't have default \
             values for any key fields)"
        ));
    }
    found.sort_unstable_by_key(|(name, _)| *name);
    let mut key = String::from("[");
    for (index, (name, value)) in found.iter().enumerate() {
        let separator = if index > 0 { "," } else { "" };
        let _ = write!(key, "{separator}{name}={}", shown(value));
    }
    key.push(']');
    Ok(key)
}

fn member(item: &Value<'_>) -> Result<Key, String> {
    match item {
        Value::Map(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::List(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        scalar => Ok(format!("[={}]", shown(scalar))),
    }
}

/// Numbers that are equal are shown alike whatever their type; strings are quoted, so nothing else is.
fn shown(value: &Value<'_>) -> String {
    if let Value::Double(double) = value
        && double.fract() == 0.0
        && double.abs() < 9.0e15
    {
        return (*double as i64).to_string();
    }
    let mut text = Vec::new();
    match write(value, &mut text, WriteOptions::default()) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) => error.to_string(),
    }
}
