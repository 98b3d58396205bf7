//! Where imported policies differ from routing rules.

use super::*;

fn validation(expression: &str) -> Route {
    let message = Message::default();
    let handler = Handler::Reject { message, reason: Reason::Invalid, code: 422 };
    Route { holds_when: false, ..mk_route_if("v", expression, handler) }
}

fn validating_policy(actions: Actions, routes: impl IntoIterator<Item = Route>) -> Rule {
    let origin = Origin::ValidatingAdmissionPolicy { policy: "p".into(), binding: "b".into(), actions };
    Rule { origin, ..with_routes("p/b", routes) }
}

fn mutating_policy(routes: impl IntoIterator<Item = Route>) -> Rule {
    let origin = Origin::MutatingAdmissionPolicy { policy: "p".into(), binding: "b".into() };
    Rule { origin, ..with_routes("p/b", routes) }
}

const DENY: Actions = Actions { deny: true, warn: false, audit: false };

#[test]
fn a_validation_rejects_when_it_is_not_true() {
    let routes = [
        validation(" object.kind == 'Pod' "),
        validation(" object.kind == 'Node' "),
        validation("object.kind"),
    ];
    let decision = validate([validating_policy(DENY, routes)], &mk_request());
    assert_eq!(
        messages(&decision),
        ["failed expression: object.kind == 'Node'", "failed expression: object.kind"]
    );
}

#[test]
fn validation_actions_say_what_becomes_of_a_failure() {
    let actions = Actions { deny: false, warn: true, audit: true };
    let decision =
        validate([validating_policy(actions, [validation("true"), validation("false")])], &mk_request());
    assert!(decision.allowed());
    let warning =
        "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: false";
    assert_eq!(decision.warnings, [warning]);
    let text = r#"[{"message":"failed expression: false","policy":"p","binding":"b","expressionIndex":1,"validationActions":["Warn","Audit"]}]"#;
    assert_eq!(decision.audit_annotations, [("validation_failure".to_owned(), text.to_owned())]);
}

#[test]
fn a_configuration_error_denies_whatever_the_actions() {
    let actions = Actions { deny: false, warn: true, audit: false };
    let mut rule = validating_policy(actions, [validation("true")]);
    rule.params = Some(params(ParamChoice::Name("no".into()), None, NotFound::Deny));
    let decision = validate([rule], &mk_request());
    let expected =
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    assert_eq!(messages(&decision), [expected]);
}

#[test]
fn match_conditions_of_policies_see_no_namespace_object() {
    let mut rule = validating_policy(DENY, [validation("namespaceObject == null")]);
    rule.match_conditions.push(mk_condition("c", "namespaceObject == null"));
    assert_eq!(messages(&validate([rule], &mk_request())).len(), 1);
}

#[test]
fn a_policy_belongs_to_its_phase() {
    let rules = mk_rule_set([validating_policy(DENY, [validation("false")])]);
    assert!(decide(&rules, &mk_request(), &Query::new(Phase::Mutating)).outcomes.is_empty());
}

#[test]
fn annotations_of_a_policy_are_made_even_when_everything_is_fine() {
    let mut rule = validating_policy(DENY, [validation("true")]);
    rule.audit_annotations
        .push(AuditAnnotation { key: "k".into(), value: mk_expression("'v ' + object.kind") });
    let decision = validate([rule], &mk_request());
    assert_eq!(decision.audit_annotations, [("k".to_owned(), "v Pod".to_owned())]);
}

#[test]
fn a_failed_test_makes_the_mutation_nothing_and_later_ones_still_run() {
    let add = |key: &str| format!(r#"{{"op":"add","path":"/metadata/labels/{key}","value":"1"}}"#);
    let test = format!(r#"[{{"op":"test","path":"/metadata/name","value":"x"}},{}]"#, add("a"));
    let routes = [
        mk_route("one", Handler::Mutate(Mutation::Patches(test.into()))),
        mk_route("two", Handler::Mutate(Mutation::Patches(r#"[{"op":"remove","path":"/nothing"}]"#.into()))),
        mk_route("three", Handler::Mutate(Mutation::Patches(format!("[{}]", add("b")).into()))),
    ];
    let rule = Rule { failure_policy: FailurePolicy::Ignore, ..mutating_policy(routes) };
    let decision = decide(&mk_rule_set([rule]), &mk_request(), &Query::new(Phase::Mutating));
    assert_eq!(decision.patch.as_deref(), Some(format!("[{}]", add("b")).as_bytes()));
}

#[test]
fn a_mutation_that_is_no_fixed_point_is_sent_with_a_warning() {
    let append = r#"[{"op":"add","path":"/list/-","value":"x"}]"#;
    let rule = mutating_policy([mk_route("one", Handler::Mutate(Mutation::Patches(append.into())))]);
    let request = Request { object: Some(r#"{"metadata":{},"list":[]}"#), ..mk_request() };
    let decision = decide(&mk_rule_set([rule]), &request, &Query::new(Phase::Mutating));
    assert_eq!(decision.patch.as_deref(), Some(append.as_bytes()));
    assert!(decision.outcomes[0].warning.as_deref().is_some_and(|text| text.contains("not idempotent")));
}
