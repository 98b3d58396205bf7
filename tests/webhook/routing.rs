//! Real rules behind the server: what a caller sees of subresources, conversions, dry runs, repeats and errors.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rstest::rstest;
use serde_json::{Value, json};
use usher::engine::{Decision, Protected, Query, Request, decide};
use usher::rules::RuleWriter;
use usher::source::{Change, DirectorySource, feed};

use super::server::{Decide, Server};

/// A server that decides by these rules, as `usher serve` does.
async fn serving(rules: &str) -> Server {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("rules.yaml"), rules).unwrap();
    let snapshot = Arc::new(DirectorySource::open([directory.path().to_owned()]).unwrap().snapshot());
    let (mut writer, live) = RuleWriter::new(Protected::new("usher-system"));
    feed([&Change::Reset(snapshot)], &mut writer);
    let findings: Vec<String> =
        writer.reports().flat_map(|(_, report)| report.diagnostics.iter().map(ToString::to_string)).collect();
    assert!(findings.is_empty(), "{findings:?}");
    Server::start(Decide(move |request: &Request<'_>, query: &Query<'_>| -> Decision {
        decide(&live.load(), request, query)
    }))
    .await
}

/// A rule on Pods and everything below them, Deployments and Scales.
fn rule(name: &str, routes: &str) -> String {
    format!(
        r#"
apiVersion: usher.dev/v1alpha1
kind: RoutingRule
metadata: {{name: {name}}}
spec:
  match:
    resourceRules:
    - {{apiGroups: ["", apps], apiVersions: ["v1"], resources: [pods, "pods/*", deployments, "deployments/scale"], operations: ["*"]}}
  routes:
{routes}
"#
    )
}

fn review(request: &Value) -> String {
    json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}).to_string()
}

/// A request about a Pod, with these members instead.
fn request(members: &Value) -> Value {
    let mut request = json!({
        "uid": "u-1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": "web", "namespace": "shop", "operation": "CREATE",
        "userInfo": {"username": "alice", "groups": ["developers"]},
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": []}},
        "oldObject": null, "dryRun": false, "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}
    });
    for (name, value) in members.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

#[rstest]
#[case::exec(json!({
    "kind": {"group": "", "version": "v1", "kind": "PodExecOptions"}, "subResource": "exec", "operation": "CONNECT",
    "object": {"kind": "PodExecOptions", "apiVersion": "v1", "command": ["sh"]}, "options": null
}), "no shells")]
#[case::eviction(json!({
    "kind": {"group": "policy", "version": "v1", "kind": "Eviction"}, "subResource": "eviction",
    "object": {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "web", "namespace": "shop"}}
}), "no evictions")]
#[case::ephemeral_containers(json!({
    "subResource": "ephemeralcontainers", "operation": "UPDATE",
    "object": {"kind": "Pod", "metadata": {"name": "web"}, "spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox"}]}}
}), "no debug containers")]
#[case::scale(json!({
    "kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
    "resource": {"group": "apps", "version": "v1", "resource": "deployments"}, "subResource": "scale", "operation": "UPDATE",
    "object": {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "web"}, "spec": {"replicas": 100}}
}), "too many replicas")]
#[tokio::test]
async fn subresources_reach_the_rules_that_name_them(#[case] members: Value, #[case] message: &str) {
    let server = serving(&rule(
        "subresources",
        r#"
  - {name: exec, predicate: "request.operation == 'CONNECT' && request.subResource == 'exec'", reject: {message: no shells}}
  - {name: eviction, predicate: "request.kind.kind == 'Eviction'", reject: {message: no evictions}}
  - {name: debug, predicate: "request.?subResource.orValue('') == 'ephemeralcontainers' && object.spec.ephemeralContainers.size() > 0", reject: {message: no debug containers}}
  - {name: scale, predicate: "request.kind.kind == 'Scale' && object.spec.replicas > 10", reject: {message: too many replicas}}"#,
    ))
    .await;
    let response = server.post("/validate", review(&request(&members))).await.assert_denied("u-1", 403);
    assert!(response["status"]["message"].as_str().unwrap().contains(message), "{response}");
    server.stop().await;
}

