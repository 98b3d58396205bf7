use rstest::rstest;
use serde_json::{Value as Json, json};
use usher_cel::document::{Options, WriteOptions, parse, write};
use usher_cel::eval::{Arena, Entry, Map, Object, Value};

use super::*;
use crate::engine::patch;

mod properties;

/// What a merge comes to: the object afterwards and the operations.
fn merge(live: &Json, patch: &Json) -> Result<(Json, Json), MergeError> {
    let arena = Arena::default();
    let live = value(live, &arena);
    let Value::Map(fields) = value(patch, &arena) else { panic!("a patch is an object") };
    let fields: Vec<_> = fields
        .entries()
        .iter()
        .map(|entry| match entry.key {
            Value::String(key) => (key, entry.value),
            _ => panic!("keys of JSON are strings"),
        })
        .collect();
    let configuration = Object { type_name: "Object", fields: arena.alloc_slice(&fields).unwrap() };
    let merged = apply_configuration(live, &Value::Object(&configuration), NO_KIND, &arena)?;
    let applied = patch::apply(live, &merged.operations, &arena).expect("the operations apply");
    assert_eq!(written(&applied), written(&merged.object), "the operations make the merged object");
    let operations = patch::write_operations(&merged.operations).unwrap();
    Ok((written(&merged.object), serde_json::from_slice(&operations).unwrap()))
}

const NO_KIND: GroupVersionKind<'static> = GroupVersionKind { group: "", version: "v1", kind: "" };

fn value<'a>(json: &Json, arena: &'a Arena) -> Value<'a> {
    parse(arena.alloc_str(&json.to_string()).unwrap(), arena, Options::default()).unwrap()
}

fn written(value: &Value<'_>) -> Json {
    let mut text = Vec::new();
    write(value, &mut text, WriteOptions::default()).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn pod(spec: Json) -> Json {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
}

fn containers(names: &[&str]) -> Json {
    let containers: Vec<_> = names.iter().map(|name| json!({"name": name, "image": "i"})).collect();
    json!({"containers": containers})
}

#[rstest]
#[case::a_scalar_is_overwritten(json!({"hostname": "a"}), json!({"hostname": "b"}), json!([{"op": "replace", "path": "/spec/hostname", "value": "b"}]))]
#[case::a_scalar_that_is_there_already_is_no_change(json!({"priority": 1}), json!({"priority": 1}), json!([]))]
#[case::a_new_field_is_added(json!({}), json!({"hostname": "b"}), json!([{"op": "add", "path": "/spec/hostname", "value": "b"}]))]
#[case::null_gives_way(json!({"hostname": null}), json!({"hostname": "b"}), json!([{"op": "replace", "path": "/spec/hostname", "value": "b"}]))]
#[case::a_struct_is_merged_by_field(
    json!({"securityContext": {"runAsUser": 1}}),
    json!({"securityContext": {"runAsNonRoot": true}}),
    json!([{"op": "add", "path": "/spec/securityContext/runAsNonRoot", "value": true}])
)]
#[case::an_empty_struct_changes_nothing(json!({"securityContext": {"runAsUser": 1}}), json!({"securityContext": {}}), json!([]))]
#[case::an_empty_struct_is_added(json!({}), json!({"securityContext": {}}), json!([{"op": "add", "path": "/spec/securityContext", "value": {}}]))]
#[case::a_granular_map_is_merged_by_key(
    json!({"overhead": {"cpu": "1", "a/b": "1"}}),
    json!({"overhead": {"a/b": "2", "memory": "1"}}),
    json!([
        {"op": "replace", "path": "/spec/overhead/a~1b", "value": "2"},
        {"op": "add", "path": "/spec/overhead/memory", "value": "1"},
    ])
)]
#[case::items_of_a_list_are_merged_by_key(
    containers(&["a", "b"]),
    json!({"containers": [{"name": "b", "image": "new", "tty": true}]}),
    json!([
        {"op": "replace", "path": "/spec/containers/1/image", "value": "new"},
        {"op": "add", "path": "/spec/containers/1/tty", "value": true},
    ])
)]
#[case::a_new_item_comes_last(containers(&["a"]), json!({"containers": [{"name": "b"}]}), json!([{"op": "add", "path": "/spec/containers/1", "value": {"name": "b"}}]))]
#[case::a_new_item_comes_before_the_one_that_it_stands_before(
    containers(&["a", "b", "c"]),
    json!({"containers": [{"name": "x"}, {"name": "b", "image": "new"}]}),
    json!([
        {"op": "add", "path": "/spec/containers/1", "value": {"name": "x"}},
        {"op": "replace", "path": "/spec/containers/2/image", "value": "new"},
    ])
)]
#[case::items_take_the_order_of_the_patch(
    json!({"volumes": [{"name": "a"}, {"name": "b"}]}),
    json!({"volumes": [{"name": "b"}, {"name": "a"}]}),
    json!([{"op": "replace", "path": "/spec/volumes", "value": [{"name": "b"}, {"name": "a"}]}])
)]
#[case::a_default_is_a_key(
    json!({"containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}]}]}),
    json!({"containers": [{"name": "a", "ports": [{"containerPort": 80, "name": "http"}]}]}),
    json!([{"op": "add", "path": "/spec/containers/0/ports/0/name", "value": "http"}])
)]
#[case::repeated_items_of_the_object_give_way(
    json!({"volumes": [{"name": "a", "csi": {}}, {"name": "a"}, {"name": "b"}]}),
    json!({"volumes": [{"name": "a", "emptyDir": {}}]}),
    json!([{"op": "replace", "path": "/spec/volumes", "value": [{"name": "a", "emptyDir": {}}, {"name": "b"}]}])
)]
#[case::repeated_items_stay_when_the_patch_has_others(
    json!({"volumes": [{"name": "a"}, {"name": "a"}]}),
    json!({"volumes": [{"name": "b"}]}),
    json!([{"op": "add", "path": "/spec/volumes/2", "value": {"name": "b"}}])
)]
#[case::an_empty_list_changes_nothing(containers(&["a"]), json!({"containers": []}), json!([]))]
fn fields_of_a_pod_are_merged(#[case] live: Json, #[case] patch: Json, #[case] expected: Json) {
    let (_, operations) = merge(&pod(live), &json!({"spec": patch})).unwrap();
    assert_eq!(operations, expected);
}

