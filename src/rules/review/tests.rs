use std::sync::LazyLock;

use rstest::rstest;
use serde_json::{Value, json};
use usher_cel::KubernetesVersion;

use super::*;
use crate::engine::testing::mk_request;
use crate::engine::{GroupVersionResource, Protected};
use crate::rules::Kinds;

/// A rule about ConfigMaps with a test, so that nothing is said of it.
fn rule(fields: Value) -> Value {
    let mut spec = json!({
        "match": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"]},
        ]},
        "routes": [{"name": "a", "predicate": "object.metadata.name == 'a'", "reject": {"message": "no"}}],
        "tests": [{
            "name": "a is refused",
            "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
            "expect": {"decision": "deny", "route": "a"},
        }],
    });
    for (key, value) in fields.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({"apiVersion": "usher.dev/v1alpha1", "kind": "RoutingRule", "metadata": {"name": "r"}, "spec": spec})
}

fn broken(predicate: &str) -> Value {
    rule(json!({"routes": [{"name": "a", "predicate": predicate, "reject": {}}]}))
}

fn context(kinds: &Kinds) -> Context<'_> {
    static PROTECTED: LazyLock<Protected> = LazyLock::new(Protected::default);
    Context { kinds, protected: &PROTECTED, version: KubernetesVersion::default() }
}

fn ask(request: &Request<'_>) -> Decision {
    review_rule(request, &context(&Kinds::default()))
}

fn request<'r>(object: &'r str, old_object: Option<&'r str>) -> Request<'r> {
    let operation = if old_object.is_some() { Operation::Update } else { Operation::Create };
    let resource = GroupVersionResource { group: GROUP, version: VERSION, resource: RESOURCE };
    Request {
        resource,
        name: "r",
        namespace: "",
        operation,
        object: Some(object),
        old_object,
        ..mk_request()
    }
}

fn create(object: &Value) -> Decision {
    ask(&request(&object.to_string(), None))
}

fn update(old: &Value, new: &Value) -> Decision {
    ask(&request(&new.to_string(), Some(&old.to_string())))
}

/// The codes of what is refused, then those of the warnings.
fn codes(decision: &Decision) -> (Vec<&str>, Vec<&str>) {
    let code = |text| str::split(text, ['[', ']']).nth(1).unwrap_or_default();
    let rejections = decision.rejections.iter().map(|rejection| code(&rejection.message)).collect();
    (rejections, decision.warnings.iter().map(|warning| code(warning)).collect())
}

#[test]
fn an_error_is_told_with_its_code_its_place_and_a_caret() {
    let decision = create(&broken("objct == 1"));
    let message = &decision.rejections[0].message;
    let expected = "error[U0102]: spec.routes[0].predicate: undeclared reference to 'objct' (in container '')\n  |\n1 | objct == 1\n  | ^^^^^";
    assert!(message.starts_with(expected), "{message}");
    assert!(message.ends_with("help: did you mean `object`?"), "{message}");
    assert_eq!((decision.rejections[0].code, decision.rejections[0].reason), (422, "Invalid"));
}

#[rstest]
#[case::good(rule(json!({})), &[], &[])]
#[case::two_errors(
    rule(json!({"routes": [{"name": "a", "predicate": "1", "reject": {}}, {"name": "b", "predicate": "x", "reject": {}}], "tests": []})),
    &["U0103", "U0102"], &[]
)]
#[case::fails_its_test(
    rule(json!({"routes": [{"name": "a", "predicate": "object.metadata.name == 'b'", "reject": {}}]})),
    &["U0308"], &[]
)]
#[case::unknown_kind_of_parameters(
    rule(json!({"params": {"apiVersion": "example.com/v1", "kind": "Limit", "name": "l"}})), &[], &["U0305"]
)]
#[case::own_kinds(
    rule(json!({"match": {"resourceRules": [
        {"apiGroups": ["usher.dev"], "apiVersions": ["*"], "resources": ["routingrules"], "operations": ["CREATE"]}
    ]}, "tests": []})),
    &[], &["U0306", "U0312"]
)]
#[case::everything(rule(json!({"match": {}})), &[], &["U0307"])]
#[case::wildcards(
    rule(json!({"match": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE"]}]}})),
    &[], &["U0309"]
)]
#[case::wildcards_that_fail_open(
    rule(json!({"failurePolicy": "Ignore", "match": {"resourceRules": [
        {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE"]}
    ]}})),
    &[], &[]
)]
#[case::deletions(
    rule(json!({"match": {"resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}
    ]}})),
    &[], &["U0310"]
)]
#[case::refuses_everything(rule(json!({"routes": [{"name": "a", "predicate": " true ", "reject": {}}]})), &[], &["U0311"])]
#[case::unless_it_passes(
    rule(json!({"routes": [
        {"name": "b", "predicate": "object.metadata.name == 'b'", "pass": {}},
        {"name": "a", "predicate": "true", "reject": {}},
    ]})),
    &[], &[]
)]
#[case::not_in_force(rule(json!({"mode": "Audit", "routes": [{"name": "a", "predicate": "true", "reject": {}}], "tests": []})), &[], &[])]
fn a_new_rule(#[case] written: Value, #[case] errors: &[&str], #[case] warnings: &[&str]) {
    let decision = create(&written);
    assert_eq!(codes(&decision), (errors.to_vec(), warnings.to_vec()), "{decision:?}");
}

