use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;

/// The schema of one version of the definition, as JSON.
fn root_schema() -> Value {
    let definition = serde_json::to_value(crd()).unwrap();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

fn walk(path: &str, schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(&format!("{path}.{name}"), property, visit);
    }
    if schema["items"].is_object() {
        walk(&format!("{path}[]"), &schema["items"], visit);
    }
    if schema["additionalProperties"].is_object() {
        walk(&format!("{path}{{}}"), &schema["additionalProperties"], visit);
    }
}

/// Every schema below `spec` and `status`; the API server owns the rest.
fn walk_ours(visit: &mut dyn FnMut(&str, &Value)) {
    let root = root_schema();
    for part in ["spec", "status"] {
        walk(part, &root["properties"][part], visit);
    }
}

#[test]
fn every_string_list_and_map_has_a_bound() {
    let mut unbounded = Vec::new();
    let mut seen = 0;
    walk_ours(&mut |path, schema| {
        seen += 1;
        let bounded = match schema["type"].as_str() {
            Some("string") => {
                schema["maxLength"].is_u64() || schema["enum"].is_array() || schema["format"] == "date-time"
            }
            Some("array") => schema["maxItems"].is_u64(),
            Some("object") => schema["additionalProperties"].is_null() || schema["maxProperties"].is_u64(),
            Some("integer" | "number" | "boolean") => true,
            _ => schema["x-kubernetes-preserve-unknown-fields"] == true,
        };
        if !bounded {
            unbounded.push(path.to_owned());
        }
    });
    assert!(seen > 100, "only {seen} schemas were looked at");
    assert_eq!(unbounded, Vec::<String>::new());
}

#[test]
fn every_field_is_described_for_kubectl_explain() {
    let mut silent = Vec::new();
    walk_ours(&mut |path, schema| {
        let item = path.ends_with("[]") || path.ends_with("{}");
        if !item && schema["description"].as_str().is_none_or(|text| text.len() < 5) {
            silent.push(path.to_owned());
        }
    });
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn the_schema_uses_only_what_a_structural_schema_may_use() {
    let mut odd = Vec::new();
    walk_ours(&mut |path, schema| {
        for word in ["oneOf", "anyOf", "allOf", "not", "$ref", "title", "nullable", "uniqueItems", "const"] {
            if !schema[word].is_null() {
                odd.push(format!("{path}: {word}"));
            }
        }
        if let Some(format) = schema["format"].as_str()
            && !["int32", "int64", "date-time"].contains(&format)
        {
            odd.push(format!("{path}: format {format}"));
        }
    });
    assert_eq!(odd, Vec::<String>::new());
}

#[test]
fn named_lists_are_maps_by_name_for_server_side_apply() {
    let root = root_schema();
    for list in ["routes", "variables", "matchConditions", "tests"] {
        let schema = &root["properties"]["spec"]["properties"][list];
        assert_eq!(schema["x-kubernetes-list-type"], "map", "{list}");
        assert_eq!(schema["x-kubernetes-list-map-keys"], json!(["name"]), "{list}");
        let required = schema["items"]["required"].as_array().unwrap();
        assert!(required.contains(&json!("name")), "{list}: a map key must be required");
    }
}

#[test]
fn exclusive_choices_are_refused_by_the_api_server() {
    let mut rules = Vec::new();
    walk_ours(&mut |path, schema| {
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            assert!(
                rule["message"].as_str().is_some_and(|m| !m.is_empty()),
                "{path}: a rule without message"
            );
            rules.push(path.to_owned());
        }
    });
    for place in ["spec", "spec.routes[]", "spec.routes[].mutate", "spec.routes[].warn", "spec.params"] {
        assert!(rules.iter().any(|r| r == place), "no rule at {place}");
    }
}

#[test]
fn optional_choices_have_their_documented_defaults_in_the_schema() {
    let spec = &root_schema()["properties"]["spec"]["properties"];
    assert_eq!(spec["mode"]["default"], "Enforce");
    assert_eq!(spec["failurePolicy"]["default"], "Fail");
    assert_eq!(spec["priority"]["default"], 0);
    assert_eq!(spec["match"]["properties"]["matchPolicy"]["default"], "Equivalent");
    assert_eq!(spec["params"]["properties"]["notFound"]["default"], "Deny");
    assert_eq!(spec["routes"]["items"]["properties"]["pass"]["properties"]["scope"]["default"], "Rule");
    assert_eq!(spec["mode"]["enum"], json!(["Enforce", "Warn", "Audit", "Shadow", "Disabled"]));
}

#[test]
fn the_definition_is_cluster_scoped_and_easy_to_list() {
    let definition = crd();
    assert_eq!(definition.metadata.name.as_deref(), Some("routingrules.usher.dev"));
    assert_eq!(definition.spec.scope, "Cluster");
    assert_eq!(definition.spec.names.short_names, Some(vec!["rr".to_owned()]));
    assert_eq!(definition.spec.names.categories, Some(vec!["usher".to_owned()]));
    let version = &definition.spec.versions[0];
    assert!(version.subresources.as_ref().is_some_and(|s| s.status.is_some()));
    let columns: Vec<&str> =
        version.additional_printer_columns.iter().flatten().map(|c| c.name.as_str()).collect();
    assert_eq!(columns, ["Priority", "Mode", "Phase", "Ready", "Acknowledged", "Age"]);
}

