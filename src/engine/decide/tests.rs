use std::sync::Arc;

use rstest::rstest;
use usher_cel::eval::ErrorKind;
use usher_cel::library::authorizer::{self, Check};

use super::*;
use crate::engine::decision::Finding;
use crate::engine::rule::{
    Actions, AuditAnnotation, Handler, Message, Mutation, NotFound, Panics, ParamChoice, ParamReference,
    Params, Reason, Route, Rule, Scope, Variable,
};
use crate::engine::testing::*;
use crate::engine::{ObjectKey, Operation, Protected, RuleIndex, StoredObject};

mod configurations;
mod mutating;
mod policies;
mod properties;

fn validate(rules: impl IntoIterator<Item = Rule>, request: &Request<'_>) -> Decision {
    decide(&mk_rule_set(rules), request, &Query::new(Phase::Validating))
}

fn with_routes(name: &str, routes: impl IntoIterator<Item = Route>) -> Rule {
    let mut rule = mk_rule(name);
    rule.routes.extend(routes);
    rule
}

fn messages(decision: &Decision) -> Vec<&str> {
    decision.rejections.iter().map(|rejection| rejection.message.as_str()).collect()
}

#[test]
fn without_candidates_everything_is_allowed() {
    let decision = validate([], &mk_request());
    assert!(decision.allowed() && decision.outcomes.is_empty());
}

#[test]
fn all_rejections_are_told_in_the_order_of_the_rules() {
    let low = with_routes("a", [mk_route_if("r", "object.kind == 'Pod'", mk_reject("third"))]);
    let high = Rule {
        priority: 10,
        ..with_routes(
            "z",
            [
                mk_route_if("one", "request.object.metadata.name == 'p'", mk_reject("first")),
                mk_route_if("not", "request.namespace == 'x'", mk_reject("never")),
                mk_route("two", mk_reject("second")),
            ],
        )
    };
    let decision = validate([low, high], &mk_request());
    assert_eq!(messages(&decision), ["first", "second", "third"]);
    let first = &decision.rejections[0];
    assert_eq!(
        (&*first.rule, first.route.as_deref(), first.code, first.reason),
        ("z", Some("one"), 422, "Invalid")
    );
}

#[rstest]
#[case::the_rule(Scope::Rule, &["low"])]
#[case::the_phase(Scope::All, &[])]
fn a_pass_ends(#[case] scope: Scope, #[case] expected: &[&str]) {
    let routes = [mk_route("door", Handler::Pass(scope)), mk_route("r", mk_reject("high"))];
    let high = Rule { priority: 1, ..with_routes("high", routes) };
    let low = with_routes("low", [mk_route("r", mk_reject("low"))]);
    assert_eq!(messages(&validate([high, low], &mk_request())), expected);
}

#[test]
fn a_pass_does_not_undo_rejections_above_it() {
    let high = Rule { priority: 1, ..with_routes("high", [mk_route("r", mk_reject("high"))]) };
    let low = with_routes("low", [mk_route("door", Handler::Pass(Scope::All))]);
    assert_eq!(messages(&validate([high, low], &mk_request())), ["high"]);
}

#[test]
fn a_pass_of_a_rule_on_trial_does_not_switch_off_others() {
    let mut high = with_routes("high", [mk_route("door", Handler::Pass(Scope::All))]);
    (high.priority, high.mode) = (1, Mode::Shadow);
    let low = with_routes("low", [mk_route("r", mk_reject("low"))]);
    assert_eq!(messages(&validate([high, low], &mk_request())), ["low"]);
}

#[rstest]
#[case::fail(FailurePolicy::Fail, &["expression 'object.spec.x == 1' resulted in error: no such key: spec"])]
#[case::ignore(FailurePolicy::Ignore, &[])]
fn an_error_goes_by_the_failure_policy(#[case] failure_policy: FailurePolicy, #[case] expected: &[&str]) {
    let routes = [mk_route_if("r", " object.spec.x == 1 ", mk_reject("no"))];
    let decision = validate([Rule { failure_policy, ..with_routes("a", routes) }], &mk_request());
    assert_eq!(messages(&decision), expected);
    assert!(matches!(decision.outcomes[0].finding, Finding::Error { kind: ErrorKind::NoSuchKey, .. }));
}

