//! What deploy/ has: rendered by the libraries of Helm and kustomize, compared, and held against what it must be.

pub(crate) mod alerts;
mod baseline;
mod chart;
mod container;
pub(crate) mod rendering;
mod same;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Parser;
use serde_json::{Value, json};
use usher::api::RoutingRule;
use usher::rules::accept;
use usher::rules::registration::{Address, ServiceAddress, own_kinds};
use usher::source::{Object, read_manifest, read_values};
use usher::webhook::{Endpoint, ServerArgs};

pub(crate) use baseline::pod_of;

use crate::policies::{context, create, rule_set};
use rendering::{COMPONENTS, Objects, combinations, deploy, kustomize};

/// What is made by hand and only named: see deploy/README.md.
const MADE_BY_HAND: &[(&str, &str)] = &[("Secret", "usher-tls")];

/// The base, and the base with rules from files.
fn both_sources() -> [Objects; 2] {
    let files: Vec<_> = COMPONENTS.into_iter().filter(|component| component.folder == "files").collect();
    assert_eq!(files.len(), 1);
    [kustomize(&[]), kustomize(&files)]
}

#[test]
fn everything_that_the_deployment_names_exists() {
    for components in combinations() {
        names_what_exists(&kustomize(&components));
    }
}

fn names_what_exists(objects: &Objects) {
    let deployment = &objects["Deployment/usher"];
    let pod = &deployment["spec"]["template"]["spec"];
    let mut named = vec![("ServiceAccount", pod["serviceAccountName"].as_str().unwrap())];
    let volumes = pod["volumes"].as_array().unwrap();
    for volume in volumes {
        named.extend(volume["configMap"]["name"].as_str().map(|name| ("ConfigMap", name)));
        named.extend(volume["secret"]["secretName"].as_str().map(|name| ("Secret", name)));
    }
    assert!(named.len() >= 2);
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
    for (key, object) in objects {
        let (kind, name) = key.split_once('/').unwrap();
        let is_of_the_cluster =
            ["Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"].contains(&kind);
        // Events of objects without a namespace are there.
        let home = if name == "usher-events" { "default" } else { "usher-system" };
        let namespace = object["metadata"]["namespace"].as_str();
        assert_eq!(namespace, (!is_of_the_cluster).then_some(home), "the namespace of {key}");
    }
}

#[test]
fn the_deployment_starts_the_server_with_flags_that_it_has() {
    /// What of the flags is about files of the container; tests/cluster starts the server with all of them.
    #[derive(Debug, Parser)]
    struct Serve {
        #[arg(long)]
        rules: Vec<PathBuf>,
        #[arg(long)]
        cluster: bool,
        #[arg(long)]
        cluster_cache: Option<PathBuf>,
        #[arg(long)]
        webhook_ca_file: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArgs,
    }
    for objects in both_sources() {
        let container = &objects["Deployment/usher"]["spec"]["template"]["spec"]["containers"][0];
        let args: Vec<&str> =
            container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        let serve = Serve::try_parse_from(&args).unwrap();
        assert_ne!(serve.cluster, !serve.rules.is_empty());
        let mounts = strings(&container["volumeMounts"], "mountPath");
        let own = serve.rules.iter().chain(&serve.cluster_cache).chain(&serve.webhook_ca_file);
        let files: Vec<_> = own.chain(&serve.server.tls_cert).chain(&serve.server.tls_key).collect();
        assert_eq!(files.len(), args.len() - 1 - usize::from(serve.cluster), "{args:?}");
        for file in files {
            let is_mounted = mounts.iter().any(|mount| file.starts_with(mount));
            assert!(is_mounted, "{} is not mounted", file.display());
        }
        for (name, port) in [("webhook", serve.server.bind.port()), ("admin", serve.server.admin_bind.port())]
        {
            let ports = container["ports"].as_array().unwrap();
            let declared = ports.iter().find(|declared| declared["name"] == name).unwrap();
            assert_eq!(declared["containerPort"], port, "{name}");
        }
        let pod = &objects["Deployment/usher"]["spec"]["template"]["spec"];
        let sleep = container.pointer("/lifecycle/preStop/sleep/seconds").and_then(Value::as_u64).unwrap();
        let drain = serve.server.drain_settings().grace.as_secs();
        assert!(
            sleep + drain < pod["terminationGracePeriodSeconds"].as_u64().unwrap(),
            "the drain is cut off"
        );
    }
}

#[test]
fn the_rules_of_the_config_map_are_accepted() {
    let [_, objects] = both_sources();
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
    let service = &kustomize(&[])["Service/usher"];
    let configurations = objects("webhooks.yaml");
    let (mut paths, mut own) = (Vec::new(), Vec::new());
    for (kind, phase) in
        [("MutatingWebhookConfiguration", "mutate"), ("ValidatingWebhookConfiguration", "validate")]
    {
        for webhook in configurations[&format!("{kind}/usher")]["webhooks"].as_array().unwrap() {
            if webhook["name"] == own_kinds::NAME {
                own.push((kind, webhook.clone()));
                continue;
            }
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
    // That of Usher's own kinds is the one that a server which registers itself writes.
    let client =
        Address::Service(ServiceAddress::new("usher-system", "usher")).client_config(own_kinds::PATH, None);
    let mut entry = serde_json::to_value(own_kinds::webhook(client)).unwrap();
    entry["clientConfig"]["caBundle"] = "CA_BUNDLE".into();
    assert_eq!(own, [("ValidatingWebhookConfiguration", entry)]);
}

#[test]
fn usher_keeps_the_rules_that_it_ships() {
    let objects = kustomize(&[]);
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
