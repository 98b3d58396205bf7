//! Properties against serde_json, and the places where Kubernetes' decoder decides otherwise.

mod limits;
mod parsing;
mod scanning;
mod writing;

use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;
use crate::eval::{Arena, Value};

const SKIPPING: Options = Options { skip_managed_fields: true, is_checked: false };

/// A list of a value with such leaves, without white space; `text` is the pattern of its keys.
pub(super) fn json_of(
    leaf: impl Strategy<Value = String> + 'static,
    text: &'static str,
) -> impl Strategy<Value = String> {
    let tree = leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((text, inner), 0..6).prop_map(|members| {
                let members = members.iter().map(|(key, value)| format!("\"{key}\":{value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    });
    tree.prop_map(|value| format!("[{value}]"))
}

/// The reference's view of a value.
fn to_json(value: &Value<'_>) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(bool) => Json::from(*bool),
        Value::Int(int) => Json::from(*int),
        Value::Double(double) => Json::from(*double),
        Value::String(text) => Json::from(*text),
        Value::List(items) => Json::Array(items.iter().map(to_json).collect()),
        Value::Map(map) => Json::Object(
            map.entries()
                .iter()
                .map(|entry| match entry.key {
                    Value::String(key) => (key.to_owned(), to_json(&entry.value)),
                    other => panic!("{other:?} is no key of a document"),
                })
                .collect(),
        ),
        other => panic!("{other:?} is nothing that a document can hold"),
    }
}

/// serde_json keeps integers up to 2^64; Kubernetes makes doubles of those beyond 2^63.
fn as_kubernetes_reads(json: Json) -> Json {
    match json {
        Json::Number(number) if number.is_u64() && !number.is_i64() => {
            Json::from(number.as_f64().expect("an integer is a double"))
        }
        // The reference reads `-0` as a double.
        Json::Number(number) if number.to_string() == "-0.0" => Json::from(0),
        Json::Array(items) => items.into_iter().map(as_kubernetes_reads).collect(),
        Json::Object(members) => {
            members.into_iter().map(|(key, value)| (key, as_kubernetes_reads(value))).collect()
        }
        other => other,
    }
}

fn written(value: &Value<'_>) -> String {
    let mut out = Vec::new();
    write(value, &mut out, WriteOptions::default()).expect("a document can be written");
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Any JSON value of moderate size, with repeated keys as unlikely as they are in life.
fn any_json() -> impl Strategy<Value = Json> {
    let number = prop_oneof![
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        (-100_i64..100).prop_map(Json::from),
        proptest::num::f64::NORMAL.prop_map(Json::from),
    ];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        number,
        any::<String>().prop_map(Json::from),
        "[a-z\"\\\\\n\u{1}é😀]{0,20}".prop_map(Json::from),
    ];
    leaf.prop_recursive(6, 200, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..20).prop_map(Json::Array),
            prop::collection::vec(("[a-z\\\\\"]{0,3}", inner), 0..20)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

/// Text that is JSON, or nearly.
fn nearly_json() -> impl Strategy<Value = String> {
    let tokens = prop::collection::vec(
        prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\"a\"",
            "\"\\u00e9\"",
            "\\",
            "0",
            "-",
            "1",
            "12",
            ".5",
            "e3",
            "E-2",
            "true",
            "false",
            "null",
            "nul",
            " ",
            "\n",
            "\u{b}",
            "\t",
            "é",
            "\u{0}",
            "\"\\x\"",
            "\"\\u12\"",
            "{\"a\":",
            "\"b\":[",
            "-0",
            "01",
            "\"\u{1f}\"",
            "+",
        ]),
        0..12,
    )
    .prop_map(|tokens| tokens.concat());
    let mutated = (
        any_json(),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        "[\\[\\]{}:,\"\\\\0-9eE.+ntf -]{0,2}",
    )
        .prop_map(|(json, from, to, insert)| {
            let text = json.to_string();
            let characters: Vec<char> = text.chars().collect();
            let from = from.index(characters.len() + 1);
            let to = (from + to.index(3)).min(characters.len());
            let mut mutated: String = characters[..from].iter().collect();
            mutated.push_str(&insert);
            mutated.extend(&characters[to..]);
            mutated
        });
    prop_oneof![tokens, mutated]
}
