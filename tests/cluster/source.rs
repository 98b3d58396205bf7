//! `usher serve --cluster`: rules of the API server are in force, through everything that happens to it.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::account::grant_parameters;
use super::server::{Usher, kubeconfig_to_nobody};
use super::world::{World, until};

/// A rule that refuses ConfigMaps whose name a predicate is true for.
fn rule(name: &str, predicate: &str, message: &str) -> String {
    format!(
        "apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {{name: {name}}}\nspec:\n  match: {{resourceRules: \
         [{{apiGroups: [''], apiVersions: ['*'], operations: ['*'], resources: [configmaps]}}]}}\n  routes: [{{name: r, \
         predicate: \"{predicate}\", reject: {{message: {message}}}}}]\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_is_in_force_from_apply_to_delete() {
    let world = World::shared("apply-to-delete").await;
    let usher = Usher::serving(&world, &["--cluster", "--status=false"]).await;
    world.until_allowed("a").await;
    world.apply(&rule("names", "object.metadata.name == 'a'", "first")).await;
    world.until_denied("a", "[names/r] first").await;
    assert_eq!(world.attempt("b").await, Ok(()));

    world.apply(&rule("names", "object.metadata.name == 'b'", "second")).await;
    world.until_denied("b", "[names/r] second").await;
    assert_eq!(world.attempt("a").await, Ok(()));

    world.delete("names").await;
    world.until_allowed("b").await;
    assert_eq!(usher.metric("usher_watch_synced{resource=\"routingrules\"}").await, 1.0);
    assert_eq!(usher.metric("usher_rules_stale_seconds").await, 0.0);
    assert_eq!(usher.terminate(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_breaks_keeps_its_last_good_version() {
    let world = World::shared("last-good").await;
    let usher = Usher::serving(&world, &["--cluster", "--status=false"]).await;
    world.apply(&rule("names", "object.metadata.name == 'a'", "good")).await;
    world.until_denied("a", "good").await;
    world.apply(&rule("names", "object.metadata.nam == ", "bad")).await;
    let line = usher.until_logged("Syntax error").await;
    assert_eq!(line["object"], "RoutingRule names", "{line}");
    assert_eq!(line["field"], "spec.routes[0].predicate");
    assert!(world.attempt("a").await.unwrap_err().contains("good"));
    world.apply(&rule("names", "object.metadata.name == 'c'", "mended")).await;
    world.until_denied("c", "mended").await;
    assert_eq!(world.attempt("a").await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_cannot_be_read_is_reported_and_the_others_are_served() {
    let world = World::own("undecodable").await;
    // As an older version of the kind would have allowed it.
    let mut definition = usher::api::crd();
    let schema = definition.spec.versions[0].schema.as_mut().unwrap().open_api_v3_schema.as_mut().unwrap();
    let spec = schema.properties.as_mut().unwrap().get_mut("spec").unwrap();
    *spec = serde_json::from_value(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}))
        .unwrap();
    let crds: Api<
        k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    > = Api::all(world.client.clone());
    let loosened = Patch::Apply(&definition);
    crds.patch("routingrules.usher.dev", &PatchParams::apply("tests").force(), &loosened).await.unwrap();
    let rules: Api<kube::api::DynamicObject> =
        Api::all_with(world.client.clone(), &kube::api::ApiResource::erase::<usher::api::RoutingRule>(&()));
    let odd = json!({"apiVersion": "usher.dev/v1alpha1", "kind": "RoutingRule", "metadata": {"name": "odd"},
        "spec": {"priority": "high", "routes": []}});
    until("an odd rule is stored", async || {
        rules.patch("odd", &PatchParams::apply("tests").force(), &Patch::Apply(&odd)).await.ok()
    })
    .await;
    world.apply(&rule("names", "object.metadata.name == 'a'", "good")).await;

    let usher = Usher::serving(&world, &["--cluster", "--status=false"]).await;
    world.until_denied("a", "good").await;
    let line = usher.until_logged("integer").await;
    assert_eq!(
        (&line["object"], &line["field"]),
        (&json!("RoutingRule odd"), &json!("spec.priority")),
        "{line}"
    );
    assert_eq!(usher.metric("usher_policies{status=\"rejected\"}").await, 1.0);
    // It is seen in a watch as it is in a list.
    world.apply(&rule("more", "object.metadata.name == 'b'", "more")).await;
    world.until_denied("b", "more").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_serve_while_the_api_server_is_away_and_follow_it_after() {
    let mut world = World::own("away").await;
    world.apply(&rule("names", "object.metadata.name == 'a'", "first")).await;
    let usher = Usher::serving(&world, &["--cluster", "--status=false"]).await;
    world.until_denied("a", "first").await;

    world.own_plane().api_server.kill();
    until("the rules are stale", async || {
        (usher.metric("usher_rules_stale_seconds").await > 0.0).then_some(())
    })
    .await;
    assert!(usher.is_ready().await, "last known good serves");
    assert!(usher.metric("usher_watch_errors_total{resource=\"routingrules\"}").await >= 1.0);

    world.own_plane().api_server.restart();
    let start = Instant::now();
    until("the API server is back", async || {
        world.rules().list(&kube::api::ListParams::default()).await.ok()
    })
    .await;
    // The rule of before is still in force, for the API server has a webhook to ask and it answers.
    world.until_denied("a", "first").await;
    world.apply(&rule("names", "object.metadata.name == 'b'", "second")).await;
    world.until_denied("b", "second").await;
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    until("nothing is stale", async || {
        (usher.metric("usher_rules_stale_seconds").await == 0.0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_without_the_api_server_serves_what_was_known_last() {
    let world = World::shared("from-file").await;
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("known.jsonl");
    let flag = format!("--cluster-cache={}", cache.display());
    world.apply(&rule("names", "object.metadata.name == 'a'", "remembered")).await;
    let usher = Usher::serving(&world, &["--cluster", "--status=false", &flag]).await;
    until("the file is written", async || cache.exists().then_some(())).await;
    assert_eq!(usher.terminate(), Some(0));

    let nobody = kubeconfig_to_nobody(directory.path());
    let usher = Usher::start_with(&nobody, &["--cluster", "--status=false", &flag]).await;
    usher.until_ready().await;
    usher.until_logged("serving what was known last").await;
    assert!(usher.metric("usher_rules_stale_seconds").await > 0.0);
    world.register(&usher.url, &usher.authority()).await;
    world.until_denied("a", "remembered").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_api_server_and_without_a_file_nobody_is_told_that_it_is_ready() {
    let directory = tempfile::tempdir().unwrap();
    let nobody = kubeconfig_to_nobody(directory.path());
    let usher = Usher::start_with(&nobody, &["--cluster", "--status=false"]).await;
    usher.until_logged("cannot watch").await;
    assert!(!usher.is_ready().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn params_are_watched_for_as_long_as_a_rule_names_them() {
    let world = World::shared("params").await;
    grant_parameters(&world.client, &world.namespace).await;
    let objects: Api<ConfigMap> = Api::namespaced(world.client.clone(), &world.namespace);
    let params = |names: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "forbidden"}, "data": {"names": names}});
    let apply = PatchParams::apply("tests").force();
    objects.patch("forbidden", &apply, &Patch::Apply(params("a"))).await.unwrap();
    let usher = Usher::serving(&world, &["--cluster", "--status=false"]).await;
    let reads = "object.metadata.name == params.data.names";
    let with_params = rule("names", reads, "forbidden").replace(
        "spec:\n",
        &format!(
            "spec:\n  params: {{apiVersion: v1, kind: ConfigMap, name: forbidden, namespace: {}}}\n",
            world.namespace
        ),
    );
    // From the first moment: the rule is held back until its params are there.
    world.apply(&with_params).await;
    until("the rule is in force", async || match world.attempt("a").await {
        Ok(()) => None,
        Err(message) => {
            assert!(message.contains("[names/r] forbidden"), "{message}");
            Some(())
        }
    })
    .await;
    assert_eq!(world.attempt("b").await, Ok(()));
    objects.patch("forbidden", &apply, &Patch::Apply(params("b"))).await.unwrap();
    world.until_denied("b", "forbidden").await;
    assert_eq!(usher.metric("usher_watch_synced{resource=\"params\"}").await, 1.0);
    world.delete("names").await;
    world.until_allowed("b").await;
    objects.delete("forbidden", &DeleteParams::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_match_by_labels_of_namespaces_as_they_change() {
    let world = World::shared("labels").await;
    let usher = Usher::serving(&world, &["--cluster", "--status=false"]).await;
    let selective = rule("names", "namespaceObject.metadata.labels.stage == 'prod'", "in production")
        .replace(
            "  match: {",
            "  match: {namespaceSelector: {matchExpressions: [{key: stage, operator: Exists}]}, ",
        );
    world.apply(&selective).await;
    usher.until_logged("rules reloaded").await;
    let namespaces: Api<Namespace> = Api::all(world.client.clone());
    for (stage, denied) in [("test", false), ("prod", true), ("test", false)] {
        let patch = json!({"metadata": {"labels": {"stage": stage}}});
        namespaces.patch(&world.namespace, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
        match denied {
            true => world.until_denied("a", "in production").await,
            false => world.until_allowed("a").await,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_files_and_of_the_cluster_are_in_force_together() {
    let world = World::shared("both").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rules.yaml");
    std::fs::write(&file, rule("names", "object.metadata.name == 'a'", "of the file")).unwrap();
    world.apply(&rule("names", "object.metadata.name == 'a'", "of the cluster")).await;
    world.apply(&rule("more", "object.metadata.name == 'b'", "of the cluster")).await;
    let rules = directory.path().to_str().unwrap();
    let _usher = Usher::serving(&world, &["--cluster", "--status=false", "--rules", rules]).await;
    world.until_denied("a", "[names/r] of the file").await;
    world.until_denied("b", "[more/r] of the cluster").await;
    std::fs::write(&file, rule("other", "object.metadata.name == 'c'", "of the file")).unwrap();
    world.until_denied("c", "of the file").await;
    world.until_denied("a", "[names/r] of the cluster").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn admission_policies_of_the_cluster_are_served_when_asked_for() {
    let world = World::shared("policies").await;
    world.grant(&json!({"admissionPolicies": true})).await;
    let policies: Api<k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy> =
        Api::all(world.client.clone());
    let bindings: Api<k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding> =
        Api::all(world.client.clone());
    let apply = PatchParams::apply("tests").force();
    let version = "admissionregistration.k8s.io/v1";
    let policy = json!({"apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "vap"}, "spec": {
        "matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}]},
        "validations": [{"expression": "object.metadata.name != 'a'", "message": "by a policy"}]}});
    let binding = json!({"apiVersion": version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "vap"},
        "spec": {"policyName": "vap", "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.namespace}}}}});
    let usher = Usher::serving(&world, &["--cluster", "--status=false", "--admission-policies"]).await;
    policies.patch("vap", &apply, &Patch::Apply(policy)).await.unwrap();
    bindings.patch("vap", &apply, &Patch::Apply(binding)).await.unwrap();
    // The API server applies the policy itself, and before it asks webhooks.
    let request = r#""operation":"CREATE","kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"",
        "version":"v1","resource":"configmaps"},"name":"a","namespace":"policies","object":{"apiVersion":"v1","kind":"ConfigMap",
        "metadata":{"name":"a","namespace":"policies"}}"#;
    until("the policy is served", async || {
        let message = usher.ask(request).await["status"]["message"].as_str()?.to_owned();
        message.contains("by a policy").then_some(())
    })
    .await;
    policies.delete("vap", &DeleteParams::default()).await.unwrap();
    bindings.delete("vap", &DeleteParams::default()).await.unwrap();
    until("the policy is gone", async || (usher.metric("usher_rule_set_rules").await == 0.0).then_some(()))
        .await;
    assert_eq!(usher.ask(request).await["allowed"], true);
}
