use rstest::rstest;
use serde_json::{Value, json};
use usher_cel::KubernetesVersion;

use super::*;
use crate::api::{MutatingAdmissionPolicy, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use crate::engine::{Actions, Handler, Mutation, NotFound, Operation, Origin, ParamChoice, Protected};
use crate::rules::{Context, Kinds};

fn validating(spec: Value, binding: Option<Value>) -> CompiledPolicy {
    let policy: ValidatingAdmissionPolicy =
        serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": with_match(spec)}))
            .expect("a policy");
    let binding: Option<ValidatingAdmissionPolicyBinding> = binding.map(|spec| {
        serde_json::from_value(json!({"metadata": {"name": "b"}, "spec": spec})).expect("a binding")
    });
    let context = Context {
        kinds: &Kinds::default(),
        protected: &Protected::default(),
        version: KubernetesVersion::default(),
    };
    compile_validating(&policy, binding.as_ref(), &context)
}

fn mutating(spec: Value) -> CompiledPolicy {
    let policy: MutatingAdmissionPolicy = serde_json::from_value(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "p"}, "spec": with_match(spec),
    }))
    .expect("a policy");
    compile_mutating(
        &policy,
        None,
        &Context {
            kinds: &Kinds::default(),
            protected: &Protected::default(),
            version: KubernetesVersion::default(),
        },
    )
}

fn with_match(mut spec: Value) -> Value {
    if spec.get("matchConstraints").is_none() {
        spec["matchConstraints"] = json!({"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]},
        ]});
    }
    spec
}

fn texts(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics.iter().map(ToString::to_string).collect()
}

#[test]
fn validations_become_routes_that_act_when_they_are_false() {
    let compiled = validating(
        json!({
            "variables": [{"name": "v", "expression": "object.spec"}],
            "matchConditions": [{"name": "c", "expression": "request.operation == 'CREATE'"}],
            "validations": [
                {"expression": "variables.v.x == 1", "message": " no ", "reason": "Forbidden"},
                {"expression": "true", "messageExpression": "'a' + request.name"},
            ],
            "auditAnnotations": [{"key": "k", "valueExpression": "'x'"}],
        }),
        Some(json!({"policyName": "p", "validationActions": ["Warn", "Audit"]})),
    );
    assert_eq!(texts(&compiled.diagnostics), Vec::<String>::new());
    let rule = compiled.rule.expect("sound");
    assert_eq!(&*rule.name, "p/b");
    let actions = Actions { deny: false, warn: true, audit: true };
    assert_eq!(
        rule.origin,
        Origin::ValidatingAdmissionPolicy { policy: "p".into(), binding: "b".into(), actions }
    );
    assert_eq!(rule.routes.len(), 2);
    assert!(rule.routes.iter().all(|route| !route.holds_when));
    let Handler::Reject { message, code: 403, .. } = &rule.routes[0].handler else {
        panic!("{:?}", rule.routes[0]);
    };
    assert_eq!(message.text.as_deref(), Some("no"));
    assert_eq!(rule.audit_annotations.len(), 1);
    assert_eq!(rule.guards.len(), 1, "the match condition guards it");
}

#[test]
fn usher_s_own_names_are_unknown_in_a_policy() {
    let compiled = validating(json!({"validations": [{"expression": "request.object.x == 1"}]}), None);
    assert_eq!(compiled.diagnostics.len(), 1);
    assert!(compiled.diagnostics[0].to_string().contains("in a policy of Kubernetes it is called `object`"));
}

#[rstest]
#[case::fail("Fail", 2)]
#[case::ignore("Ignore", 1)]
fn a_validation_that_does_not_compile_is_an_error_of_its_own(
    #[case] failure_policy: &str,
    #[case] routes: usize,
) {
    let compiled = validating(
        json!({
            "failurePolicy": failure_policy,
            "validations": [{"expression": "object.x =="}, {"expression": "object.x == 1"}],
        }),
        None,
    );
    assert_eq!(compiled.diagnostics.len(), 1);
    let rule = compiled.rule.expect("it is in force all the same");
    assert_eq!(rule.routes.len(), routes);
    if failure_policy == "Fail" {
        let Handler::Reject { message, .. } = &rule.routes[0].handler else { panic!() };
        let text = message.text.as_deref().expect("the error is the text");
        assert!(
            text.starts_with("expression 'object.x ==' resulted in error: compilation error: "),
            "{text}"
        );
    }
}

#[test]
fn a_broken_variable_breaks_what_reads_it_and_nothing_else() {
    let compiled = validating(
        json!({
            "variables": [{"name": "bad", "expression": "x"}, {"name": "good", "expression": "object.y"}],
            "validations": [{"expression": "variables.bad == 1"}, {"expression": "variables.good == 1"}],
        }),
        None,
    );
    let rule = compiled.rule.expect("in force");
    assert_eq!(rule.variables.len(), 2);
    let Handler::Reject { message, .. } = &rule.routes[0].handler else { panic!() };
    let text = message.text.as_deref().expect("a text");
    assert!(text.contains("composited variable \"bad\" fails to compile"), "{text}");
    assert!(rule.routes[1].predicate.is_some());
}