#[tokio::test]
async fn a_converted_request_is_matched_by_what_was_asked_for_too() {
    let server = serving(&rule("converted", r#"
  - {name: all, predicate: "request.requestKind.version == 'v1beta1' && request.kind.version == 'v1'", reject: {message: converted}}"#))
    .await;
    let members = json!({
        "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "requestKind": {"group": "apps", "version": "v1beta1", "kind": "Deployment"},
        "requestResource": {"group": "apps", "version": "v1beta1", "resource": "deployments"},
    });
    server.post("/validate", review(&request(&members))).await.assert_denied("u-1", 403);
    server.stop().await;
}

#[tokio::test]
async fn a_dry_run_is_decided_alike_and_rules_can_see_it() {
    let server = serving(&rule(
        "dry",
        r#"
  - {name: labelled, predicate: "!has(object.metadata.labels)", reject: {message: no labels}}
  - {name: dry, predicate: "request.dryRun", warn: {message: only a dry run}}"#,
    ))
    .await;
    let dry = server.post("/validate", review(&request(&json!({"dryRun": true})))).await;
    let response = dry.assert_denied("u-1", 403);
    assert_eq!(response["warnings"], json!(["only a dry run"]));
    let real = server.post("/validate", review(&request(&json!({})))).await.assert_denied("u-1", 403);
    assert_eq!(real["status"]["message"], response["status"]["message"]);
    assert_eq!(real["warnings"], Value::Null);
    server.stop().await;
}

#[tokio::test]
async fn a_mutation_of_its_own_result_changes_nothing_more() {
    let server = serving(&rule(
        "defaults",
        r#"
  - name: label
    predicate: "!has(object.metadata.labels) || !('team' in object.metadata.labels)"
    mutate:
      jsonPatch: >
        [has(object.metadata.labels)
          ? JSONPatch{op: 'add', path: '/metadata/labels/team', value: 'shop'}
          : JSONPatch{op: 'add', path: '/metadata/labels', value: {'team': 'shop'}}]"#,
    ))
    .await;
    let first = server.post("/mutate", review(&request(&json!({})))).await.response();
    let patch = STANDARD.decode(first["patch"].as_str().unwrap()).unwrap();
    let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
    let mut object = request(&json!({}))["object"].clone();
    json_patch::patch(&mut object, &patch).unwrap();
    assert_eq!(object["metadata"]["labels"]["team"], "shop");
    let again = server.post("/mutate", review(&request(&json!({"object": object})))).await.response();
    assert_eq!(
        (&again["allowed"], &again["patch"], &again["patchType"]),
        (&json!(true), &Value::Null, &Value::Null)
    );
    // A delete has no object: nothing to patch, whatever the rule says.
    let delete = json!({"operation": "DELETE", "object": null, "oldObject": object, "options": null});
    let deleted = server.post("/mutate", review(&request(&delete))).await.response();
    assert_eq!(deleted["patch"], Value::Null, "{deleted}");
    server.stop().await;
}

#[rstest]
#[case::create_without_object(json!({"object": null}))]
#[case::update_without_old_object(json!({"operation": "UPDATE"}))]
#[case::delete(json!({"operation": "DELETE", "object": null}))]
#[case::connect(json!({"operation": "CONNECT", "object": {"kind": "PodExecOptions"}, "subResource": "exec"}))]
#[tokio::test]
async fn an_expression_without_a_value_is_answered_by_its_failure_policy(#[case] members: Value) {
    let routes = r#"
  - {name: old, predicate: "object.metadata.labels.team != oldObject.metadata.labels.team", reject: {message: never seen}}"#;
    let failing = rule("failing", routes);
    let server = serving(&failing).await;
    let response = server.post("/validate/fail", review(&request(&members))).await.response();
    assert_eq!((&response["uid"], &response["allowed"]), (&json!("u-1"), &json!(false)));
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.contains("failing/old") && !message.contains("never seen"), "{message}");
    server.stop().await;

    let ignoring = failing.replace("spec:\n", "spec:\n  failurePolicy: Ignore\n");
    let server = serving(&ignoring).await;
    let response = server.post("/validate/ignore", review(&request(&members))).await.response();
    assert_eq!((&response["uid"], &response["allowed"]), (&json!("u-1"), &json!(true)));
    server.stop().await;
}

#[rstest]
#[case::kube_system(json!({"namespace": "kube-system"}))]
#[case::own_namespace(json!({"namespace": "usher-system"}))]
#[case::node_lease(json!({"namespace": "kube-node-lease"}))]
#[tokio::test]
async fn a_rule_that_rejects_everything_does_not_lock_the_cluster(#[case] members: Value) {
    let server = serving(&rule(
        "everything",
        r#"
  - {name: all, predicate: "true", reject: {message: nothing goes}}"#,
    ))
    .await;
    let response = server.post("/validate", review(&request(&members))).await.response();
    assert_eq!(response["allowed"], true, "{response}");
    server.post("/validate", review(&request(&json!({})))).await.assert_denied("u-1", 403);
    server.stop().await;
}
