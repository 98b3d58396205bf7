//! Values with their type, as the corpus writes them: `{"t": "int", "v": "1"}`.

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use usher_cel::document::{self, LargeIntegers, WriteOptions};
use usher_cel::eval::{Arena, Entry, Map, Value};

/// Reads a typed value into the arena.
pub(crate) fn read<'a>(typed: &Json, arena: &'a Arena) -> Result<Value<'a>> {
    let kind = typed.get("t").and_then(Json::as_str).context("a value without type")?;
    let value = typed.get("v").unwrap_or(&Json::Null);
    let text = || value.as_str().with_context(|| format!("{value} is no text"));
    let items = || value.as_array().with_context(|| format!("{value} is no list"));
    let memory = |error: Box<usher_cel::EvalError>| anyhow::anyhow!(error.message);
    Ok(match kind {
        "null" => Value::Null,
        "bool" => Value::Bool(value.as_bool().context("no bool")?),
        "int" => Value::Int(text()?.parse()?),
        "uint" => Value::Uint(text()?.parse()?),
        "double" => Value::Double(match text()? {
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            "NaN" => f64::NAN,
            number => number.parse()?,
        }),
        "string" => Value::String(arena.alloc_str(text()?).map_err(memory)?),
        "bytes" => Value::Bytes(arena.alloc_slice(&STANDARD.decode(text()?)?).map_err(memory)?),
        "type" => Value::Type(arena.alloc_str(text()?).map_err(memory)?),
        "list" => {
            let items: Vec<Value<'a>> =
                items()?.iter().map(|item| read(item, arena)).collect::<Result<_>>()?;
            Value::List(arena.alloc_slice(&items).map_err(memory)?)
        }
        "map" => {
            let entry = |pair: &Json| -> Result<Entry<'a>> {
                let [key, value] = &pair.as_array().context("no pair")?[..] else { bail!("no pair") };
                Ok(Entry { key: read(key, arena)?, value: read(value, arena)? })
            };
            let entries: Vec<Entry<'a>> = items()?.iter().map(entry).collect::<Result<_>>()?;
            let entries = arena.alloc_slice(&entries).map_err(memory)?;
            Value::Map(Map::new(entries, arena).map_err(memory)?)
        }
        other => bail!("no value of type {other} can be read"),
    })
}

/// Writes a value with its type.
pub(crate) fn write(value: &Value<'_>) -> Json {
    match value {
        Value::Null => json!({"t": "null", "v": null}),
        Value::Bool(value) => json!({"t": "bool", "v": value}),
        Value::Int(value) => json!({"t": "int", "v": value.to_string()}),
        Value::Uint(value) => json!({"t": "uint", "v": value.to_string()}),
        Value::Double(value) => json!({"t": "double", "v": double(*value)}),
        Value::String(value) => json!({"t": "string", "v": value}),
        Value::Bytes(value) => json!({"t": "bytes", "v": STANDARD.encode(value)}),
        Value::Timestamp(_) => json!({"t": "timestamp", "v": as_text(value)}),
        Value::Duration(_) => json!({"t": "duration", "v": as_text(value)}),
        Value::List(items) => json!({"t": "list", "v": items.iter().map(write).collect::<Vec<_>>()}),
        Value::Map(map) => {
            let entries = map.entries().iter().map(|entry| json!([write(&entry.key), write(&entry.value)]));
            json!({"t": "map", "v": entries.collect::<Vec<_>>()})
        }
        Value::Optional(value) => json!({"t": "optional", "v": value.map(write)}),
        Value::Type(name) => json!({"t": "type", "v": name}),
        Value::Object(object) => json!({"t": "object", "v": object.type_name}),
        Value::Opaque(opaque) => json!({"t": "object", "v": opaque.type_name()}),
    }
}

fn double(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        value => format!("{value:?}"),
    }
}

/// The text that stands for a value of a type without JSON form.
fn as_text(value: &Value<'_>) -> Json {
    let mut json = Vec::new();
    let options = WriteOptions { large_integers: LargeIntegers::Exact, limit: 1 << 10, ..WriteOptions::default() };
    document::write(value, &mut json, options)
        .ok()
        .and_then(|()| serde_json::from_slice(&json).ok())
        .unwrap_or_default()
}
