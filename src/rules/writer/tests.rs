use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::api::RoutingRule;
use crate::engine::testing::mk_request;
use crate::engine::{Phase, Query, decide};

fn rule(name: &str, predicate: &str, more: Value) -> Item {
    let mut spec = json!({
        "match": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]},
        ]},
        "routes": [{"name": "a", "predicate": predicate, "reject": {"message": predicate}}],
    });
    for (key, value) in more.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    let rule: RoutingRule = serde_json::from_value(json!({
        "apiVersion": "usher.dev/v1alpha1", "kind": "RoutingRule", "metadata": {"name": name}, "spec": spec,
    }))
    .expect("a RoutingRule");
    Item::RoutingRule(Arc::new(rule))
}

fn policy(kind: &str, name: &str, spec: Value) -> Item {
    let object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec,
    });
    match kind {
        "ValidatingAdmissionPolicy" => {
            Item::ValidatingAdmissionPolicy(Arc::new(serde_json::from_value(object).expect("a policy")))
        }
        _ => Item::ValidatingAdmissionPolicyBinding(Arc::new(
            serde_json::from_value(object).expect("a binding"),
        )),
    }
}

fn key(name: &str) -> ItemKey {
    ItemKey { kind: ItemKind::RoutingRule, name: name.into() }
}

/// What a request for a Pod is refused with.
fn refusals(live: &LiveRules) -> Vec<String> {
    let decision = decide(&live.load(), &mk_request(), &Query::new(Phase::Validating));
    decision.rejections.into_iter().map(|rejection| rejection.message).collect()
}

#[test]
fn rules_are_served_from_publish_to_delete() {
    let (mut writer, live) = RuleWriter::new(Protected::nothing());
    writer.apply(rule("r", "true", json!({})), None);
    assert_eq!(refusals(&live), Vec::<String>::new());
    assert!(writer.publish());
    assert_eq!(refusals(&live), ["true"]);
    writer.delete(&key("r"));
    assert!(writer.publish());
    assert_eq!(refusals(&live), Vec::<String>::new());
}

#[test]
fn nothing_is_published_when_nothing_changed() {
    let (mut writer, live) = RuleWriter::new(Protected::nothing());
    writer.apply(rule("r", "true", json!({})), None);
    assert!(writer.publish());
    let revision = live.load().revision();
    let compiled = Arc::clone(&live.load().rules()[0]);
    writer.apply(rule("r", "true", json!({})), None);
    assert!(!writer.publish());
    assert_eq!(live.load().revision(), revision);
    writer.apply(rule("other", "true", json!({})), None);
    assert!(writer.publish());
    assert!(live.load().rules().iter().any(|rule| Arc::ptr_eq(rule, &compiled)), "it was not compiled again");
}

#[test]
fn a_bad_update_leaves_the_last_good_version_in_force() {
    let (mut writer, live) = RuleWriter::new(Protected::nothing());
    writer.apply(rule("r", "true", json!({})), None);
    writer.publish();
    writer.apply(rule("r", "nonsense", json!({})), None);
    assert!(!writer.publish());
    assert_eq!(refusals(&live), ["true"]);
    let report = writer.report(&key("r")).expect("known");
    assert_eq!((report.accepted, report.generation, report.served_generation), (false, 2, Some(1)));
    assert_eq!(report.diagnostics.len(), 1);

    writer.apply(rule("r", "object.kind == 'Pod'", json!({})), None);
    assert!(writer.publish());
    assert_eq!(refusals(&live), ["object.kind == 'Pod'"]);
    let report = writer.report(&key("r")).expect("known");
    assert_eq!((report.accepted, report.generation, report.served_generation), (true, 3, Some(3)));
}

#[test]
fn a_broken_rule_can_be_switched_off() {
    let (mut writer, live) = RuleWriter::new(Protected::nothing());
    writer.apply(rule("r", "true", json!({})), None);
    writer.publish();
    assert_eq!(refusals(&live), ["true"]);
    writer.apply(rule("r", "tru", json!({"mode": "Disabled"})), None);
    assert!(writer.publish());
    assert_eq!(refusals(&live), Vec::<String>::new());
    let (_, report) = writer.reports().next().expect("the rule");
    assert!(!report.accepted && report.served_generation.is_none(), "{report:?}");
}

