use super::*;

#[test]
fn an_error_names_operation_path_cause_and_way_out() {
    let document = r#"{"a":{"s":"text","l":[1,2],"n":null}}"#;
    for (patch, expected) in [
        (
            "{",
            "JSON Patch: invalid JSON at byte 1: found the end of the text, expected a string as key, or `}`",
        ),
        (r#"{"op":"add"}"#, "JSON Patch: a patch is a list of operations, not an object"),
        ("[1]", "JSON Patch operation 0: an operation is an object with `op` and `path`, not a number"),
        (r#"[{"op":"remove","path":"/a"},{"path":"/a"}]"#, "JSON Patch operation 1: `op` is missing"),
        (
            r#"[{"op":"Add","path":"/a"}]"#,
            r#"JSON Patch operation 0: unknown op "Add": use add, remove, replace, move, copy or test"#,
        ),
        (r#"[{"op":"add"}]"#, "JSON Patch operation 0 (add): `path` is missing"),
        (r#"[{"op":"add","path":7}]"#, "JSON Patch operation 0 (add): `path` must be a string, not a number"),
        (r#"[{"op":"copy","path":"/b"}]"#, "JSON Patch operation 0 (copy /b): `from` is missing"),
        (
            r#"[{"op":"add","path":"","value":{}}]"#,
            "JSON Patch operation 0 (add): only `replace` and `test` can be applied to the whole document: name a member, such as /metadata",
        ),
        (
            r#"[{"op":"add","path":"a","value":{}}]"#,
            "JSON Patch operation 0 (add a): a path starts with `/`, for example /metadata/labels",
        ),
        (
            r#"[{"op":"replace","path":"","value":1}]"#,
            "JSON Patch operation 0 (replace): the whole document can only be replaced by an object or a list",
        ),
        (
            r#"[{"op":"add","path":"/a/x/y","value":1}]"#,
            "JSON Patch operation 0 (add /a/x/y): there is nothing at /a/x: add that first",
        ),
        (
            r#"[{"op":"add","path":"/a/n/y","value":1}]"#,
            "JSON Patch operation 0 (add /a/n/y): there is nothing at /a/n: add that first",
        ),
        (
            r#"[{"op":"add","path":"/a/s/y","value":1}]"#,
            "JSON Patch operation 0 (add /a/s/y): the value at /a/s is a string, which has no members",
        ),
        (
            r#"[{"op":"test","path":"/a/s/y","value":1}]"#,
            "JSON Patch operation 0 (test /a/s/y): the value at /a/s is a string, which has no members",
        ),
        (
            r#"[{"op":"test","path":"/a/s/y/z","value":1}]"#,
            "JSON Patch operation 0 (test /a/s/y/z): the value at /a/s is a string, which has no members",
        ),
        (
            r#"[{"op":"remove","path":"/a/x"}]"#,
            "JSON Patch operation 0 (remove /a/x): there is no such member to remove: make the operation depend on has()",
        ),
        (
            r#"[{"op":"move","from":"/a/x","path":"/b"}]"#,
            "JSON Patch operation 0 (move /a/x): there is no such member to remove: make the operation depend on has()",
        ),
        (
            r#"[{"op":"add","path":"/a/l/x","value":1}]"#,
            r#"JSON Patch operation 0 (add /a/l/x): "x" is no index of the list: use a number, or `-` to append"#,
        ),
        (
            r#"[{"op":"remove","path":"/a/l/2"}]"#,
            "JSON Patch operation 0 (remove /a/l/2): index 2 is out of range: the list has 2 items",
        ),
        (
            r#"[{"op":"test","path":"/a/s","value":1}]"#,
            "JSON Patch operation 0 (test /a/s): the value there is not the one to test for",
        ),
        (
            r#"[{"op":"test","path":"/a/l","value":[1,null]}]"#,
            "JSON Patch operation 0 (test /a/l): the API server cannot compare lists that contain null: test their other items one by one",
        ),
    ] {
        assert_eq!(patched(document, patch).unwrap_err().to_string(), expected, "{patch}");
    }
    let error = patched("3", r#"[{"op":"add","path":"/a","value":1}]"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "JSON Patch operation 0 (add /a): only an object or a list can be patched, not a number"
    );
}

#[test]
fn paths_from_outside_are_escaped_and_cut_in_messages() {
    let path = format!("/a\u{1b}[31m\n{}", "x".repeat(1000));
    let arena = Arena::default();
    let document = parse("{}", &arena, Options::default()).unwrap();
    let text = apply(document, &[Operation::Remove { path: &path }], &arena).unwrap_err().to_string();
    assert!(text.starts_with("JSON Patch operation 0 (remove /a\\u{1b}[31m\\nxxx"), "{text}");
    assert!(text.contains("xxx…)") && text.len() < 400, "{text}");
}