#[rstest]
#[case::all_true(&["true", "object.kind == 'Pod'"], &["no"])]
#[case::one_false(&["true", "false"], &[])]
#[case::false_beats_an_error(&["object.x == 1", "false"], &[])]
#[case::error(
    &["object.x == 1", "true"],
    &["expression 'object.x == 1' resulted in error: no such key: x"],
)]
#[case::two_errors(
    &["object.x == 1", "object.y == 1"],
    &["[expression 'object.x == 1' resulted in error: no such key: x, expression 'object.y == 1' resulted in error: no such key: y]"],
)]
fn match_conditions(#[case] conditions: &[&str], #[case] expected: &[&str]) {
    let mut rule = with_routes("a", [mk_route("r", mk_reject("no"))]);
    rule.match_conditions = conditions.iter().map(|text| mk_condition("c", text)).collect();
    assert_eq!(messages(&validate([rule], &mk_request())), expected);
}

#[test]
fn a_predicate_that_is_no_bool_is_an_error() {
    let rule = with_routes("a", [mk_route_if("r", "object.kind", mk_reject("no"))]);
    let decision = validate([rule], &mk_request());
    let expected = "expression 'object.kind' resulted in error: must evaluate to bool but got string";
    assert_eq!(messages(&decision), [expected]);
    assert_eq!(decision.rejections[0].error, Some(ErrorKind::WrongType));
}

#[test]
fn variables_keep_their_value_or_error_for_a_pass() {
    let mut rule = mk_rule("a");
    let names = ["list", "broken", "unused"];
    let texts = ["[1, 2, 3].map(i, i * 2)", "object.nothing", "1 / 0"];
    for (name, text) in names.into_iter().zip(texts) {
        rule.variables.push(Variable { name: name.into(), expression: mk_expression_with(text, &names) });
    }
    let predicate = mk_expression_with("variables.list[0] == 2 && variables.list[2] == 6", &names);
    rule.routes.push(Route { predicate: Some(predicate), ..mk_route("r", mk_reject("no")) });
    let broken = mk_expression_with("variables.broken == 1", &names);
    rule.routes.push(Route { predicate: Some(broken), ..mk_route("r", mk_reject("no")) });
    let decision = validate([rule], &mk_request());
    let error = "expression 'variables.broken == 1' resulted in error: \
                 composited variable \"broken\" fails to evaluate: no such key: nothing";
    assert_eq!(messages(&decision), [error, "no"]);
}

#[rstest]
#[case::text(Some("text"), None, "text")]
#[case::expression(Some("text"), Some("'got ' + object.kind"), "got Pod")]
#[case::broken_expression(Some("text"), Some("object.x"), "text")]
#[case::nothing(None, None, "matched expression: true")]
fn messages_are_chosen(#[case] text: Option<&str>, #[case] expression: Option<&str>, #[case] expected: &str) {
    let message = Message {
        text: text.map(Arc::from),
        expression: expression.map(|text| Box::new(mk_expression(text))),
    };
    let handler = Handler::Reject { message, reason: Reason::Forbidden, code: 451 };
    let decision = validate([with_routes("a", [mk_route_if("r", "true", handler)])], &mk_request());
    assert_eq!(messages(&decision), [expected]);
    assert_eq!(
        (decision.rejections[0].reason, decision.rejections[0].code),
        ("Forbidden", 451),
        "a code of its own wins"
    );
}