#[test]
fn a_kind_of_parameters_that_is_known_is_said_nothing_of() {
    let written =
        rule(json!({"params": {"apiVersion": "example.com/v1", "kind": "Limit", "name": "l"}, "tests": []}));
    let mut kinds = Kinds::default();
    kinds.add("example.com", "Limit", false);
    let object = written.to_string();
    assert_eq!(codes(&review_rule(&request(&object, None), &context(&kinds))), (vec![], vec!["U0312"]));
}

#[test]
fn a_broken_rule_can_be_mended_and_is_not_broken_further() {
    let (one, good) = (broken("objct == 1"), rule(json!({})));
    assert_eq!(codes(&update(&one, &good)), (vec![], vec![]), "mended");
    assert_eq!(codes(&update(&good, &one)), (vec!["U0102"], vec![]), "broken");
    assert_eq!(codes(&update(&one, &broken("obbject == 1"))), (vec!["U0102"], vec![]), "broken otherwise");

    // Half of the way: what was there before is no reason to refuse.
    let routes = |first: &str, second: &str| {
        rule(json!({"routes": [
            {"name": "a", "predicate": first, "reject": {}}, {"name": "b", "predicate": second, "reject": {}},
        ]}))
    };
    let both = routes("objct == 1", "size(1) == 1");
    let half = routes("object.metadata.name == 'a'", "size(1) == 1");
    assert_eq!(codes(&update(&both, &half)), (vec![], vec!["U0102"]), "half mended");
    assert_eq!(codes(&update(&half, &both)).0.len(), 1, "only the new error is told");
    let mut disabled = one.clone();
    disabled["spec"]["mode"] = "Disabled".into();
    assert!(update(&one, &disabled).allowed(), "switched off");
}

#[test]
fn what_is_not_about_the_spec_is_let_through_unseen() {
    let one = broken("objct == 1");
    let mut labelled = one.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(codes(&update(&one, &labelled)), (vec![], vec![]), "metadata");
    let mut ending = broken("obbject == 1");
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert!(update(&one, &ending).allowed(), "a finalizer goes");

    let text = one.to_string();
    let about = request(&text, None);
    for other in [
        Request { operation: Operation::Delete, object: None, old_object: Some(&text), ..about.clone() },
        Request {
            sub_resource: "status",
            operation: Operation::Update,
            old_object: Some(&text),
            ..about.clone()
        },
        Request { resource: GroupVersionResource { resource: "others", ..about.resource }, ..about.clone() },
        Request { resource: GroupVersionResource { version: "v9", ..about.resource }, ..about.clone() },
        Request { resource: GroupVersionResource { group: "", ..about.resource }, ..about.clone() },
    ] {
        assert!(ask(&other).allowed(), "{other:?}");
    }
    assert!(!ask(&about).allowed());
}

#[test]
fn what_cannot_be_read_is_refused_with_the_reason() {
    let decision = create(&json!({"metadata": {"name": "r"}, "spec": {"routes": 1}}));
    assert_eq!(codes(&decision).0, ["U0206"]);
    assert!(decision.rejections[0].message.contains("cannot be read"), "{decision:?}");
}
