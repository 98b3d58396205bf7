use rstest::rstest;
use serde_json::{Value, json};
use usher_cel::KubernetesVersion;

use super::*;
use crate::diagnostic::Severity;

fn rule(spec: Value) -> RoutingRule {
    let object = json!({
        "apiVersion": "usher.dev/v1alpha1", "kind": "RoutingRule", "metadata": {"name": "r"}, "spec": spec,
    });
    serde_json::from_value(object).expect("a RoutingRule")
}

/// A spec about Pods, with the given fields set.
fn spec(fields: Value) -> Value {
    let mut spec = json!({
        "match": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]},
        ]},
        "routes": [{"name": "a", "predicate": "true", "reject": {}}],
    });
    for (key, value) in fields.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    spec
}

fn check(spec: Value) -> Result<Compiled, Vec<Diagnostic>> {
    let context = Context {
        kinds: &Kinds::default(),
        protected: &Protected::default(),
        version: KubernetesVersion::default(),
    };
    compile(&rule(spec), &context)
}

/// One line per finding: `field[:column]: message [help]`.
fn findings(spec: Value) -> Vec<String> {
    let found = match check(spec) {
        Ok(compiled) => compiled.warnings,
        Err(findings) => findings,
    };
    let line = |finding: Diagnostic| {
        let column = finding.text.map(|text| format!(":{}", text.column)).unwrap_or_default();
        let help = finding.help.map(|help| format!(" [{help}]")).unwrap_or_default();
        format!("{}{column}: {}{help}", finding.field, finding.message)
    };
    found.into_iter().map(line).collect()
}

fn predicate(predicate: &str) -> Value {
    spec(json!({
        "variables": [{"name": "images", "expression": "['a']"}],
        "routes": [{"name": "a", "predicate": predicate, "reject": {}}],
    }))
}

#[rstest]
#[case::syntax("object.", ":8: Syntax error: expected a field name")]
#[case::unknown_name(
    "objct == 1",
    ":1: undeclared reference to 'objct' (in container '') [did you mean `object`?]"
)]
#[case::no_bool(
    "'a'",
    ":1: must evaluate to bool but got string [compare it with something, as in `… == true`, or test it with has()]"
)]
#[case::no_bool_as_far_as_is_known("object.spec.enabled", ":1: must evaluate to bool but got dyn")]
#[case::no_bool_from_a_variable("variables.images", ":1: must evaluate to bool but got list(string)")]
#[case::misspelt_variable(
    "variables.image.size() > 0",
    ":1: undefined field 'image' [did you mean `variables.images`?]"
)]
#[case::unknown_variable("variables.x", ":1: undefined field 'x' [the variables are images]")]
#[case::no_params(
    "params.x == 1",
    ":1: undeclared reference to 'params' (in container '') [name the parameter objects in spec.params to read them]"
)]
#[case::misspelt_request_field(
    "request.namespce == 'a'",
    ":1: undefined field 'namespce' [did you mean `namespace`?]"
)]
#[case::no_uid("request.uid == 'a'", "[the uid of a review is no input of a rule]")]
#[case::user_info_field("request.userInfo.name == 'a'", "undefined field 'name'")]
#[case::types_only_of_patches(
    "JSONPatch{op: 'add'} == 1",
    "only jsonPatch and applyConfiguration expressions"
)]
fn a_predicate_that_is_not_sound_is_reported(#[case] source: &str, #[case] expected: &str) {
    let found = findings(predicate(source));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("spec.routes[0].predicate"), "{found:?}");
    assert!(found[0].contains(expected), "{found:?}");
}

#[rstest]
#[case::objects("request.object.kind == object.kind && request.oldObject == null")]
#[case::comparison_of_unknown_types("object.spec.enabled == true")]
#[case::test_of_an_alias("has(request.object) || has(request.oldObject)")]
#[case::structures("request.userInfo.username == 'a' && request.requestKind.kind == 'Pod'")]
#[case::shadowed("[{'x': true}].all(request, request.x)")]
#[case::variable("variables.images.exists(i, i == 'a')")]
#[case::authorizer("authorizer.requestResource.check('x').allowed()")]
#[case::namespace("namespaceObject.metadata.name == 'x'")]
fn a_sound_predicate_compiles(#[case] source: &str) {
    assert_eq!(findings(predicate(source)), Vec::<String>::new());
}