#[rstest]
#[case(Mode::Enforce, 1, 0, false)]
#[case(Mode::Warn, 0, 1, false)]
#[case(Mode::Audit, 0, 0, true)]
#[case(Mode::Shadow, 0, 0, false)]
#[case(Mode::Disabled, 0, 0, false)]
fn modes_turn_results_into_effects(
    #[case] mode: Mode,
    #[case] rejections: usize,
    #[case] warnings: usize,
    #[case] annotated: bool,
) {
    let rule = Rule { mode, ..with_routes("a", [mk_route("r", mk_reject("no"))]) };
    let decision = validate([rule], &mk_request());
    assert_eq!((decision.rejections.len(), decision.warnings.len()), (rejections, warnings));
    assert_eq!(decision.outcomes.len(), usize::from(mode != Mode::Disabled));
    let expected = r#"[{"message":"no","policy":"a","route":"r","validationActions":["Audit"]}]"#;
    let expected = annotated.then(|| ("validation_failure".to_owned(), expected.to_owned()));
    assert_eq!(decision.audit_annotations, Vec::from_iter(expected));
}

#[test]
fn warn_and_audit_routes_speak_without_rejecting() {
    let mut audit = mk_route("audit", Handler::Audit);
    for (key, text) in [("kind", "object.kind"), ("none", "null"), ("blank", "' '")] {
        audit.audit_annotations.push(AuditAnnotation { key: key.into(), value: mk_expression(text) });
    }
    let warn = Handler::Warn(Message { text: Some("careful\n".into()), expression: None });
    let decision = validate([with_routes("a", [mk_route("warn", warn), audit])], &mk_request());
    assert!(decision.allowed());
    assert_eq!(decision.warnings, ["careful"]);
    assert_eq!(decision.audit_annotations, [("kind".to_owned(), "Pod".to_owned())]);
}

#[rstest]
#[case::present("request.namespace == 'default' && request.userInfo.username == 'alice'", &["no"])]
#[case::sub_resource_is_missing("has(request.subResource)", &[])]
#[case::uid_is_missing("has(request.userInfo.uid)", &[])]
#[case::the_kind_stands_in_for_the_original("request.requestKind == request.kind", &["no"])]
#[case::core_group_is_there("request.resource.group == '' && !request.dryRun", &["no"])]
#[case::objects("has(request.object) && !has(request.oldObject) && request.oldObject == null", &["no"])]
#[case::options("request.options == null && has(request.options)", &["no"])]
#[case::namespace_object("namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'default'", &["no"])]
fn the_request_is_seen_as_in_kubernetes(#[case] predicate: &str, #[case] expected: &[&str]) {
    let rule = with_routes("a", [mk_route_if("r", predicate, mk_reject("no"))]);
    assert_eq!(messages(&validate([rule], &mk_request())), expected);
}

#[test]
fn namespace_objects_show_the_declared_fields_only() {
    let mut index = RuleIndex::new(Protected::nothing());
    let key = ObjectKey {
        api_version: "v1".into(),
        kind: "Namespace".into(),
        namespace: "".into(),
        name: "default".into(),
    };
    let json = r#"{"kind":"Namespace","metadata":{"name":"default","ownerReferences":[],"labels":{"a":"b"}},"status":{"phase":"Active"}}"#;
    index.apply_object(key, StoredObject { json: json.into(), labels: Default::default() });
    let predicate = "dyn(namespaceObject) == {'metadata': {'name': dyn('default'), 'labels': dyn({'a': 'b'})}, 'status': {'phase': dyn('Active')}}";
    index.apply(Arc::new(with_routes("a", [mk_route_if("r", predicate, mk_reject("no"))])));
    let decision = decide(&index.snapshot(), &mk_request(), &Query::new(Phase::Validating));
    assert_eq!(messages(&decision), ["no"]);
}

fn params(choice: ParamChoice, namespace: Option<&str>, not_found: NotFound) -> Params {
    let reference = ParamReference { choice, namespace: namespace.map(Arc::from), not_found };
    Params {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespaced: true,
        reference: Some(reference),
    }
}

