use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Map as JsonMap;

use super::*;

/// Containers with names that may repeat, and ports and variables of few names.
fn container(unique: bool) -> impl Strategy<Value = Json> {
    let port = (0..3_u8, prop::option::of(prop::sample::select(vec!["TCP", "UDP"])), any::<bool>());
    let ports = prop::collection::vec(port, 0..4);
    let env = prop::collection::vec(("[a-c]", "[xy]"), 0..4);
    ("[a-d]", prop::option::of("[ij]"), ports, env).prop_map(move |(name, image, ports, env)| {
        let mut container = JsonMap::new();
        container.insert("name".into(), json!(name));
        if let Some(image) = image {
            container.insert("image".into(), json!(image));
        }
        let ports = ports.into_iter().map(|(port, protocol, host)| {
            let mut made = json!({"containerPort": port});
            if let Some(protocol) = protocol {
                made["protocol"] = json!(protocol);
            }
            if host {
                made["hostPort"] = json!(port);
            }
            made
        });
        let key =
            |port: &Json| format!("{} {}", port["containerPort"], port["protocol"].as_str().unwrap_or("TCP"));
        container.insert("ports".into(), list(ports, key, unique));
        let env = env.into_iter().map(|(name, value)| json!({"name": name, "value": value}));
        container.insert("env".into(), list(env, name_of, unique));
        Json::Object(container)
    })
}

fn object(unique: bool) -> impl Strategy<Value = Json> {
    let containers = prop::collection::vec(container(unique), 0..5);
    let finalizers = prop::collection::vec("[a-e]", 0..5);
    let labels = prop::collection::btree_map("[a-c]/[~a]", "[xy]", 0..4);
    (containers, finalizers, labels).prop_map(move |(containers, finalizers, labels)| {
        let finalizers = list(finalizers.into_iter().map(Json::from), Json::to_string, unique);
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"labels": labels, "finalizers": finalizers},
            "spec": {"containers": list(containers.into_iter(), name_of, unique)},
        })
    })
}

fn list(items: impl Iterator<Item = Json>, key: impl Fn(&Json) -> String, unique: bool) -> Json {
    let mut seen = BTreeSet::new();
    items.filter(|item| seen.insert(key(item)) || !unique).collect()
}

fn name_of(item: &Json) -> String {
    item["name"].to_string()
}

/// Whether all that the patch says is so in the object, by position only where it has no names.
fn has_all(object: &Json, patch: &Json) -> bool {
    match (object, patch) {
        (Json::Object(object), Json::Object(patch)) => {
            patch.iter().all(|(key, value)| object.get(key).is_some_and(|found| has_all(found, value)))
        }
        (Json::Array(object), Json::Array(patch)) => {
            patch.iter().all(|item| object.iter().any(|found| has_all(found, item)))
        }
        _ => object == patch,
    }
}

fn names(object: &Json) -> BTreeSet<String> {
    object["spec"]["containers"].as_array().unwrap().iter().map(name_of).collect()
}

proptest! {
    /// `merge` itself compares the operations, applied to the object, with the merged object.
    #[test]
    fn a_merge_brings_all_of_the_patch_loses_nothing_and_is_done_at_once(live in object(false), patch in object(true)) {
        let (merged, operations) = merge(&live, &patch).unwrap();
        prop_assert!(has_all(&merged, &patch), "{merged}");
        prop_assert_eq!(names(&merged), names(&live).union(&names(&patch)).cloned().collect());
        for finalizer in live["metadata"]["finalizers"].as_array().unwrap() {
            prop_assert!(merged["metadata"]["finalizers"].as_array().unwrap().contains(finalizer));
        }
        for label in live["metadata"]["labels"].as_object().unwrap().keys() {
            prop_assert!(merged["metadata"]["labels"].get(label).is_some());
        }
        prop_assert_eq!(operations == json!([]), merged == live);
        prop_assert_eq!(merge(&merged, &patch).unwrap().1, json!([]), "merged again");
    }
}