#[test]
fn a_set_gets_what_it_does_not_have() {
    let mut live = pod(json!({}));
    live["metadata"]["finalizers"] = json!(["a", "b"]);
    let (_, operations) = merge(&live, &json!({"metadata": {"finalizers": ["c", "b"]}})).unwrap();
    assert_eq!(operations, json!([{"op": "add", "path": "/metadata/finalizers/1", "value": "c"}]));
}

#[test]
fn group_version_and_kind_stay_whatever_the_patch_says() {
    let patch = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"hostname": "a"}});
    let (object, operations) = merge(&pod(json!({})), &patch).unwrap();
    assert_eq!(object["kind"], "Pod");
    assert_eq!(operations, json!([{"op": "add", "path": "/spec/hostname", "value": "a"}]));
}

#[test]
fn the_kind_of_the_request_counts_when_the_object_has_none() {
    let arena = Arena::default();
    let kind = GroupVersionKind { group: "apps", version: "v1", kind: "Deployment" };
    let configuration = Object {
        type_name: "Object",
        fields: arena.alloc_slice(&[("nonsense", Value::Bool(true))]).unwrap(),
    };
    let result = apply_configuration(value(&json!({}), &arena), &Value::Object(&configuration), kind, &arena);
    assert!(result.unwrap_err().to_string().ends_with(".nonsense: field not declared in schema"));
}

const PATCH: &str = "error applying patch: failed to convert patch object to typed object: ";
const ATOMIC: &str =
    "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ";

#[rstest]
#[case::an_atomic_list(json!({"spec": {"containers": [{"name": "a", "args": ["x"]}]}}), ATOMIC, ".spec.containers[0].args")]
#[case::an_atomic_map(json!({"spec": {"nodeSelector": {"a": "b"}}}), ATOMIC, ".spec.nodeSelector")]
#[case::an_atomic_struct(
    json!({"spec": {"volumes": [{"name": "a", "configMap": {"name": "x", "items": []}}], "tolerations": []}}),
    ATOMIC,
    ".spec.volumes[0].configMap.items, .spec.tolerations"
)]
#[case::an_unknown_field(json!({"spec": {"host": 1}}), PATCH, ".spec.host: field not declared in schema")]
#[case::another_scalar(json!({"spec": {"hostname": 1}}), PATCH, ".spec.hostname: expected string, got int")]
#[case::no_number(json!({"spec": {"priority": "1"}}), PATCH, ".spec.priority: expected numeric (int or float), got string")]
#[case::a_scalar_for_a_struct(json!({"spec": 1}), PATCH, ".spec: expected map, got int")]
#[case::a_scalar_for_a_list(json!({"spec": {"containers": "a"}}), PATCH, ".spec.containers: expected list, got string")]
#[case::a_map_for_a_scalar(json!({"spec": {"hostname": {}}}), PATCH, ".spec.hostname: expected string, got map")]
#[case::an_item_twice(
    json!({"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}),
    PATCH,
    ".spec.containers: duplicate entries for key [name=\"a\"]"
)]
#[case::an_item_that_is_none(json!({"spec": {"containers": ["a"]}}), PATCH, ".spec.containers: element 0: associative list with keys may not have non-map elements")]
#[case::null(json!({"spec": {"hostname": null}}), PATCH, ".spec.hostname: null cannot be merged: leave the field out")]
#[case::several_faults(
    json!({"spec": {"hostname": 1}, "status": {"phase": 2}}),
    PATCH,
    "errors:\n  .spec.hostname: expected string, got int\n  .status.phase: expected string, got int"
)]
fn a_patch_that_may_not_be_merged_is_an_error(
    #[case] patch: Json,
    #[case] begins: &str,
    #[case] expected: &str,
) {
    let error = merge(&pod(containers(&["a"])), &patch).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{begins}{expected}")), "{error}");
}