#[test]
fn a_broken_match_condition_breaks_the_policy_unless_another_one_is_false() {
    let compiled = validating(
        json!({
            "matchConditions": [{"name": "a", "expression": "1"}, {"name": "b", "expression": "object.x == 1"}],
            "validations": [{"expression": "request.namespace != 'a'"}],
        }),
        None,
    );
    let rule = compiled.rule.expect("in force");
    assert_eq!(rule.match_conditions.len(), 1);
    assert!(rule.broken.is_some());
    assert!(rule.guards.is_empty());
}

#[test]
fn a_policy_that_the_api_server_would_not_store_has_no_meaning() {
    assert!(validating(json!({}), None).rule.is_none());
    let no_rules = json!({"matchConstraints": {}, "validations": [{"expression": "true"}]});
    assert!(validating(no_rules, None).rule.is_none());
    let both = json!({"policyName": "p", "validationActions": ["Deny", "Warn"]});
    let compiled = validating(json!({"validations": [{"expression": "true"}]}), Some(both));
    assert!(compiled.rule.is_none());
    assert_eq!(compiled.binding_diagnostics.len(), 1);
}

#[test]
fn parameters_come_from_the_binding() {
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "params.data.x == 'y'"}],
    });
    let bound =
        |param_ref: Value| json!({"policyName": "p", "validationActions": ["Deny"], "paramRef": param_ref});
    let rule = validating(spec.clone(), None).rule.expect("sound");
    assert!(rule.params.expect("of a kind").reference.is_none());

    let compiled =
        validating(spec.clone(), Some(bound(json!({"name": "c", "parameterNotFoundAction": "Allow"}))));
    let reference = compiled.rule.and_then(|rule| rule.params?.reference).expect("a reference");
    assert!(matches!(reference.choice, ParamChoice::Name(name) if &*name == "c"));
    assert_eq!(reference.not_found, NotFound::Allow);

    let compiled = validating(spec, Some(bound(json!({"name": "c"}))));
    assert!(compiled.rule.is_none());
    assert!(texts(&compiled.binding_diagnostics)[0].contains("parameterNotFoundAction"));
}

#[test]
fn an_unknown_kind_of_parameters_is_an_error_of_the_policy() {
    let compiled = validating(
        json!({
            "paramKind": {"apiVersion": "example.com/v1", "kind": "Limit"},
            "validations": [{"expression": "params.x == 1"}],
        }),
        None,
    );
    let rule = compiled.rule.expect("in force");
    assert!(rule.broken.expect("broken").contains("failed to find resource referenced by paramKind"));
}

#[test]
fn mutations_become_routes_without_predicate() {
    let compiled = mutating(json!({
        "reinvocationPolicy": "Never",
        "mutations": [{
            "patchType": "JSONPatch",
            "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/metadata/x', value: Object.metadata{}}]"},
        }],
    }));
    assert_eq!(texts(&compiled.diagnostics), Vec::<String>::new());
    let rule = compiled.rule.expect("sound");
    assert!(rule.routes[0].predicate.is_none());
    assert!(!rule.constraints.resource_rules[0].operations.contains(Operation::Delete));
}

#[rstest]
#[case::fail("Fail", true)]
#[case::ignore("Ignore", false)]
fn a_mutation_that_does_not_compile_is_an_error(#[case] failure_policy: &str, #[case] broken: bool) {
    let compiled = mutating(json!({
        "failurePolicy": failure_policy,
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "'x'"}}],
    }));
    assert_eq!(compiled.diagnostics.len(), 1);
    assert_eq!(compiled.rule.expect("in force").broken.is_some(), broken);
}

#[test]
fn an_apply_configuration_becomes_a_mutation_and_must_give_an_object() {
    let compiled = |expression: &str| {
        mutating(json!({
            "mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}},
            ],
        }))
    };
    let sound = compiled("Object{metadata: Object.metadata{labels: {'a': 'b'}}}");
    assert!(sound.diagnostics.is_empty(), "{:?}", sound.diagnostics);
    let rule = sound.rule.expect("in force");
    assert!(matches!(&rule.routes[0].handler, Handler::Mutate(Mutation::ApplyConfiguration(_))));
    let broken = compiled("{'metadata': {}}");
    let text = broken.diagnostics[0].to_string();
    let expected =
        "spec.mutations[0].applyConfiguration.expression:1:1: must evaluate to Object but got map(";
    assert!(text.contains(expected), "{text}");
    assert!(broken.rule.expect("in force").broken.is_some());
}
