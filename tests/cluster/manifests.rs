//! What Helm and kustomize render is what the API server takes, kinds of others included: nothing is kept.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::deploy::pod_of;
use crate::deploy::rendering::{COMPONENTS, Component, Objects, helm, kustomize, values};

use super::account::api_of;
use super::registering::SYSTEM;
use super::world::{World, until};

/// All components but the one that leaves things out, and that one: every object there is.
fn all_sets() -> [Vec<Component>; 2] {
    let (files, others) = COMPONENTS.into_iter().partition(|component| component.folder == "files");
    [others, files]
}

/// The folder with kinds of others, fetched if it is not there.
fn definitions() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/deploy/render/definitions.sh");
    let fetched = Command::new(&script).stderr(Stdio::inherit()).output().unwrap();
    assert!(fetched.status.success(), "{} failed: {}", script.display(), fetched.status);
    PathBuf::from(String::from_utf8(fetched.stdout).unwrap().trim_end())
}

/// Makes the kinds of cert-manager and of the Prometheus operator, and waits until they are served.
async fn define(client: &Client) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut defined = Vec::new();
    for entry in std::fs::read_dir(definitions()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let definition: CustomResourceDefinition = serde_saphyr::from_str(&text).unwrap();
        api.patch(&definition.name_any(), &PatchParams::apply("tests").force(), &Patch::Apply(&definition))
            .await
            .unwrap();
        let version = definition.spec.versions.iter().find(|version| version.served).unwrap();
        let kind = &definition.spec.names.kind;
        let sample =
            json!({"apiVersion": format!("{}/{}", definition.spec.group, version.name), "kind": kind});
        until(&format!("{kind} is served"), async || {
            api_of(client, &sample).list(&ListParams::default()).await.ok()
        })
        .await;
        defined.push(kind.clone());
    }
    defined.sort();
    assert_eq!(defined, ["Certificate", "Issuer", "PodMonitor", "PrometheusRule"]);
}

/// Asks the API server to apply each object, without keeping it. A field that it does not know is an error.
async fn dry_run(client: &Client, objects: &Objects) -> Vec<String> {
    let mut params = PatchParams::apply("tests").force().validation_strict();
    params.dry_run = true;
    let mut faults = Vec::new();
    for (name, object) in objects {
        let applied: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let api = api_of(client, object);
        if let Err(error) = api.patch(&applied.name_any(), &params, &Patch::Apply(&applied)).await {
            faults.push(format!("{name}: {error}"));
        }
    }
    faults
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_takes_everything_that_is_rendered() {
    let world = World::own("manifests").await;
    define(&world.client).await;
    for components in all_sets() {
        let release = helm(&values(&components));
        for objects in [kustomize(&components), release.objects, release.hooks] {
            assert!(!objects.is_empty());
            assert_eq!(dry_run(&world.client, &objects).await, Vec::<String>::new());
        }
    }
    // It would have said so: a field that is misspelt, a value of a wrong type, a kind of others that is wrong.
    for (name, pointer, value) in [
        ("Deployment/usher", "/spec/template/spec/containers/0/resource", json!({})),
        ("NetworkPolicy/usher", "/spec/policyTypes", json!("Egress")),
        ("Certificate/usher", "/spec/secretNam", json!("usher-tls")),
        ("PrometheusRule/usher", "/spec/groups/0/rules/0/expr", json!({})),
    ] {
        let [components, _] = all_sets();
        let mut object = kustomize(&components).remove(name).unwrap();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[key] = value;
        let faults = dry_run(&world.client, &[(name.to_owned(), object)].into()).await;
        assert_eq!(faults.len(), 1, "{name} with {pointer}");
    }
}

/// By the API server's own admission of Pods, in the namespace as it is rendered.
#[tokio::test(flavor = "multi_thread")]
async fn the_pods_are_admitted_where_only_restricted_ones_are() {
    let world = World::own("restricted").await;
    let rendered = kustomize(&[]);
    let namespaces: Api<Namespace> = Api::all(world.client.clone());
    let namespace = Patch::Apply(rendered["Namespace/usher-system"].clone());
    namespaces.patch(SYSTEM, &PatchParams::apply("tests").force(), &namespace).await.unwrap();
    let create = async |pod: &Value| {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": SYSTEM}, "spec": pod});
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        let object: DynamicObject = serde_json::from_value(pod.clone()).unwrap();
        api_of(&world.client, &pod).create(&dry, &object).await.map_err(|error| error.to_string())
    };
    let mut pods = 0;
    for components in all_sets() {
        let release = helm(&values(&components));
        for (name, object) in release.objects.iter().chain(&release.hooks) {
            let Some(pod) = pod_of(object) else { continue };
            pods += 1;
            // Of a class that the API server makes itself, but maybe not yet.
            let mut pod = pod.clone();
            pod.as_object_mut().unwrap().remove("priorityClassName");
            create(&pod).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            pod["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = true.into();
            let refused = create(&pod).await.unwrap_err();
            assert!(refused.contains("violates PodSecurity"), "{name}: {refused}");
        }
    }
    assert!(pods >= 4, "{pods}");
}
