//! What a deployment has by default, so that it neither fails when a node does nor lets a compromised Pod do more than it must.

use serde_json::{Value, json};

use super::rendering::{Objects, combinations, helm, kustomize, values};

/// The value at a place of an object, which must be there.
fn at<'o>(objects: &'o Objects, name: &str, pointer: &str) -> &'o Value {
    let object = objects.get(name).unwrap_or_else(|| panic!("there is no {name}"));
    object.pointer(pointer).unwrap_or_else(|| panic!("{name} has nothing at {pointer}"))
}

fn both() -> [(&'static str, Objects); 2] {
    [("kustomize", kustomize(&[])), ("helm", helm(&json!({})).objects)]
}

#[test]
fn the_loss_of_a_node_or_a_rollout_leaves_replicas_that_answer() {
    for (by, objects) in both() {
        let deployment = |pointer: &str| at(&objects, "Deployment/usher", pointer);
        let pod = |pointer: &str| deployment(&format!("/spec/template/spec{pointer}")).clone();
        assert_eq!(deployment("/spec/replicas"), 3, "{by}");
        assert_eq!(
            deployment("/spec/strategy"),
            &json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
        );
        assert_eq!(deployment("/spec/minReadySeconds"), 5);
        assert_eq!(pod("/terminationGracePeriodSeconds"), 40);
        assert_eq!(pod("/priorityClassName"), "system-cluster-critical");
        let spread: Vec<(Value, Value)> = pod("/topologySpreadConstraints")
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["topologyKey"].clone(), one["whenUnsatisfiable"].clone()))
            .collect();
        let spread: Vec<(&str, &str)> =
            spread.iter().map(|(key, when)| (key.as_str().unwrap(), when.as_str().unwrap())).collect();
        assert_eq!(
            spread,
            [("kubernetes.io/hostname", "DoNotSchedule"), ("topology.kubernetes.io/zone", "ScheduleAnyway")]
        );
        let budget = |pointer| at(&objects, "PodDisruptionBudget/usher", pointer);
        assert_eq!(budget("/spec/maxUnavailable"), 1);
        assert_eq!(budget("/spec/unhealthyPodEvictionPolicy"), "AlwaysAllow");
    }
}

#[test]
fn every_container_is_restricted_in_every_combination() {
    for components in combinations() {
        let release = helm(&values(&components));
        let by_kustomize = kustomize(&components);
        let all = release.objects.iter().chain(&release.hooks).chain(&by_kustomize);
        let mut pods = 0;
        for (name, object) in all {
            let Some(pod) = pod_of(object) else { continue };
            pods += 1;
            let context = json!({"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"}});
            assert_eq!(pod["securityContext"], context, "{name}");
            assert_eq!(pod["enableServiceLinks"], false, "{name}");
            for container in pod["containers"].as_array().unwrap() {
                let context = json!({"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]}});
                assert_eq!(container["securityContext"], context, "{name}");
                let resources = &container["resources"];
                assert!(resources["limits"]["memory"].is_string(), "{name} has no limit of memory");
                assert!(resources["limits"]["cpu"].is_null(), "{name} is throttled");
            }
        }
        assert!(pods >= 3, "{pods}");
    }
}

/// The Pod that an object is or makes.
pub(crate) fn pod_of(object: &Value) -> Option<&Value> {
    match object["kind"].as_str().unwrap() {
        "Pod" => object.get("spec"),
        "Deployment" | "Job" => object.pointer("/spec/template/spec"),
        _ => None,
    }
}

#[test]
fn the_server_has_the_memory_that_is_documented() {
    for (by, objects) in both() {
        let resources = at(&objects, "Deployment/usher", "/spec/template/spec/containers/0/resources");
        let expected = json!({"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}});
        assert_eq!(resources, &expected, "{by}");
    }
}

#[test]
fn probes_ask_the_admin_port_and_only_readiness_may_depend_on_others() {
    for (by, objects) in both() {
        for (probe, path) in
            [("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")]
        {
            let pointer = format!("/spec/template/spec/containers/0/{probe}/httpGet");
            let asked = at(&objects, "Deployment/usher", &pointer);
            assert_eq!(asked, &json!({"path": path, "port": "admin"}), "{by}: {probe}");
        }
    }
}

#[test]
fn the_network_lets_in_reviews_and_out_to_the_api_server_and_names() {
    for (by, objects) in both() {
        let ingress = at(&objects, "NetworkPolicy/usher", "/spec/ingress");
        assert_eq!(ingress, &json!([{"ports": [{"port": "webhook", "protocol": "TCP"}]}]), "{by}");
        let egress = at(&objects, "NetworkPolicy/usher", "/spec/egress");
        let ports: Vec<&Value> = egress
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|rule| rule["ports"].as_array().unwrap().iter().map(|port| &port["port"]))
            .collect();
        assert_eq!(ports, [443, 6443, 53, 53], "{by}");
        assert_eq!(at(&objects, "NetworkPolicy/usher", "/spec/policyTypes"), &json!(["Ingress", "Egress"]));
    }
    let narrow = json!({"networkPolicy": {"controlPlaneCIDRs": ["10.0.0.0/28"], "apiServerCIDRs": ["10.0.0.1/32"],
        "apiServerPorts": [6443]}, "metrics": {"podMonitor": true, "namespace": "watch"}});
    let objects = helm(&narrow).objects;
    let rules = at(&objects, "NetworkPolicy/usher", "/spec");
    assert_eq!(rules["ingress"][0]["from"][0], json!({"ipBlock": {"cidr": "10.0.0.0/28"}}));
    let scraper = json!([{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "watch"}}}]);
    assert_eq!(rules["ingress"][1]["from"], scraper);
    assert_eq!(rules["egress"][0]["to"], json!([{"ipBlock": {"cidr": "10.0.0.1/32"}}]));
    assert_eq!(rules["egress"][0]["ports"], json!([{"port": 6443, "protocol": "TCP"}]));
    let open = helm(&json!({"networkPolicy": {"enabled": false}})).objects;
    assert!(!open.contains_key("NetworkPolicy/usher"));
}

#[test]
fn nothing_is_registered_by_the_manifests() {
    for components in combinations() {
        for name in kustomize(&components).keys() {
            assert!(!name.contains("WebhookConfiguration"), "{name} would fail closed before Usher answers");
        }
    }
}