#[rstest]
#[case::by_name(params(ParamChoice::Name("one".into()), Some("x"), NotFound::Deny), &["one"])]
#[case::in_the_namespace_of_the_request(params(ParamChoice::Name("two".into()), None, NotFound::Deny), &["two"])]
#[case::by_selector(params(ParamChoice::Selector(Default::default()), Some("x"), NotFound::Deny), &["one", "three"])]
#[case::not_found_allow(params(ParamChoice::Name("no".into()), None, NotFound::Allow), &[])]
#[case::not_found_deny(
    params(ParamChoice::Name("no".into()), None, NotFound::Deny),
    &["no params: there is no ConfigMap no in the namespace default"],
)]
fn params_are_found_and_each_is_evaluated(#[case] params: Params, #[case] expected: &[&str]) {
    let mut index = RuleIndex::new(Protected::nothing());
    for (namespace, name) in [("x", "one"), ("default", "two"), ("x", "three"), ("y", "four")] {
        let key = ObjectKey {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            namespace: namespace.into(),
            name: name.into(),
        };
        let json = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
        index.apply_object(key, StoredObject { json: json.into(), labels: Default::default() });
    }
    let message = Message { text: None, expression: Some(Box::new(mk_expression("params.metadata.name"))) };
    let reject = Handler::Reject { message, reason: Reason::Invalid, code: 422 };
    let rule = Rule { params: Some(params), ..with_routes("a", [mk_route("r", reject)]) };
    index.apply(Arc::new(rule));
    let decision = decide(&index.snapshot(), &mk_request(), &Query::new(Phase::Validating));
    assert_eq!(
        messages(&decision).into_iter().collect::<std::collections::BTreeSet<_>>(),
        expected.iter().copied().collect()
    );
}

/// True, at a cost of some 200,000 for each item of the innermost list.
fn expensive(innermost: &str) -> String {
    let loops: String =
        ["a", "b", "c", "d"].map(|name| format!("[1,2,3,4,5,6,7,8,9,10].all({name}, ")).concat();
    format!("{loops}{innermost}.all(e, a + b + c + d + e > 0)))))")
}

#[test]
fn an_expression_that_costs_too_much_is_an_error() {
    let rule = with_routes("a", [mk_route_if("r", &expensive("[1,2,3,4,5,6,7,8,9,10]"), mk_reject("no"))]);
    let decision = validate([rule], &mk_request());
    assert_eq!(decision.rejections[0].error, Some(ErrorKind::CostLimit));
    assert!(decision.rejections[0].message.ends_with("operation cancelled: actual cost limit exceeded"));
}

#[test]
fn routes_share_a_budget() {
    let predicate = format!("!{}", expensive("[1,2,3]"));
    let routes = (0..40).map(|i| mk_route_if(&format!("r{i}"), &predicate, mk_reject("no")));
    let decision = validate([with_routes("a", routes)], &mk_request());
    let [rejection] = decision.rejections.as_slice() else { panic!("{:?}", messages(&decision)) };
    assert_eq!(rejection.message, crate::engine::budget::EXHAUSTED);
    assert!(decision.outcomes[0].cost > 10_000_000);
}

#[test]
fn when_the_time_is_up_every_rule_that_is_left_fails() {
    let rules = || ["a", "b"].map(|name| with_routes(name, [mk_route("r", mk_reject("no"))]));
    let asked = std::cell::Cell::new(0);
    let interrupt = || asked.replace(asked.get() + 1) > 0;
    let query = Query { interrupt: &interrupt, ..Query::new(Phase::Validating) };
    let decision = decide(&mk_rule_set(rules()), &mk_request(), &query);
    assert_eq!(
        decision.rejections.iter().map(|r| r.error).collect::<Vec<_>>(),
        [None, Some(ErrorKind::Deadline)]
    );
    assert_eq!(decision.rejections[1].code, 504);
}

