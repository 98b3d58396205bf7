//! The manifests for a cluster: they parse, what they refer to exists, and Usher itself keeps the rules that it ships.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::{Value, json};
use usher::api::RoutingRule;
use usher::rules::accept;
use usher::source::{Object, read_manifest, read_values};
use usher::webhook::{Endpoint, ServerArgs};

use crate::policies::{context, create, rule_set};

/// What is made by hand and only named: see deploy/README.md.
const MADE_BY_HAND: &[(&str, &str)] = &[("Secret", "usher-tls")];

#[test]
fn everything_that_the_deployment_names_exists() {
    let objects = objects("usher.yaml");
    let deployment = &objects["Deployment/usher"];
    let pod = &deployment["spec"]["template"]["spec"];
    let mut named = vec![("ServiceAccount", pod["serviceAccountName"].as_str().unwrap())];
    let volumes = pod["volumes"].as_array().unwrap();
    for volume in volumes {
        named.extend(volume["configMap"]["name"].as_str().map(|name| ("ConfigMap", name)));
        named.extend(volume["secret"]["secretName"].as_str().map(|name| ("Secret", name)));
    }
    assert_eq!(named.len(), 3);
    for reference in named {
        let (kind, name) = reference;
        let exists = objects.contains_key(&format!("{kind}/{name}")) || MADE_BY_HAND.contains(&reference);
        assert!(exists, "{kind} {name} does not exist");
    }
    let container = &pod["containers"][0];
    let mounted: Vec<&str> = strings(&container["volumeMounts"], "name");
    assert_eq!(mounted, strings(&pod["volumes"], "name"));

    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    for (owner, selector) in [
        ("Deployment/usher", "/spec/selector/matchLabels"),
        ("Service/usher", "/spec/selector"),
        ("PodDisruptionBudget/usher", "/spec/selector/matchLabels"),
        ("NetworkPolicy/usher", "/spec/podSelector/matchLabels"),
    ] {
        assert_eq!(objects[owner].pointer(selector), Some(labels), "the selector of {owner}");
    }
    let ports = strings(&container["ports"], "name");
    let used = [
        objects["Service/usher"].pointer("/spec/ports/0/targetPort"),
        container.pointer("/startupProbe/httpGet/port"),
        container.pointer("/livenessProbe/httpGet/port"),
        container.pointer("/readinessProbe/httpGet/port"),
    ];
    for port in used {
        assert!(
            ports.contains(&port.and_then(Value::as_str).unwrap()),
            "{port:?} is no port of the container"
        );
    }
    for (key, object) in &objects {
        let cluster_scoped = key.starts_with("Namespace/") || key.starts_with("ClusterRole/");
        let namespace = object["metadata"]["namespace"].as_str();
        assert_eq!(namespace, (!cluster_scoped).then_some("usher-system"), "the namespace of {key}");
    }
}

#[test]
fn the_deployment_starts_the_server_with_flags_that_it_has() {
    #[derive(Debug, Parser)]
    struct Serve {
        #[arg(long)]
        rules: Vec<PathBuf>,
        #[command(flatten)]
        server: ServerArgs,
    }
    let objects = objects("usher.yaml");
    let container = &objects["Deployment/usher"]["spec"]["template"]["spec"]["containers"][0];
    let args: Vec<&str> =
        container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    let serve = Serve::try_parse_from(&args).unwrap();
    let mounts = strings(&container["volumeMounts"], "mountPath");
    let files = serve.rules.iter().chain(&serve.server.tls_cert).chain(&serve.server.tls_key);
    for file in files {
        assert!(mounts.iter().any(|mount| file.starts_with(mount)), "{} is not mounted", file.display());
    }
    for (name, port) in [("webhook", serve.server.bind.port()), ("admin", serve.server.admin_bind.port())] {
        let ports = container["ports"].as_array().unwrap();
        let declared = ports.iter().find(|declared| declared["name"] == name).unwrap();
        assert_eq!(declared["containerPort"], port, "{name}");
    }
    let pod = &objects["Deployment/usher"]["spec"]["template"]["spec"];
    let sleep = container.pointer("/lifecycle/preStop/sleep/seconds").and_then(Value::as_u64).unwrap();
    let drain = serve.server.drain_settings().grace.as_secs();
    assert!(sleep + drain < pod["terminationGracePeriodSeconds"].as_u64().unwrap(), "the drain is cut off");
}