#[test]
fn an_item_without_any_key_is_an_error() {
    let live = json!({"apiVersion": "v1", "kind": "ServiceAccount"});
    let error = merge(&live, &json!({"secrets": [{"namespace": "n"}]})).unwrap_err().to_string();
    let expected = ".secrets: element 0: associative list with keys has an element that omits all key fields [\"name\"] \
                    (and doesn't have default values for any key fields)";
    assert_eq!(error, format!("{PATCH}{expected}"));
}

#[test]
fn a_live_list_that_cannot_be_merged_with_is_an_error() {
    let live = pod(json!({"containers": [{"name": "a"}, null]}));
    let error = merge(&live, &json!({"spec": {"containers": [{"name": "a"}]}})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error applying patch: failed to convert original object to typed object: .spec.containers: element 1: \
         associative list with keys may not have a null element"
    );
}

#[test]
fn a_kind_without_a_schema_has_granular_maps_and_atomic_lists() {
    let live = json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"finalizers": ["a"]},
        "spec": {"a": {"b": 1, "c": [1]}, "d": "text"},
    });
    let patch = json!({"metadata": {"finalizers": ["b"]}, "spec": {"a": {"b": 2, "e": true}, "d": {"f": 1}}});
    let (object, operations) = merge(&live, &patch).unwrap();
    assert_eq!(object["spec"], json!({"a": {"b": 2, "c": [1], "e": true}, "d": {"f": 1}}));
    assert_eq!(object["metadata"]["finalizers"], json!(["a", "b"]));
    let paths: Vec<_> =
        operations.as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/metadata/finalizers/1", "/spec/a/b", "/spec/a/e", "/spec/d"]);
    let error = merge(&live, &json!({"spec": {"a": {"c": [2]}}})).unwrap_err().to_string();
    assert_eq!(error, format!("{ATOMIC}.spec.a.c"));
}

#[test]
fn a_patch_may_be_deep_but_not_without_end() {
    let arena = Arena::default();
    // As text: the reader of the tests' own JSON stops at 128.
    let merge = |live: usize, patch: usize| {
        let nested = |depth: usize| {
            let spec = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
            parse(arena.alloc_str(&spec).unwrap(), &arena, Options::default()).unwrap()
        };
        let widget = value(&json!({"apiVersion": "example.com/v1", "kind": "Widget"}), &arena);
        let Value::Map(widget) = widget else { unreachable!() };
        let mut entries = widget.entries().to_vec();
        entries.push(Entry { key: Value::String("spec"), value: nested(live) });
        let live = Value::Map(Map::new(arena.alloc_slice(&entries).unwrap(), &arena).unwrap());
        let fields = arena.alloc_slice(&[("spec", nested(patch))]).unwrap();
        let configuration = Object { type_name: "Object", fields };
        apply_configuration(live, &Value::Object(&configuration), NO_KIND, &arena)
            .map(|merged| merged.operations.len())
    };
    assert_eq!(merge(0, 250), Ok(1));
    assert_eq!(merge(249, 250), Ok(1));
    assert_eq!(merge(250, 250), Ok(0));
    assert_eq!(merge(9_000, 250), Ok(1));
    assert_eq!(merge(0, 300), Err(MergeError::TooDeep));
}

/// Made by `tests/cluster/schema`.
#[test]
fn random_merges_give_what_structured_merge_diff_gives() {
    let cases: Vec<Json> =
        include_str!("tests/cases.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cases.len() >= 200);
    for case in cases {
        let result = merge(&case["live"], &case["patch"]);
        match (case["error"].as_str(), result) {
            (None, Ok((object, _))) => {
                assert_eq!(object, case["expected"], "{case}");
                assert_eq!(merge(&object, &case["patch"]).unwrap().1, json!([]), "merged again: {case}");
            }
            (Some("invalid"), Err(MergeError::Patch(_))) | (Some("atomic"), Err(MergeError::Atomic(_))) => {}
            (_, result) => panic!("{case}: {result:?}"),
        }
    }
}