#[test]
fn a_panic_is_an_error_of_its_rule() {
    let panics = || -> bool { panic!("asked") };
    let rules = mk_rule_set([with_routes("a", [mk_route_if("r", &expensive("[1]"), mk_reject("no"))])]);
    let first = std::cell::Cell::new(true);
    let interrupt = || if first.replace(false) { false } else { panics() };
    let query = Query { interrupt: &interrupt, ..Query::new(Phase::Validating) };
    let decision = decide(&rules, &mk_request(), &query);
    assert_eq!(decision.rejections[0].error, Some(ErrorKind::Internal));
    assert_eq!(decision.rejections[0].code, 500);
}

#[test]
fn a_rule_that_panics_again_and_again_is_quarantined_and_hurts_nobody_else() {
    let good = with_routes("good", [mk_route("r", mk_reject("good"))]);
    let bad = with_routes("bad", [mk_route_if("r", &expensive("[1]"), mk_reject("no"))]);
    let rules = mk_rule_set([Rule { priority: 1, ..good }, bad]);
    let rejections = || {
        let asked = std::cell::Cell::new(0);
        let interrupt = || match asked.replace(asked.get() + 1) {
            0 | 1 => false,
            _ => panic!("asked"),
        };
        let query = Query { interrupt: &interrupt, ..Query::new(Phase::Validating) };
        messages(&decide(&rules, &mk_request(), &query))
            .join("\n")
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for _ in 0..Panics::MOST {
        let [good, bad] = &rejections()[..] else { panic!("two rules reject") };
        assert!(good.contains("good") && bad.contains("panicked") && !bad.contains("quarantined"), "{bad}");
    }
    for _ in 0..2 {
        let [good, bad] = &rejections()[..] else { panic!("two rules reject") };
        assert!(good.contains("good") && bad.contains("quarantined"), "{bad}");
    }
    let counts: Vec<_> = rules.rules().iter().map(|rule| rule.panics.count()).collect();
    assert_eq!(counts, [0, Panics::MOST]);
}

/// Allows what alice does with Pods.
struct AllowsPods;

impl Authorize for AllowsPods {
    fn check(&self, check: &Check<'_>) -> authorizer::Decision {
        let allowed = (check.resource, check.namespace, check.name) == ("pods", "default", "p");
        authorizer::Decision { allowed, ..authorizer::Decision::default() }
    }
}

#[rstest]
#[case::request_resource("authorizer.requestResource.check('create').allowed()", "allowed")]
#[case::built("authorizer.group('').resource('pods').namespace('x').check('get').allowed()", "")]
fn the_authorizer_is_asked(#[case] predicate: &str, #[case] expected: &str) {
    let rules = mk_rule_set([with_routes("a", [mk_route_if("r", predicate, mk_reject("allowed"))])]);
    let query = Query { authorizer: Some(&AllowsPods), ..Query::new(Phase::Validating) };
    assert_eq!(messages(&decide(&rules, &mk_request(), &query)).concat(), expected);
    let nobody_to_ask = decide(&rules, &mk_request(), &Query::new(Phase::Validating));
    assert!(nobody_to_ask.rejections[0].error.is_some());
}

#[test]
fn a_message_must_not_ask_the_authorizer() {
    let expression = mk_expression("authorizer.requestResource.check('get').allowed() ? 'yes' : 'no'");
    let message = Message { text: Some("fallback".into()), expression: Some(Box::new(expression)) };
    let handler = Handler::Reject { message, reason: Reason::Invalid, code: 422 };
    let rules = mk_rule_set([with_routes("a", [mk_route("r", handler)])]);
    let query = Query { authorizer: Some(&AllowsPods), ..Query::new(Phase::Validating) };
    assert_eq!(messages(&decide(&rules, &mk_request(), &query)), ["fallback"]);
}

#[test]
fn a_class_has_only_rules_of_its_failure_policy() {
    let rules = [FailurePolicy::Fail, FailurePolicy::Ignore].map(|failure_policy| {
        let name = format!("{failure_policy:?}");
        Rule { failure_policy, ..with_routes(&name, [mk_route("r", mk_reject(&name))]) }
    });
    let query = Query { class: Some(FailurePolicy::Ignore), ..Query::new(Phase::Validating) };
    assert_eq!(messages(&decide(&mk_rule_set(rules), &mk_request(), &query)), ["Ignore"]);
}

#[rstest]
#[case::own_namespace("usher-system", "", "pods")]
#[case::system_namespace("kube-system", "", "pods")]
#[case::node("", "", "nodes")]
#[case::lease("default", "coordination.k8s.io", "leases")]
#[case::webhook_configuration("", "admissionregistration.k8s.io", "validatingwebhookconfigurations")]
#[case::own_kind("", "usher.dev", "routingrules")]
fn the_protected_set_is_allowed_whatever_rules_say(
    #[case] namespace: &'static str,
    #[case] group: &'static str,
    #[case] resource: &'static str,
) {
    let mut index = RuleIndex::new(Protected::new("usher-system"));
    index.apply(Arc::new(with_routes("a", [mk_route("r", mk_reject("no"))])));
    let rules = index.snapshot();
    let mut request = Request { namespace, ..mk_request() };
    (request.resource.group, request.resource.resource) = (group, resource);
    let decision = decide(&rules, &request, &Query::new(Phase::Validating));
    assert!(decision.allowed() && decision.protected && decision.outcomes.is_empty());
    assert!(!decide(&rules, &mk_request(), &Query::new(Phase::Validating)).allowed());
}

#[test]
fn a_trace_tells_what_was_looked_at() {
    let mut rule = with_routes("a", [mk_route_if("r", "object.kind == 'Pod'", mk_reject("no"))]);
    rule.match_conditions.push(mk_condition("c", "request.dryRun == false"));
    let mut other = with_routes("b", [mk_route("r", mk_reject("no"))]);
    other.constraints.exclude_resource_rules.push(mk_resource_rule("/v1/pods"));
    let query = Query { trace: true, ..Query::new(Phase::Validating) };
    let decision = decide(&mk_rule_set([rule, other]), &mk_request(), &query);
    let trace = decision.trace.unwrap();
    assert_eq!(trace.rules[0].conditions[0].result, Ok("true".to_owned()));
    let predicate = &trace.rules[0].routes[0].expressions[0];
    assert_eq!((predicate.name.as_str(), predicate.result.as_deref()), ("predicate", Ok("true")));
    assert!(predicate.values.iter().any(|value| value.value == "'Pod'"), "{:?}", predicate.values);
    assert!(trace.rules[0].routes[0].acted);
    assert!(trace.rules[1].skipped.as_deref().is_some_and(|why| why.contains("excluded")));
}

#[test]
fn depth_does_no_harm() {
    let deep = format!(r#"{{"metadata":{{}},"x":{}{}}}"#, "[".repeat(9_990), "]".repeat(9_990));
    let request = Request {
        object: Some(&deep),
        old_object: Some(&deep),
        operation: Operation::Update,
        ..mk_request()
    };
    let rule =
        with_routes("a", [mk_route_if("r", "object == oldObject && size(object.x) == 1", mk_reject("no"))]);
    assert_eq!(messages(&validate([rule], &request)), ["no"]);
}

#[test]
fn managed_fields_are_there_for_a_rule_that_reads_them() {
    let object = r#"{"metadata":{"managedFields":[{"manager":"m"}]}}"#;
    let request = Request { object: Some(object), ..mk_request() };
    for (predicate, expected) in [
        ("object.metadata.managedFields[0].manager == 'm'", true),
        ("size(object.metadata) == 1", true),
        ("object.kind == 'x'", false),
    ] {
        let rules = mk_rule_set([with_routes("a", [mk_route_if("r", predicate, mk_reject("no"))])]);
        assert_eq!(rules.reads_managed_fields(), expected, "{predicate}");
        let decision = decide(&rules, &request, &Query::new(Phase::Validating));
        assert_eq!(messages(&decision).contains(&"no"), expected, "{predicate}");
    }
}
