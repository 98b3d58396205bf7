//! The API server's library is the reference: its answers, seen by running it, stand in `tests/library.jsonl` and in the corpus.

mod corpus;
mod limits;
mod messages;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value as Json;
use serde_json::value::RawValue;
use usher_cel::document::{Options, WriteOptions, parse, write};
use usher_cel::{Arena, Value};

use super::*;

fn patched(document: &str, patch: &str) -> Result<String, PatchError> {
    let arena = Arena::default();
    let document = parse(document, &arena, Options::default()).expect("the document is JSON");
    let operations = parse_patch(patch, &arena)?;
    // What goes on the wire is read there, so it must mean the same.
    let wire = String::from_utf8(write_operations(operations)?).expect("JSON is UTF-8");
    let result = apply(document, operations, &arena).map(|value| written(&value));
    let again = apply(document, parse_patch(&wire, &arena)?, &arena).map(|value| written(&value));
    assert_eq!(result, again, "written as {wire}");
    result
}

fn written(value: &Value<'_>) -> String {
    let mut out = Vec::new();
    write(value, &mut out, WriteOptions::default()).expect("documents can be written");
    String::from_utf8(out).expect("JSON is UTF-8")
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn every_answer_is_that_of_the_api_servers_library() {
    #[derive(Deserialize)]
    struct Row<'a> {
        #[serde(borrow)]
        doc: &'a RawValue,
        #[serde(borrow)]
        patch: &'a RawValue,
        result: Option<Json>,
        error: Option<String>,
    }
    let rows = include_str!("tests/library.jsonl");
    assert!(rows.lines().count() > 200);
    for line in rows.lines() {
        let row: Row<'_> = serde_json::from_str(line).expect("a row");
        match (patched(row.doc.get(), row.patch.get()), row.result, row.error) {
            (Ok(ours), Some(theirs), None) => assert_eq!(json(&ours), theirs, "{line}"),
            (Err(error), None, Some(theirs)) => {
                assert_eq!(error.is_test_failed(), theirs == "test failed", "{line}: {error}");
                assert_eq!(error.cause == Cause::NullInList, theirs == "panic", "{line}: {error}");
            }
            (ours, ..) => panic!("{line}: {ours:?}"),
        }
    }
}

proptest! {
    #[test]
    fn an_escaped_key_names_that_key(key in "[~/01a-]{0,8}|\\PC{0,12}", other in "[~/01]{0,4}") {
        let arena = Arena::default();
        let path = format!("/{}/{}", escape_key(&key), escape_key(&other));
        let document = Json::from_iter([(key.clone(), Json::from_iter([(other.clone(), 1)]))]).to_string();
        let document = parse(&document, &arena, Options::default()).unwrap();
        let test = [Operation::Test { path: &path, value: Value::Int(1) }];
        prop_assert!(apply(document, &test, &arena).is_ok());
        let change = [Operation::Replace { path: &path, value: Value::Int(2) }];
        let changed = json(&written(&apply(document, &change, &arena).unwrap()));
        prop_assert_eq!(&changed[&key][&other], 2);
        let remove = [Operation::Remove { path: &path }];
        let removed = json(&written(&apply(document, &remove, &arena).unwrap()));
        prop_assert_eq!(removed, Json::from_iter([(key, Json::Object(Default::default()))]));
    }

    #[test]
    fn no_patch_of_any_kind_panics(document in "\\PC{0,20}", patch in "\\PC{0,40}") {
        let arena = Arena::default();
        if let (Ok(document), Ok(operations)) = (parse(&document, &arena, Options::default()), parse_patch(&patch, &arena)) {
            let _ = apply(document, operations, &arena);
        }
    }
}

#[test]
fn values_of_an_expression_become_what_they_are_on_the_wire() {
    let arena = Arena::default();
    let labels = usher_cel::eval::Object {
        type_name: "Object.metadata",
        fields: &[
            ("at", Value::Duration(1_500_000_000)),
            ("big", Value::Int(1 << 60)),
            ("whole", Value::Double(1.0)),
        ],
    };
    let operation = usher_cel::eval::Object {
        type_name: "JSONPatch",
        fields: &[
            ("op", Value::String("add")),
            ("path", Value::String("/metadata")),
            ("value", Value::Object(&labels)),
        ],
    };
    let patch = [Value::Object(&operation)];
    let operations = parse_operations(&Value::List(&patch), &arena).unwrap();
    let wire =
        r#"[{"op":"add","path":"/metadata","value":{"at":"1.5s","big":"1152921504606846976","whole":1}}]"#;
    assert_eq!(String::from_utf8(write_operations(operations).unwrap()).unwrap(), wire);
    let document = parse("{}", &arena, Options::default()).unwrap();
    assert_eq!(
        written(&apply(document, operations, &arena).unwrap()),
        r#"{"metadata":{"at":"1.5s","big":"1152921504606846976","whole":1}}"#
    );
}

#[test]
fn literal_values_keep_every_digit() {
    assert_eq!(
        patched("{}", r#"[{"op":"add","path":"/n","value":[9007199254740993,1e21]}]"#).unwrap(),
        r#"{"n":[9007199254740993,1e+21]}"#
    );
}

#[test]
fn what_a_patch_does_not_touch_is_shared_and_keeps_its_order() {
    let arena = Arena::default();
    let document = parse(r#"{"z":{"deep":[1,2,3]},"a":{"y":1,"x":2}}"#, &arena, Options::default()).unwrap();
    let operations = parse_patch(
        r#"[{"op":"add","path":"/a/c","value":3},{"op":"add","path":"/a/b","value":4},{"op":"remove","path":"/a/y"},{"op":"replace","path":"/a/x","value":5}]"#,
        &arena,
    )
    .unwrap();
    let result = apply(document, operations, &arena).unwrap();
    assert_eq!(written(&result), r#"{"z":{"deep":[1,2,3]},"a":{"x":5,"c":3,"b":4}}"#);
    let list = |value: Value<'_>| match value {
        Value::Map(map) => match map.field("z") {
            Some(Value::Map(map)) => match map.field("deep") {
                Some(Value::List(items)) => items.as_ptr() as usize,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(list(result), list(document));
    assert_eq!(written(&document), r#"{"z":{"deep":[1,2,3]},"a":{"y":1,"x":2}}"#);
}

#[test]
fn strings_are_written_so_that_a_test_of_them_passes_there() {
    let arena = Arena::default();
    let operations = [Operation::Test { path: "/a", value: Value::String("<a href=\"&\">\u{2028}") }];
    assert_eq!(
        String::from_utf8(write_operations(&operations).unwrap()).unwrap(),
        r#"[{"op":"test","path":"/a","value":"\u003ca href=\"\u0026\"\u003e\u2028"}]"#
    );
    let document = parse(r#"{"a":"<a href=\"&\">\u2028"}"#, &arena, Options::default()).unwrap();
    assert!(apply(document, &operations, &arena).is_ok());
}
