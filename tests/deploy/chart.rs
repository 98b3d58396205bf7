//! What only the chart has: values with a schema, hooks, notes.

use serde_json::{Value, json};

use super::rendering::{LintMessage, deploy, helm, helm_in, lint};

fn refused(values: &Value) -> String {
    helm_in("usher-system", "1.37.2", values).expect_err(&values.to_string())
}

#[test]
fn helm_finds_nothing_to_complain_about() {
    let icon = LintMessage { severity: "info".to_owned(), text: "icon is recommended".to_owned() };
    assert_eq!(lint(&json!({})), [icon]);
}

#[test]
fn a_value_that_is_misspelt_or_of_a_wrong_type_is_refused_with_its_place() {
    for (values, told) in [
        (json!({"replicas": 2}), "additional properties 'replicas' not allowed"),
        (json!({"image": {"name": "x"}}), "additional properties 'name' not allowed"),
        (json!({"replicaCount": "3"}), "at '/replicaCount': got string, want integer"),
        (json!({"replicaCount": 0}), "at '/replicaCount': minimum: got 0, want 1"),
        (json!({"certs": {"mode": "none"}}), "at '/certs/mode': value must be one of"),
        (json!({"image": {"digest": "sha256:0"}}), "at '/image/digest'"),
        (json!({"resources": {"limits": {"memory": "much"}}}), "at '/resources/limits/memory'"),
        (json!({"resources": {"limits": {"gpu": 1}}}), "additional properties 'gpu' not allowed"),
        (json!({"resources": {"limits": {"memory": null}}}), "missing property 'memory'"),
        (
            json!({"networkPolicy": {"controlPlaneCIDRs": ["10.0.0.1"]}}),
            "at '/networkPolicy/controlPlaneCIDRs/0'",
        ),
        (json!({"networkPolicy": {"apiServerPorts": []}}), "at '/networkPolicy/apiServerPorts'"),
        (json!({"nodeSelector": {"a": 1}}), "at '/nodeSelector/a'"),
        (json!({"tolerations": [{"kez": "a"}]}), "additional properties 'kez' not allowed"),
        (json!({"memoryLimit": "64MB"}), "at '/memoryLimit'"),
    ] {
        let error = refused(&values);
        assert!(error.contains(told), "{values}: {error}");
    }
}

#[test]
fn values_that_do_not_go_together_are_refused_with_the_reason() {
    for (values, told) in [
        (json!({"rules": {"source": "files"}}), "rules.files needs a file with rules"),
        (
            json!({"rules": {"source": "files", "files": {"a.yaml": "{}"}}, "admissionPolicies": true}),
            "admissionPolicies needs rules.source: cluster",
        ),
        (json!({"rules": {"files": {"a.yaml": "{}"}}}), "rules.files needs rules.source: files"),
        (
            json!({"autoscaling": {"enabled": true, "minReplicas": 5, "maxReplicas": 4}}),
            "autoscaling.maxReplicas is less than autoscaling.minReplicas",
        ),
        (
            json!({"image": {"tag": "1", "digest": format!("sha256:{}", "0".repeat(64))}}),
            "image.tag and image.digest exclude each other",
        ),
    ] {
        let error = refused(&values);
        assert!(error.contains(told), "{values}: {error}");
    }
}

#[test]
fn an_older_kubernetes_is_refused_and_the_oldest_is_not() {
    let error = helm_in("usher-system", "1.29.9", &json!({})).unwrap_err();
    assert!(error.contains("1.30.0") && error.contains("1.29.9"), "{error}");
    helm_in("usher-system", "1.30.0", &json!({})).unwrap();
}

/// Every schema of an object says which keys there may be.
#[test]
fn the_schema_is_closed_everywhere() {
    /// Maps whose keys are for users to choose; their values have a type.
    const MAPS: &[&str] = &["/rules/files", "/nodeSelector", "/podAnnotations", "/metrics/labels"];
    /// Whatever a parent chart has, which Helm passes on.
    const FOREIGN: &str = "/global";
    fn walk(schema: &Value, path: &str, open: &mut Vec<String>) {
        if schema["type"] == "object" && schema["additionalProperties"] != false {
            open.push(path.to_owned());
            assert!(path == FOREIGN || schema["additionalProperties"]["type"] == "string", "{path}");
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            walk(property, &format!("{path}/{name}"), open);
        }
        if let Some(items) = schema.get("items") {
            walk(items, &format!("{path}/*"), open);
        }
    }
    let mut open = Vec::new();
    walk(&schema(), "", &mut open);
    open.sort();
    let mut expected: Vec<&str> = MAPS.iter().chain([&FOREIGN]).copied().collect();
    expected.sort_unstable();
    assert_eq!(open, expected);
}