#[test]
fn all_findings_are_reported_at_once() {
    let found = findings(spec(json!({
        "matchConditions": [{"name": "c", "expression": "variables.a"}, {"name": "c", "expression": "1"}],
        "variables": [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "x"}],
        "routes": [
            {"name": "a", "predicate": "y"},
            {"name": "a", "predicate": "true", "reject": {"messageExpression": "1"}, "pass": {}},
        ],
    })));
    let expected = [
        "spec.matchConditions[1].name: `c` is already the name of spec.matchConditions[0]",
        "spec.routes[1].name: `a` is already the name of spec.routes[0]",
        "spec.matchConditions[0].expression:1: undeclared reference to 'variables'",
        "spec.matchConditions[1].expression:1: must evaluate to bool but got int",
        "spec.variables[0].expression:1: undefined field 'b' [`b` is declared after this variable; move it up]",
        "spec.variables[1].expression:1: undeclared reference to 'x'",
        "spec.routes[0].predicate:1: undeclared reference to 'y'",
        "spec.routes[0]: the route has no handler [add one of",
        "spec.routes[1]: the route has 2 handlers: reject, pass [keep one",
        "spec.routes[1].reject.messageExpression:1: must evaluate to string but got int",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found} does not start with {expected}");
    }
}

fn handler(name: &str, handler: Value) -> Vec<String> {
    findings(spec(json!({"routes": [{"name": "a", "predicate": "true", name: handler}]})))
}

#[rstest]
#[case("reject", json!({"message": "a\nb"}), "spec.routes[0].reject.message: a message of several lines")]
#[case("reject", json!({"message": " "}), "spec.routes[0].reject.message: an empty message")]
#[case("reject", json!({"message": "x".repeat(1025)}), "spec.routes[0].reject.message: 1025 characters; at most 1024")]
#[case("reject", json!({"code": 500}), "spec.routes[0].reject.code: 500 is no code of a refusal")]
#[case("reject", json!({"messageExpression": "string(authorizer)"}), "spec.routes[0].reject.messageExpression:8: undeclared reference to 'authorizer'")]
#[case("warn", json!({}), "spec.routes[0].warn: warn has nothing to say")]
#[case("audit", json!({"annotations": []}), "spec.routes[0].audit.annotations: audit has nothing to write down")]
#[case("audit", json!({"annotations": [{"key": "a/b", "valueExpression": "'x'"}]}), "spec.routes[0].audit.annotations[0].key: `a/b` is no key")]
#[case("audit", json!({"annotations": [{"key": "a", "valueExpression": "1"}]}), "spec.routes[0].audit.annotations[0].valueExpression:1: must evaluate to one of [string null_type] but got int")]
#[case("pass", json!({"auditAnnotations": [{"key": "-", "valueExpression": "'x'"}]}), "spec.routes[0].pass.auditAnnotations[0].key: `-` is no key")]
#[case("mutate", json!({}), "spec.routes[0].mutate: mutate has no change to make")]
#[case("mutate", json!({"applyConfiguration": "[1]"}), "spec.routes[0].mutate.applyConfiguration:1: must evaluate to Object but got list(")]
#[case("mutate", json!({"jsonPatch": "'x'"}), "spec.routes[0].mutate.jsonPatch:1: must evaluate to list(JSONPatch) but got string")]
#[case("mutate", json!({"jsonPatch": "[JSONPatch{opp: 'add'}]"}), "spec.routes[0].mutate.jsonPatch:12: undefined field 'opp'")]
#[case("mutate", json!({"patches": [{"op": "add", "path": "", "value": 1}]}), "spec.routes[0].mutate.patches[0].path: the whole object cannot be replaced")]
#[case("mutate", json!({"patches": [{"op": "add", "path": "a", "value": 1}]}), "spec.routes[0].mutate.patches[0].path: `a` is no JSON Pointer [begin with a slash: `/a`]")]
#[case("mutate", json!({"patches": [{"op": "add", "path": "/a~b", "value": 1}]}), "spec.routes[0].mutate.patches[0].path: `/a~b` has a `~`")]
#[case("mutate", json!({"patches": [{"op": "move", "path": "/a"}]}), "spec.routes[0].mutate.patches[0]: the operation move has no from")]
#[case("mutate", json!({"patches": [{"op": "move", "path": "/a/b", "from": "/a"}]}), "spec.routes[0].mutate.patches[0].path: `/a/b` lies inside `/a`")]
#[case("mutate", json!({"patches": [{"op": "remove", "path": "/a", "value": 1}]}), "spec.routes[0].mutate.patches[0].value: the operation remove takes no value")]
#[case("throttle", json!({"requests": 1, "period": "1s"}), "spec.routes[0].throttle: the handler throttle does not work yet")]
#[case("forward", json!({"phase": "Validating", "url": "https://a"}), "spec.routes[0].forward: the handler forward does not work yet")]
fn a_handler_that_cannot_work_is_reported(
    #[case] name: &str,
    #[case] written: Value,
    #[case] expected: &str,
) {
    let found = handler(name, written);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(expected), "{found:?}");
}