#[test]
fn an_update_that_cannot_be_read_leaves_the_last_good_version_in_force() {
    let (mut writer, live) = RuleWriter::new(Protected::nothing());
    writer.apply(rule("r", "true", json!({})), None);
    writer.publish();
    writer.broken(key("r"), vec![Diagnostic::error(Code::UnknownField, "no field")]);
    assert!(!writer.publish());
    assert_eq!(refusals(&live), ["true"]);
    let report = writer.report(&key("r")).expect("known");
    assert_eq!((report.accepted, report.generation, report.served_generation), (false, 2, Some(1)));

    writer.apply(rule("r", "true", json!({})), None);
    writer.publish();
    assert!(writer.report(&key("r")).expect("known").accepted);
}

#[test]
fn a_bad_new_rule_is_answered_by_its_failure_policy() {
    let (mut writer, live) = RuleWriter::new(Protected::nothing());
    writer.apply(rule("r", "nonsense", json!({})), None);
    writer.apply(rule("i", "nonsense", json!({"failurePolicy": "Ignore"})), None);
    assert!(writer.publish());
    assert_eq!(
        refusals(&live),
        [
            "the rule r is not valid: spec.routes[0].predicate: undeclared reference to 'nonsense' (in container '')"
        ]
    );
    let report = writer.report(&key("r")).expect("known");
    assert_eq!((report.accepted, report.served_generation), (false, None));
    let decision = decide(&live.load(), &mk_request(), &Query::new(Phase::Mutating));
    assert_eq!(decision.rejections.len(), 1, "in either phase");
}

#[test]
fn a_rule_that_fails_its_own_test_is_not_accepted() {
    let (mut writer, live) = RuleWriter::new(Protected::nothing());
    let tests = json!([{
        "name": "t", "object": {"apiVersion": "v1", "kind": "Pod"}, "expect": {"decision": "allow"},
    }]);
    writer.apply(rule("r", "true", json!({"tests": tests})), None);
    writer.publish();
    assert!(!writer.report(&key("r")).expect("known").accepted);
    assert!(refusals(&live)[0].contains("test `t`: expected allow, got deny"));
}

#[test]
fn a_definition_that_comes_later_makes_its_parameters_known() {
    let (mut writer, _live) = RuleWriter::new(Protected::nothing());
    let params = json!({"params": {"apiVersion": "example.com/v1", "kind": "Limit", "name": "a"}});
    writer.apply(rule("r", "params.x == 1", params), None);
    writer.publish();
    assert!(!writer.report(&key("r")).expect("known").accepted);
    let definition =
        json!({"spec": {"group": "example.com", "names": {"kind": "Limit"}, "scope": "Cluster"}});
    let object = StoredObject { json: definition.to_string().into(), labels: BTreeMap::new() };
    let name = ObjectKey {
        api_version: "apiextensions.k8s.io/v1".into(),
        kind: "CustomResourceDefinition".into(),
        namespace: "".into(),
        name: "limits.example.com".into(),
    };
    writer.apply_object(name, object);
    assert!(writer.publish());
    assert!(writer.report(&key("r")).expect("known").accepted);
}

#[test]
fn a_policy_is_in_force_through_its_bindings() {
    let (mut writer, live) = RuleWriter::new(Protected::nothing());
    let spec = json!({
        "matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]},
        ]},
        "validations": [{"expression": "false", "message": "no"}],
    });
    let policy_key = ItemKey { kind: ItemKind::ValidatingAdmissionPolicy, name: "p".into() };
    writer.apply(policy("ValidatingAdmissionPolicy", "p", spec), None);
    writer.publish();
    assert_eq!(refusals(&live), Vec::<String>::new());
    assert_eq!(writer.report(&policy_key).expect("known").served_generation, None);

    let bound = |policy: &str| json!({"policyName": policy, "validationActions": ["Deny"]});
    writer.apply(policy("ValidatingAdmissionPolicyBinding", "b", bound("p")), None);
    assert!(writer.publish());
    assert_eq!(refusals(&live).len(), 1);
    assert_eq!(writer.report(&policy_key).expect("known").served_generation, Some(1));

    writer.apply(policy("ValidatingAdmissionPolicyBinding", "b", bound("other")), None);
    assert!(writer.publish());
    assert_eq!(refusals(&live), Vec::<String>::new());
}

#[test]
fn what_a_source_no_longer_has_is_forgotten() {
    let (mut writer, live) = RuleWriter::new(Protected::nothing());
    writer.apply(rule("a", "true", json!({})), None);
    writer.apply(rule("b", "object.kind == 'Pod'", json!({})), None);
    writer.publish();
    writer.keep_only(&BTreeSet::from([key("b")]), &BTreeSet::new());
    assert!(writer.publish());
    assert_eq!(refusals(&live), ["object.kind == 'Pod'"]);
    assert_eq!(writer.reports().count(), 1);
}