fn schema() -> Value {
    let text = std::fs::read(deploy().join("chart/values.schema.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn defaults() -> Value {
    let text = std::fs::read(deploy().join("chart/values.yaml")).unwrap();
    usher::source::read_values("values.yaml", &text).unwrap().remove(0).0
}

/// Dotted name, default and description of each value, in the order of the schema.
fn documented(schema: &Value, defaults: &Value, name: &str, rows: &mut Vec<String>) {
    let Some(properties) = schema["properties"].as_object() else {
        let default = if defaults.is_null() { "not set".to_owned() } else { format!("`{defaults}`") };
        let description = schema["description"].as_str().unwrap_or_else(|| panic!("{name} is not described"));
        rows.push(format!("| `{name}` | {default} | {description} |"));
        return;
    };
    for (key, property) in properties {
        let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
        documented(property, &defaults[key], &name, rows);
    }
}

#[test]
fn the_table_of_values_in_the_readme_is_that_of_the_schema() {
    let mut schema = schema();
    schema["properties"].as_object_mut().unwrap().remove("global");
    let mut rows = Vec::new();
    documented(&schema, &defaults(), "", &mut rows);
    rows.sort();
    let table = format!("| value | default | meaning |\n| --- | --- | --- |\n{}\n", rows.join("\n"));
    let path = deploy().join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once("<!-- values -->\n").unwrap();
    let (written, after) = rest.split_once("<!-- end of values -->").unwrap();
    if std::env::var_os("UPDATE_VALUES").is_some() {
        let text = format!("{before}<!-- values -->\n{table}<!-- end of values -->{after}");
        return std::fs::write(path, text).unwrap();
    }
    assert_eq!(
        written, table,
        "bring it up to date with `UPDATE_VALUES=1 cargo test --test it the_table_of_values`"
    );
}

#[test]
fn every_default_is_in_the_schema_and_the_other_way_round() {
    fn names(value: &Value, schema: &Value, path: &str, all: &mut Vec<String>) {
        match (value.as_object(), schema["properties"].as_object()) {
            (Some(object), Some(properties)) => {
                for key in object.keys() {
                    assert!(properties.contains_key(key), "{path}.{key} is not in the schema");
                }
                for (key, property) in properties {
                    names(
                        &object.get(key).cloned().unwrap_or_default(),
                        property,
                        &format!("{path}.{key}"),
                        all,
                    );
                }
            }
            _ if value.is_null() => all.push(path.to_owned()),
            _ => {}
        }
    }
    let mut without = Vec::new();
    names(&defaults(), &schema(), "", &mut without);
    assert_eq!(without, [".resources.limits.cpu", ".global"], "values without a default");
}

#[test]
fn each_value_does_what_it_says() {
    let deployment = |values: Value| helm(&values).objects.remove("Deployment/usher").unwrap();
    let digest = format!("sha256:{}", "a".repeat(64));
    for (values, pointer, expected) in [
        (
            json!({"image": {"repository": "r/u", "tag": "2"}}),
            "/spec/template/spec/containers/0/image",
            json!("r/u:2"),
        ),
        (
            json!({"image": {"digest": digest}}),
            "/spec/template/spec/containers/0/image",
            json!(format!("usher@{digest}")),
        ),
        (
            json!({"imagePullSecrets": [{"name": "s"}]}),
            "/spec/template/spec/imagePullSecrets",
            json!([{"name": "s"}]),
        ),
        (json!({"replicaCount": 5}), "/spec/replicas", json!(5)),
        (
            json!({"tolerations": [{"key": "k", "operator": "Exists"}]}),
            "/spec/template/spec/tolerations/0/key",
            json!("k"),
        ),
        (json!({"nodeSelector": {"a": "b"}}), "/spec/template/spec/nodeSelector", json!({"a": "b"})),
        (json!({"podAnnotations": {"a": "b"}}), "/spec/template/metadata/annotations", json!({"a": "b"})),
        (
            json!({"memoryLimit": "100Mi"}),
            "/spec/template/spec/containers/0/args/6",
            json!("--memory-limit=100Mi"),
        ),
        (
            json!({"logLevel": "info,usher=debug"}),
            "/spec/template/spec/containers/0/args/6",
            json!("--log-level=info,usher=debug"),
        ),
        (json!({"logFormat": "text"}), "/spec/template/spec/containers/0/args/6", json!("--log-format=text")),
        (
            json!({"certs": {"secretName": "s"}}),
            "/spec/template/spec/volumes/0/secret/secretName",
            json!("s"),
        ),
        (json!({"priorityClassName": "p"}), "/spec/template/spec/priorityClassName", json!("p")),
    ] {
        assert_eq!(deployment(values.clone()).pointer(pointer), Some(&expected), "{values}");
    }
    let crds = |crds: Value| {
        helm(&json!({"crds": crds})).objects.remove("CustomResourceDefinition/routingrules.usher.dev")
    };
    assert!(crds(json!({"enabled": false})).is_none());
    assert!(crds(json!({"keep": false})).unwrap()["metadata"]["annotations"].is_null());
    let labelled =
        helm(&json!({"metrics": {"podMonitor": true, "rules": true, "labels": {"release": "p"}}})).objects;
    for name in ["PodMonitor/usher", "PrometheusRule/usher"] {
        assert_eq!(labelled[name]["metadata"]["labels"]["release"], "p", "{name}");
    }
}

#[test]
fn the_notes_say_what_comes_next() {
    for (values, told, untold) in [
        (json!({}), "create secret generic usher-tls", "webhook-config"),
        (json!({}), "kubectl wait --for=condition=Ready", "webhook-config"),
        (json!({"certs": {"mode": "certManager"}}), "rollout status deployment/usher", "create secret"),
        (
            json!({"rules": {"source": "files", "files": {"a.yaml": "{}"}}}),
            "usher webhook-config",
            "kubectl wait --for=condition=Ready",
        ),
    ] {
        let notes = helm(&values).notes;
        assert!(notes.contains(told) && !notes.contains(untold), "{values}: {notes}");
    }
}

/// With hooks of a wrong kind or order the rules that fail closed would outlive the server.
#[test]
fn uninstalling_runs_the_command_before_and_after_with_rights_of_its_own() {
    let hooks = helm(&json!({})).hooks;
    let names: Vec<&str> = hooks.keys().map(String::as_str).collect();
    let of_uninstall: Vec<&str> =
        names.into_iter().filter(|name| name.ends_with("/usher-uninstall")).collect();
    assert_eq!(
        of_uninstall,
        [
            "ClusterRole/usher-uninstall",
            "ClusterRoleBinding/usher-uninstall",
            "Job/usher-uninstall",
            "Role/usher-uninstall",
            "RoleBinding/usher-uninstall",
            "ServiceAccount/usher-uninstall",
        ]
    );
    let weight = |name: &str| -> i32 {
        let annotations = &hooks[name]["metadata"]["annotations"];
        assert_eq!(annotations["helm.sh/hook"], "pre-delete,post-delete", "{name}");
        assert_eq!(
            annotations["helm.sh/hook-delete-policy"], "before-hook-creation,hook-succeeded",
            "{name}"
        );
        annotations["helm.sh/hook-weight"].as_str().unwrap().parse().unwrap()
    };
    let job = weight("Job/usher-uninstall");
    for name in of_uninstall {
        let is_before = weight(name) < job;
        assert_eq!(is_before, !name.starts_with("Job/"), "{name} must be there before the Job that needs it");
    }
    let pod = hooks["Job/usher-uninstall"].pointer("/spec/template/spec").unwrap();
    assert_eq!(pod["containers"][0]["args"], json!(["uninstall", "--own-namespace=usher-system"]));
    assert_eq!(pod["serviceAccountName"], "usher-uninstall");
}

#[test]
fn helm_test_asks_the_service_with_the_authority_and_without_the_key() {
    let values =
        json!({"certs": {"secretName": "s"}, "networkPolicy": {"controlPlaneCIDRs": ["10.0.0.0/28"]}});
    let release = helm(&values);
    let test = &release.hooks["Pod/usher-test"];
    assert_eq!(test["metadata"]["annotations"]["helm.sh/hook"], "test");
    let container = &test["spec"]["containers"][0];
    let flags = ["ping", "https://usher.usher-system.svc", "--ca-file=/etc/usher/tls/ca.crt"];
    assert_eq!(container["args"], json!(flags));
    assert_eq!(container["image"], "usher:0.1.0");
    let secret =
        json!({"secretName": "s", "defaultMode": 0o440, "items": [{"key": "ca.crt", "path": "ca.crt"}]});
    assert_eq!(test["spec"]["volumes"][0]["secret"], secret);
    assert_eq!(test["spec"]["automountServiceAccountToken"], false);
    // It is let in where only the control plane is, and the Service does not take it for a replica.
    let label = json!({"app.kubernetes.io/name": "usher-test"});
    let from = &release.objects["NetworkPolicy/usher"]["spec"]["ingress"][0]["from"];
    assert_eq!(from[1]["podSelector"]["matchLabels"], label);
    assert_eq!(test["metadata"]["labels"]["app.kubernetes.io/name"], label["app.kubernetes.io/name"]);
}