#[test]
fn a_rule_with_every_field_survives_a_round_trip() {
    let rule = json!({
        "apiVersion": "usher.dev/v1alpha1",
        "kind": "RoutingRule",
        "metadata": {"name": "images"},
        "spec": {
            "priority": 100,
            "mode": "Warn",
            "failurePolicy": "Ignore",
            "description": "fixed tags",
            "match": {
                "resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["*"], "resources": ["pods"],
                    "operations": ["CREATE", "UPDATE"], "resourceNames": ["a"], "scope": "Namespaced",
                }],
                "excludeResourceRules": [{
                    "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"], "scope": "*",
                }],
                "namespaceSelector": {"matchLabels": {"a": "b"}},
                "objectSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
                "matchPolicy": "Exact",
            },
            "matchConditions": [{"name": "c", "expression": "true"}],
            "params": {"apiVersion": "v1", "kind": "ConfigMap", "name": "n", "namespace": "ns", "notFound": "Allow"},
            "variables": [{"name": "v", "expression": "1"}],
            "routes": [
                {"name": "r", "predicate": "true",
                 "reject": {"message": "m", "messageExpression": "'m'", "reason": "Invalid", "code": 422}},
                {"name": "m1", "predicate": "true", "mutate": {"jsonPatch": "[]"}},
                {"name": "m2", "predicate": "true", "mutate": {"applyConfiguration": "Object{}"}},
                {"name": "m3", "predicate": "true", "mutate": {"patches": [
                    {"op": "add", "path": "/a", "value": {"b": [1, 2.5, null]}},
                    {"op": "move", "path": "/a", "from": "/b"},
                ]}},
                {"name": "p", "predicate": "true",
                 "pass": {"scope": "All", "auditAnnotations": [{"key": "k", "valueExpression": "'v'"}]}},
                {"name": "w", "predicate": "true", "warn": {"message": "m"}},
                {"name": "a", "predicate": "true", "audit": {"annotations": [{"key": "k", "valueExpression": "'v'"}]}},
                {"name": "t", "predicate": "true",
                 "throttle": {"requests": 1, "period": "1s", "burst": 2, "keyExpression": "'k'", "message": "m"}},
                {"name": "f", "predicate": "true",
                 "forward": {"phase": "Mutating", "service": {"namespace": "n", "name": "s", "path": "/p", "port": 443},
                             "caBundle": "QQ==", "timeoutSeconds": 5, "failurePolicy": "Fail"}},
            ],
            "tests": [{
                "name": "t", "phase": "Validating", "operation": "UPDATE",
                "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
                "subresource": "scale", "object": {"kind": "A"}, "oldObject": {"kind": "B"},
                "requestName": "n", "namespace": "ns", "namespaceLabels": {"a": "b"}, "user": "u", "groups": ["g"],
                "dryRun": true, "params": [{"kind": "ConfigMap"}],
                "expect": {"decision": "deny", "route": "r", "message": "m", "warnings": ["w"],
                           "auditAnnotations": {"k": "v"}, "patched": {"a": 1}},
            }],
        },
        "status": {
            "phase": "Warn", "observedGeneration": 2, "servedGeneration": 1, "acknowledged": "3/3",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z",
                            "reason": "Served", "message": ""}],
            "diagnostics": [{"severity": "Error", "code": "U0103", "field": "spec", "line": 1, "column": 2,
                             "message": "m"}],
            "cost": {"estimated": 7},
        },
    });
    let typed: RoutingRule = serde_json::from_value(rule.clone()).unwrap();
    assert_eq!(serde_json::to_value(&typed).unwrap(), rule);
}

#[test]
fn a_mutating_policy_of_any_version_is_read() {
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let policy: MutatingAdmissionPolicy = serde_json::from_value(json!({
            "apiVersion": format!("admissionregistration.k8s.io/{version}"),
            "kind": "MutatingAdmissionPolicy",
            "metadata": {"name": "p"},
            "spec": {
                "matchConstraints": {"resourceRules": [{"apiGroups": [""], "resources": ["pods"]}]},
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}],
                "reinvocationPolicy": "IfNeeded",
            },
        }))
        .unwrap();
        assert_eq!(policy.spec.mutations[0].patch_type, PatchType::JsonPatch);
        assert_eq!(policy.spec.reinvocation_policy, Some(ReinvocationPolicy::IfNeeded));
    }
}

#[test]
fn the_stored_definition_is_what_the_types_generate() {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/crd/usher.dev_routingrules.yaml");
    let generated = crd_yaml().unwrap();
    if std::env::var_os("UPDATE_CRD").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &generated).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == generated,
        "deploy/crd/usher.dev_routingrules.yaml does not fit the types in src/api; bring it up to date with \
         `UPDATE_CRD=1 cargo test -p usher --lib the_stored_definition` or `usher crd > deploy/crd/usher.dev_routingrules.yaml`"
    );
}