#[rstest]
#[case(json!({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}), "spec.match.namespaceSelector.matchExpressions[0].values: the operator In needs values")]
#[case(json!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}}), "spec.match.objectSelector.matchExpressions[0].values: the operator Exists must have no values")]
#[case(json!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Is", "values": ["x"]}]}}), "spec.match.objectSelector.matchExpressions[0].operator: `Is` is no operator")]
#[case(json!({"objectSelector": {"matchLabels": {"a b": "x"}}}), "spec.match.objectSelector.matchLabels['a b']: `a b` is no label key")]
#[case(json!({"objectSelector": {"matchLabels": {"a": "x y"}}}), "spec.match.objectSelector.matchLabels['a']: `x y` is no label value")]
#[case(json!({"resourceRules": [{"apiGroups": ["*", "apps"], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]}]}), "spec.match.resourceRules[0].apiGroups: `*` stands beside other entries")]
#[case(json!({"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": [], "operations": ["*"]}]}), "spec.match.resourceRules[0].resources: empty")]
#[case(json!({"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/a/b"], "operations": ["*"]}]}), "spec.match.resourceRules[0].resources[0]: `pods/a/b` is no resource")]
fn a_match_that_kubernetes_would_refuse_is_reported(#[case] written: Value, #[case] expected: &str) {
    let found = findings(spec(json!({"match": written, "variables": []})));
    assert!(found.iter().any(|finding| finding.starts_with(expected)), "{found:?}");
    assert!(check(spec(json!({"match": written}))).is_err());
}

#[rstest]
#[case(json!({"apiVersion": "example.com/v1", "kind": "Limit", "name": "a"}), "spec.params.kind: Limit of example.com/v1 is not known")]
#[case(json!({"apiVersion": "v1", "kind": "Namespace", "name": "a", "namespace": "b"}), "spec.params.namespace: Namespace is a cluster-scoped kind")]
#[case(json!({"apiVersion": "v1", "kind": "ConfigMap"}), "spec.params: neither name nor selector is set")]
#[case(json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "selector": {}}), "spec.params: both name and selector are set")]
fn parameters_that_cannot_be_found_are_reported(#[case] params: Value, #[case] expected: &str) {
    let found = findings(spec(json!({"params": params})));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(expected), "{found:?}");
}

#[test]
fn a_mode_without_effect_is_refused() {
    let routes = json!([{"name": "a", "predicate": "true", "pass": {}}]);
    let found = findings(spec(json!({"mode": "Warn", "routes": routes})));
    assert_eq!(
        found,
        [
            "spec.mode: mode Warn has no effect on a rule that only mutates or passes [use mode Shadow to try it]"
        ]
    );
}

