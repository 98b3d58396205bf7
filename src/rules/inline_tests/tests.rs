use rstest::rstest;
use serde_json::{Value, json};
use usher_cel::KubernetesVersion;

use crate::api::RoutingRule;
use crate::diagnostic::Severity;
use crate::engine::{Mode, Protected};
use crate::rules::{Context, Kinds, accept};

/// A rule with one route per handler about a Pod, and one test.
fn outcome(test: Value) -> Result<(), String> {
    let rule: RoutingRule = serde_json::from_value(json!({
        "apiVersion": "usher.dev/v1alpha1", "kind": "RoutingRule", "metadata": {"name": "r"},
        "spec": {
            "mode": "Shadow",
            "match": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]},
            ]},
            "params": {"apiVersion": "v1", "kind": "ConfigMap", "name": "limits", "notFound": "Allow"},
            "routes": [
                {"name": "admin", "predicate": "request.userInfo.username == 'admin'", "pass": {}},
                {"name": "label", "predicate": "!has(object.metadata.labels)",
                 "mutate": {"patches": [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]}},
                {"name": "merge", "predicate": "object.metadata.name == 'merge'",
                 "mutate": {"applyConfiguration": "Object{metadata: Object.metadata{finalizers: ['x/y']}}"}},
                {"name": "bad", "predicate": "object.metadata.name == params.data.bad",
                 "reject": {"message": "this name is bad"}},
                {"name": "odd", "predicate": "request.namespace == 'odd'", "warn": {"message": "odd place"}},
            ],
            "tests": [test],
        },
    }))
    .expect("a RoutingRule");
    let context = Context {
        kinds: &Kinds::default(),
        protected: &Protected::default(),
        version: KubernetesVersion::default(),
    };
    match accept(&rule, &context) {
        Ok(compiled) => {
            assert_eq!(compiled.rule.mode, Mode::Shadow, "the rule is as it was");
            assert!(compiled.rule.params.is_some_and(|params| params.namespaced));
            Ok(())
        }
        Err(findings) => {
            assert_eq!(findings.len(), 1, "{findings:?}");
            Err(findings[0].to_string())
        }
    }
}

fn case(object: Value, expect: Value, more: Value) -> Value {
    let mut test = json!({
        "name": "t",
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": object},
        "params": [{"data": {"bad": "evil"}}],
        "expect": expect,
    });
    for (key, value) in more.as_object().expect("an object") {
        test[key] = value.clone();
    }
    test
}

#[rstest]
#[case::deny(json!({"name": "evil"}), json!({"decision": "deny", "route": "bad", "message": "is bad"}), json!({}))]
#[case::allow(json!({"name": "good", "labels": {}}), json!({"decision": "allow", "warnings": []}), json!({}))]
#[case::unmatched(json!({"name": "good", "labels": {}}), json!({"decision": "unmatched"}), json!({}))]
#[case::patched(json!({"name": "good"}), json!({"decision": "patched", "route": "label", "patched": {"metadata": {"labels": {"a": "b"}}}}), json!({}))]
#[case::merged(
    json!({"name": "merge", "labels": {}, "finalizers": ["a/b"]}),
    json!({"decision": "patched", "route": "merge", "patched": {"metadata": {"finalizers": ["a/b", "x/y"]}}}),
    json!({})
)]
#[case::pass(json!({"name": "evil"}), json!({"decision": "allow", "route": "admin"}), json!({"user": "admin"}))]
#[case::warning(json!({"name": "good", "labels": {}}), json!({"decision": "allow", "warnings": ["odd"]}), json!({"namespace": "odd"}))]
#[case::no_params(json!({"name": "evil"}), json!({"decision": "unmatched"}), json!({"params": []}))]
#[case::error(json!({"name": "evil", "labels": {}}), json!({"decision": "error", "route": "bad", "message": "no such key: bad"}), json!({"params": [{"data": {}}]}))]
#[case::phase(json!({"name": "good"}), json!({"decision": "unmatched"}), json!({"phase": "Validating"}))]
fn a_test_that_is_right_passes(#[case] object: Value, #[case] expect: Value, #[case] more: Value) {
    assert_eq!(outcome(case(object, expect, more)), Ok(()));
}

