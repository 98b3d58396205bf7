use super::*;

fn cause(document: &str, patch: &str) -> Cause {
    patched(document, patch).expect_err(patch).cause
}

#[test]
fn ten_thousand_operations_are_taken_and_one_more_is_not() {
    let patch = |operations: usize| {
        let one = r#"{"op":"add","path":"/l/-","value":1}"#;
        format!("[{}]", vec![one; operations].join(","))
    };
    let result = patched(r#"{"l":[]}"#, &patch(MAX_OPERATIONS)).unwrap();
    assert_eq!(json(&result)["l"].as_array().unwrap().len(), MAX_OPERATIONS);
    assert_eq!(cause("{}", &patch(MAX_OPERATIONS + 1)), Cause::TooManyOperations(MAX_OPERATIONS + 1));
    let arena = Arena::default();
    let operation = Operation::Remove { path: "/a" };
    assert!(write_operations(&vec![operation; MAX_OPERATIONS + 1]).is_err());
    let map = parse(r#"{"op":"remove","path":"/a"}"#, &arena, Options::default()).unwrap();
    assert!(parse_operations(&Value::List(&vec![map; MAX_OPERATIONS + 1]), &arena).is_err());
}

#[test]
fn a_patch_larger_than_a_request_body_is_refused() {
    let text = "x".repeat(MAX_PATCH_BYTES - 40);
    let arena = Arena::default();
    let fits = [Operation::Add { path: "/a", value: Value::String(&text) }];
    assert!(write_operations(&fits).unwrap().len() <= MAX_PATCH_BYTES);
    let escaped = "<".repeat(MAX_PATCH_BYTES / 6);
    for operations in [
        vec![fits[0]; 2],
        vec![Operation::Add { path: "/a", value: Value::String(&escaped) }],
        vec![Operation::Remove { path: &text }; 2],
    ] {
        assert_eq!(write_operations(&operations).unwrap_err().cause, Cause::PatchTooLarge);
    }
    // A value of an expression that shares its parts is small in memory and has no end as text.
    let mut value = Value::String("x");
    for _ in 0..60 {
        value = Value::List(arena.alloc_slice(&[value, value]).unwrap());
    }
    let operation = usher_cel::eval::Object {
        type_name: "JSONPatch",
        fields: &[("op", Value::String("add")), ("path", Value::String("/a")), ("value", value)],
    };
    let error = parse_operations(&Value::List(&[Value::Object(&operation)]), &arena).unwrap_err();
    assert_eq!(error.cause, Cause::PatchTooLarge);
}

#[test]
fn copies_may_add_as_much_as_the_api_server_allows() {
    let document = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 2));
    let once = r#"[{"op":"copy","from":"/a","path":"/b"}]"#;
    let twice = r#"[{"op":"copy","from":"/a","path":"/b"},{"op":"copy","from":"/a","path":"/c"}]"#;
    assert!(patched(&document(MAX_COPY_BYTES), once).is_ok());
    assert_eq!(cause(&document(MAX_COPY_BYTES + 1), once), Cause::CopiesTooLarge);
    assert!(patched(&document(MAX_COPY_BYTES / 2), twice).is_ok());
    assert_eq!(cause(&document(MAX_COPY_BYTES / 2 + 1), twice), Cause::CopiesTooLarge);
    // Each copy doubles the document: without the limit it would have no end.
    let doubling = format!("[{}]", vec![r#"{"op":"copy","from":"/a","path":"/a/-"}"#; 100].join(","));
    assert_eq!(cause(r#"{"a":["xxxxxxxxxx"]}"#, &doubling), Cause::CopiesTooLarge);
}

#[test]
fn depth_costs_no_stack() {
    let levels = 9_900;
    let arena = Arena::default();
    let document = format!("{}{}{}", r#"{"a":"#.repeat(levels), "{}", "}".repeat(levels));
    let document = parse(&document, &arena, Options::default()).unwrap();
    let path = "/a".repeat(levels);
    let below = format!("{path}/b");
    let operations = [
        Operation::Add { path: &below, value: Value::Int(1) },
        Operation::Test { path: &below, value: Value::Int(1) },
        Operation::Copy { from: "/a", path: "/b" },
        Operation::Move { from: "/b", path: "/c" },
        Operation::Test { path: "/c/a", value: Value::Null },
        Operation::Remove { path: &below },
    ];
    let error = apply(document, &operations, &arena).unwrap_err();
    assert_eq!((error.index, error.cause), (Some(4), Cause::TestFailed));
    let without_test = [&operations[..4], &operations[5..]].concat();
    let result = apply(document, &without_test, &arena).unwrap();
    let Value::Map(map) = result else { panic!("{result:?}") };
    assert!(!equality::same(map.field("a").unwrap(), map.field("c").unwrap()).unwrap());
}

#[test]
fn a_full_arena_is_an_error() {
    let arena = Arena::with_limit(30_000);
    let document = format!("[{}]", vec!["0"; 500].join(","));
    let document = parse(&document, &arena, Options::default()).unwrap();
    let operations =
        [Operation::Add { path: "/-", value: Value::Null }, Operation::Test { path: "", value: Value::Null }];
    let error = apply(document, &[operations[0]; 100], &arena)
        .and_then(|document| apply(document, &[operations[0]; 100], &arena));
    assert_eq!(error.unwrap_err().cause, Cause::Memory);
}

#[test]
fn operations_in_front_of_a_long_list_are_stopped() {
    let document = format!(r#"{{"l":[{}]}}"#, vec!["0"; 300_000].join(","));
    for one in [r#"{"op":"add","path":"/l/0","value":1}"#, r#"{"op":"remove","path":"/l/0"}"#] {
        let patch = |operations: usize| format!("[{}]", vec![one; operations].join(","));
        assert!(patched(&document, &patch(300)).is_ok());
        assert_eq!(cause(&document, &patch(400)), Cause::TooManyMoves);
    }
    // Appending moves nothing.
    let append = vec![r#"{"op":"add","path":"/l/-","value":1}"#; MAX_OPERATIONS].join(",");
    assert!(patched(&document, &format!("[{append}]")).is_ok());
}