#[test]
fn a_rule_about_everything_gets_a_warning_unless_it_is_guarded() {
    let everything =
        |predicate: &str| json!({"routes": [{"name": "a", "predicate": predicate, "reject": {}}]});
    let found = findings(everything("object.x == 1"));
    assert!(
        found.len() == 1 && found[0].starts_with("spec.match: the rule looks at every request"),
        "{found:?}"
    );
    assert_eq!(findings(everything("request.namespace == 'a'")), Vec::<String>::new());
}

#[rstest]
#[case::kind(json!({"match": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods", "nodes"], "operations": ["*"]}]}}), "spec.match.resourceRules[0].resources[1]: requests for `nodes` are never intercepted")]
#[case::group(json!({"match": {"resourceRules": [{"apiGroups": ["usher.dev"], "apiVersions": ["*"], "resources": ["routingrules"], "operations": ["*"]}]}}), "spec.match.resourceRules[0].resources[0]: requests for `routingrules` are never")]
#[case::namespace(json!({"routes": [{"name": "a", "predicate": "request.namespace in ['kube-system', 'b']", "reject": {}}]}), "spec: requests in the namespace kube-system are never intercepted")]
fn a_rule_that_names_what_is_protected_gets_a_warning(#[case] fields: Value, #[case] expected: &str) {
    let compiled = check(spec(fields)).expect("a warning is no error");
    assert_eq!(compiled.warnings.len(), 1, "{:?}", compiled.warnings);
    assert_eq!(compiled.warnings[0].severity, Severity::Warning);
    assert!(compiled.warnings[0].to_string().contains(expected), "{}", compiled.warnings[0]);
}

#[test]
fn the_compiled_rule_says_what_was_written() {
    let compiled = check(spec(json!({
        "priority": 7, "mode": "Shadow", "failurePolicy": "Ignore",
        "params": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "notFound": "Allow", "namespace": "b"},
        "variables": [{"name": "v", "expression": "params.data"}],
        "matchConditions": [{"name": "c", "expression": "request.operation == 'CREATE'"}],
        "routes": [
            {"name": "a", "predicate": "variables.v == 'x'", "reject": {"reason": "Invalid", "code": 418}},
            {"name": "b", "predicate": "true", "mutate": {"patches": [{"op": "add", "path": "/a", "value": 1}]}},
        ],
    })));
    let rule = compiled.expect("sound").rule;
    assert_eq!((rule.priority, rule.mode, rule.failure_policy), (7, Mode::Shadow, FailurePolicy::Ignore));
    assert_eq!(rule.guards.len(), 1);
    assert_eq!(rule.variables.len(), 1);
    assert!(matches!(rule.routes[0].handler, crate::engine::Handler::Reject { code: 418, .. }));
    let crate::engine::Handler::Mutate(crate::engine::Mutation::Patches(patch)) = &rule.routes[1].handler
    else {
        panic!("{:?}", rule.routes[1].handler);
    };
    let patch: Value = serde_json::from_str(patch).expect("JSON");
    assert_eq!(patch, json!([{"op": "add", "path": "/a", "value": 1}]));
}

#[test]
fn a_placeholder_matches_what_the_rule_would_match() {
    let broken = rule(predicate("nonsense("));
    let placeholder = placeholder(&broken, "it does not compile").expect("its match is sound");
    assert_eq!(placeholder.constraints.resource_rules.len(), 1);
    assert_eq!(placeholder.broken.as_deref(), Some("it does not compile"));
    assert!(placeholder.acts_in(crate::engine::Phase::Mutating));
}

#[test]
fn there_is_no_placeholder_for_a_rule_of_which_nobody_knows_what_it_matches() {
    let selector = json!({"matchLabels": {"a b": ""}});
    let broken = rule(spec(json!({"match": {"namespaceSelector": selector}})));
    assert!(placeholder(&broken, "it does not compile").is_none());
    let disabled = rule(spec(json!({"mode": "Disabled"})));
    assert!(placeholder(&disabled, "").is_none());
}