#[rstest]
#[case::not_denied(json!({"name": "good", "labels": {}}), json!({"decision": "deny"}), json!({}), "spec.tests[0].expect.decision: test `t`: expected deny, got unmatched (no route matched)")]
#[case::not_matched(json!({"name": "good"}), json!({"decision": "deny"}), json!({"resource": {"version": "v1", "resource": "nodes"}}), "the rule was not looked at: its match, or")]
#[case::denied(json!({"name": "evil", "labels": {}}), json!({"decision": "allow"}), json!({}), "expected allow, got deny (route bad: reject)")]
#[case::error(json!({"name": "evil", "labels": {}}), json!({"decision": "deny"}), json!({"params": [{"data": {}}]}), "expected deny, got error (route bad: error: ")]
#[case::message(json!({"name": "evil", "labels": {}}), json!({"decision": "deny", "message": "x"}), json!({}), "expected a message with `x`, got `this name is bad`")]
#[case::warning(json!({"name": "good", "labels": {}}), json!({"decision": "allow", "warnings": ["odd"]}), json!({}), "expected a warning with `odd`, got none")]
#[case::other_warning(json!({"name": "good", "labels": {}}), json!({"decision": "allow", "warnings": []}), json!({"namespace": "odd"}), "expected no other warning than these, got `odd place`")]
#[case::patched(json!({"name": "good"}), json!({"decision": "patched", "patched": {"metadata": {"labels": {"a": "c"}}}}), json!({}), "expected object.metadata.labels.a to be \"c\", got \"b\"")]
#[case::annotation(json!({"name": "good"}), json!({"decision": "allow", "auditAnnotations": {"k": "v"}}), json!({}), "expected an audit annotation k, got none")]
#[case::route(json!({"name": "evil", "labels": {}}), json!({"decision": "deny", "route": "odd"}), json!({}), "expected the route odd to decide, but it was bad")]
#[case::no_kind(json!({}), json!({"decision": "allow"}), json!({"object": {"metadata": {}}}), "spec.tests[0].object: test `t`: the object has no apiVersion or no kind")]
fn a_test_that_is_wrong_keeps_the_rule_from_being_accepted(
    #[case] object: Value,
    #[case] expect: Value,
    #[case] more: Value,
    #[case] expected: &str,
) {
    let found = outcome(case(object, expect, more)).expect_err("the test fails");
    assert!(found.contains(expected), "{found}");
}

#[test]
fn tests_that_cost_too_much_together_are_not_run_to_the_end() {
    // A million units, the limit of one expression, in each test.
    let endless = "lists.range(100).all(a, lists.range(100).all(b, lists.range(100).all(c, a + b + c >= 0)))";
    let test = |n: usize| {
        json!({"name": format!("t{n}"), "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
               "phase": "Validating", "expect": {"decision": "error"}})
    };
    let rule: RoutingRule = serde_json::from_value(json!({
        "apiVersion": "usher.dev/v1alpha1", "kind": "RoutingRule", "metadata": {"name": "r"},
        "spec": {
            "match": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]},
            ]},
            "routes": [{"name": "endless", "predicate": endless, "reject": {"message": "never"}}],
            "tests": (0..128).map(test).collect::<Vec<_>>(),
        },
    }))
    .expect("a RoutingRule");
    let context = Context {
        kinds: &Kinds::default(),
        protected: &Protected::default(),
        version: KubernetesVersion::default(),
    };
    let findings = accept(&rule, &context).expect_err("the tests are endless");
    let errors: Vec<_> = findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
    assert_eq!(errors.len(), 1, "{findings:?}");
    assert_eq!(errors[0].field, "spec.tests[10]");
    let text = errors[0].to_string();
    assert!(text.contains("this test and the 117 after it were not run"), "{text}");
}
