//! The path for Usher's own kinds.

use serde_json::{Value, json};
use usher::engine::{Decision, Protected, Query, Request};
use usher::rules::{Context, Kinds, review_rule};
use usher::webhook::Admit;
use usher_cel::KubernetesVersion;

use super::server::Server;

struct Rules;

impl Admit for Rules {
    fn admit(&self, request: &Request<'_>, _: &Query<'_>) -> Decision {
        panic!("a rule was asked about {request:?}")
    }

    fn admit_rule(&self, request: &Request<'_>) -> Decision {
        assert_ne!(request.name, "panics");
        review_rule(
            request,
            &Context {
                kinds: &Kinds::default(),
                protected: &Protected::default(),
                version: KubernetesVersion::default(),
            },
        )
    }
}

fn review(name: &str, predicate: &str) -> String {
    let rule = json!({
        "apiVersion": "usher.dev/v1alpha1", "kind": "RoutingRule", "metadata": {"name": name},
        "spec": {
            "match": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]},
            ]},
            "routes": [{"name": "a", "predicate": predicate, "reject": {}}],
        },
    });
    let request = json!({
        "uid": "u", "name": name, "operation": "CREATE", "object": rule,
        "kind": {"group": "usher.dev", "version": "v1alpha1", "kind": "RoutingRule"},
        "resource": {"group": "usher.dev", "version": "v1alpha1", "resource": "routingrules"},
    });
    json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}).to_string()
}

#[tokio::test]
async fn a_rule_is_tried_in_the_slow_lane_and_answered_with_its_findings() {
    let server = Server::start(Rules).await;
    let refused = server.post("/validate-rules", review("r", "objct == 1")).await.assert_denied("u", 422);
    let message = refused["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("[r] error[U0102]: spec.routes[0].predicate: undeclared reference to 'objct'"),
        "{message}"
    );
    assert!(message.contains("^^^^^") && message.contains("help: did you mean `object`?"), "{message}");
    assert_eq!(refused["status"]["details"]["causes"].as_array().unwrap().len(), 1);

    let allowed = server.post("/validate-rules", review("r", "object.metadata.name == 'a'")).await.response();
    let warning = "warning[U0312]: spec.tests: the rule is in force without a test (add one of a request that it lets through and one that it does not)";
    assert_eq!(allowed, json!({"uid": "u", "allowed": true, "warnings": [warning]}));
    assert_eq!(server.metric("usher_admission_slow_total", &["rule"]), 2.0);
    assert_eq!(server.metric("usher_admission_requests_total", &["validate-rules", "CREATE", "deny"]), 1.0);
    assert_eq!(server.metric("usher_route_unmatched_total", &["validate-rules"]), 0.0);
    server.stop().await;
}

#[tokio::test]
async fn a_panic_while_a_rule_is_tried_is_answered() {
    let server = Server::start(Rules).await;
    let refused: Value =
        server.post("/validate-rules", review("panics", "true")).await.assert_denied("u", 500);
    assert!(refused["status"]["message"].as_str().unwrap().contains("a defect of Usher"), "{refused}");
    server.stop().await;
}