#[test]
fn the_rules_of_the_config_map_are_accepted() {
    let objects = objects("usher.yaml");
    let data = objects["ConfigMap/usher-rules"]["data"].as_object().unwrap();
    assert!(!data.is_empty());
    for (name, text) in data {
        let manifest = read_manifest(name, text.as_str().unwrap().as_bytes()).unwrap();
        assert!(manifest.diagnostics.is_empty(), "{:?}", manifest.diagnostics);
        for object in &manifest.objects {
            let Object::RoutingRule(loaded) = object else { continue };
            let rule: &RoutingRule = &loaded.object;
            let accepted = accept(rule, &context()).map(|compiled| compiled.warnings);
            assert!(matches!(&accepted, Ok(warnings) if warnings.is_empty()), "{name}: {accepted:?}");
        }
    }
}

#[test]
fn the_webhook_configurations_call_the_endpoint_of_each_class() {
    let service = &objects("usher.yaml")["Service/usher"];
    let configurations = objects("webhooks.yaml");
    let mut paths = Vec::new();
    for (kind, phase) in
        [("MutatingWebhookConfiguration", "mutate"), ("ValidatingWebhookConfiguration", "validate")]
    {
        for webhook in configurations[&format!("{kind}/usher")]["webhooks"].as_array().unwrap() {
            let policy = webhook["failurePolicy"].as_str().unwrap();
            let class = policy.to_lowercase();
            let client = &webhook["clientConfig"]["service"];
            assert_eq!(webhook["name"], format!("{class}.{phase}.usher.dev"));
            assert_eq!(client["path"], format!("/{phase}/{class}"));
            assert_eq!(client["name"], service["metadata"]["name"]);
            assert_eq!(client["namespace"], service["metadata"]["namespace"]);
            assert_eq!(client["port"], service["spec"]["ports"][0]["port"]);
            assert_eq!(webhook["sideEffects"], "None");
            assert_eq!(webhook["matchPolicy"], "Equivalent");
            assert_eq!(webhook["timeoutSeconds"], 5);
            assert_eq!(webhook["admissionReviewVersions"], json!(["v1"]));
            assert_eq!(
                webhook["namespaceSelector"]["matchExpressions"],
                json!([{
                    "key": "kubernetes.io/metadata.name", "operator": "NotIn",
                    "values": ["kube-system", "kube-node-lease", "usher-system"],
                }])
            );
            assert_eq!(webhook["reinvocationPolicy"] == "IfNeeded", phase == "mutate");
            paths.push(client["path"].as_str().unwrap().to_owned());
        }
    }
    let classes = ["/mutate/fail", "/mutate/ignore", "/validate/fail", "/validate/ignore"];
    assert_eq!(paths, classes);
    for path in classes {
        assert!(Endpoint::ALL.iter().any(|endpoint| endpoint.path() == path), "{path} is not served");
    }
}

#[test]
fn usher_keeps_the_rules_that_it_ships() {
    let objects = objects("usher.yaml");
    let mut pod = objects["Deployment/usher"]["spec"]["template"].clone();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = "usher".into();
    assert_eq!(create(&rule_set("pod-security"), &pod).rejections, []);
    for rejection in create(&rule_set("good-practice"), &pod).rejections {
        // Its registry is for whoever deploys it to choose.
        assert_eq!(&*rejection.rule, "allowed-registries", "{rejection:?}");
    }
}

#[test]
fn the_kustomization_names_files_that_exist() {
    let text = std::fs::read_to_string(deploy().join("kustomization.yaml")).unwrap();
    let (kustomization, _) = read_values("kustomization.yaml", text.as_bytes()).unwrap().remove(0);
    for resource in kustomization["resources"].as_array().unwrap() {
        assert!(deploy().join(resource.as_str().unwrap()).is_file(), "{resource} does not exist");
    }
}

/// The objects of a file by `Kind/name`.
fn objects(file: &str) -> BTreeMap<String, Value> {
    let text = std::fs::read(deploy().join(file)).unwrap();
    let values = read_values(file, &text).unwrap();
    let key = |object: &Value| {
        let name = object["metadata"]["name"].as_str().unwrap();
        format!("{}/{name}", object["kind"].as_str().unwrap())
    };
    let count = values.len();
    let objects: BTreeMap<_, _> = values.into_iter().map(|(object, _)| (key(&object), object)).collect();
    assert_eq!(objects.len(), count, "an object is defined twice");
    objects
}

fn strings<'v>(list: &'v Value, field: &str) -> Vec<&'v str> {
    list.as_array().unwrap().iter().map(|item| item[field].as_str().unwrap()).collect()
}

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")
}
