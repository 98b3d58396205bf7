use std::collections::BTreeMap;

use rstest::rstest;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::api::ValidatingAdmissionPolicy;
use crate::rules::item::Item;

fn rule(resource: &Value, predicate: &str) -> Item {
    let rule = json!({
        "apiVersion": "usher.dev/v1alpha1", "kind": "RoutingRule", "metadata": {"name": "r"},
        "spec": {
            "match": {"resourceRules": [resource]},
            "variables": [{"name": "meta", "expression": "object.metadata"}],
            "routes": [{"name": "no", "predicate": predicate, "reject": {"message": "no"}}],
        },
    });
    Item::RoutingRule(serde_json::from_value(rule).expect("a rule"))
}

fn resource(group: &str, resources: &[&str]) -> Value {
    json!({"apiGroups": [group], "apiVersions": ["v1"], "resources": resources, "operations": ["*"]})
}

#[rstest]
#[case::near(
    "object.spec.replica > 1",
    "undefined field 'replica', if the object is of kind apps/v1 Deployment",
    Some("did you mean `replicas`?")
)]
#[case::old_object(
    "oldObject.spec.replica > 1",
    "undefined field 'replica'",
    Some("did you mean `replicas`?")
)]
#[case::alias(
    "request.object.spec.replica > 1",
    "undefined field 'replica'",
    Some("did you mean `replicas`?")
)]
#[case::inside_a_loop(
    "object.spec.template.spec.containers.all(c, c.imag != '')",
    "undefined field 'imag'",
    Some("did you mean `image`?")
)]
#[case::of_a_variable(
    "variables.meta.label.a == 'b'",
    "undefined field 'label'",
    Some("did you mean `labels`?")
)]
#[case::another_type(
    "object.spec.replicas == 'three'",
    "found no matching overload for '_==_' applied to '(int, string)'",
    None
)]
#[case::time_as_it_is(
    "object.metadata.creationTimestamp < timestamp('2030-01-01T00:00:00Z')",
    "found no matching overload for '_<_' applied to '(string, timestamp)'",
    None
)]
#[case::no_fields("object.spec.replicas.min == 1", "type 'int' does not support field selection", None)]
fn what_a_kind_does_not_have_is_a_warning(
    #[case] predicate: &str,
    #[case] message: &str,
    #[case] help: Option<&str>,
) {
    let found = type_check(
        &rule(&resource("apps", &["deployments"]), predicate),
        &Schemas::built_in(),
        KubernetesVersion::default(),
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].severity, found[0].code), (Severity::Warning, Code::SchemaMismatch));
    assert_eq!(found[0].field, "spec.routes[0].predicate");
    assert!(found[0].message.starts_with(message), "{}", found[0].message);
    if help.is_some() {
        assert_eq!(found[0].help.as_deref(), help);
    }
}

#[rstest]
#[case::quantity(
    "object.spec.template.spec.containers.all(c, quantity(c.resources.limits.cpu).isLessThan(quantity('1')))"
)]
#[case::int_or_string(
    "object.spec.strategy.rollingUpdate.maxSurge == '25%' || object.spec.strategy.rollingUpdate.maxSurge == 1"
)]
#[case::key_of_a_map("object.metadata.labels.anything == 'x' && object.metadata.labels['a/b'] == 'y'")]
#[case::two_lists(
    "(object.spec.template.spec.containers + object.spec.template.spec.ephemeralContainers).all(c, c.image != '')"
)]
#[case::time(
    "timestamp(object.metadata.creationTimestamp) < timestamp('2030-01-01T00:00:00Z') && object.metadata.creationTimestamp != ''"
)]
#[case::structures_of_two_kinds(
    "([object.spec.template.spec] + object.spec.template.spec.containers).all(p, p.?name.orValue('') != '')"
)]
#[case::reserved_word("object.metadata.namespace == 'a'")]
#[case::free_form("object.metadata.managedFields.all(f, f.fieldsV1.anything == 1)")]
fn what_goes_well_at_run_time_is_no_finding(#[case] predicate: &str) {
    let found = type_check(
        &rule(&resource("apps", &["deployments"]), predicate),
        &Schemas::built_in(),
        KubernetesVersion::default(),
    );
    assert_eq!(found, []);
}

#[test]
fn kinds_are_those_that_are_named_without_wildcards() {
    let kinds = |resource: Value| {
        let item = rule(&resource, "true");
        let written = Written::of(&item, KubernetesVersion::default()).expect("a rule");
        to_check(&written, &Schemas::built_in(), Exposure::Usher)
            .iter()
            .map(Gvk::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(resource("", &["pods/exec", "services", "pods", "*"])), ["v1 Pod", "v1 Service"]);
    assert_eq!(kinds(resource("*", &["pods"])), <[String; 0]>::default());
    assert_eq!(kinds(resource("", &["nothing"])), <[String; 0]>::default());
    let many = [
        "pods",
        "services",
        "secrets",
        "configmaps",
        "nodes",
        "events",
        "endpoints",
        "namespaces",
        "limitranges",
    ];
    let many: Vec<&str> =
        many.into_iter().chain(["resourcequotas", "podtemplates", "serviceaccounts"]).collect();
    assert_eq!(kinds(resource("", &many)).len(), 10);
}

#[test]
fn one_finding_names_the_kinds_that_it_is_about() {
    let item = rule(&resource("", &["pods", "services", "secrets"]), "object.spec.containers.size() > 0");
    let found = type_check(&item, &Schemas::built_in(), KubernetesVersion::default());
    let messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "undefined field 'containers', if the object is of kind v1 Service",
            "undefined field 'spec', if the object is of kind v1 Secret",
        ]
    );
}

#[rstest]
#[case::by_the_request(
    "request.kind.kind == 'Pod' ? object.spec.hostPID : object.spec.template.spec.hostPID"
)]
#[case::by_the_object("object.kind == 'Pod' && object.spec.hostPID || object.spec.template.spec.hostPID")]
#[case::by_asking("has(object.spec.template) ? object.spec.template.spec.hostPID : object.spec.hostPID")]
#[case::by_an_optional("object.spec.?template.?spec.?hostPID.orValue(object.spec.hostPID)")]
fn what_is_wrong_for_one_kind_is_none_where_kinds_are_told_apart(#[case] predicate: &str) {
    let kinds = resource("", &["pods", "replicationcontrollers"]);
    let found = type_check(&rule(&kinds, predicate), &Schemas::built_in(), KubernetesVersion::default());
    assert!(found.iter().all(|finding| !finding.message.contains("Pod")), "{found:?}");
    let wrong = format!("({predicate}) && object.spec.nowhere == 1");
    assert_eq!(
        type_check(&rule(&kinds, &wrong), &Schemas::built_in(), KubernetesVersion::default())
            .iter()
            .filter(|one| one.message.contains("'nowhere'"))
            .count(),
        1
    );
}

#[test]
fn an_expression_that_is_wrong_for_every_object_is_left_to_the_compiler() {
    let item = rule(&resource("", &["pods"]), "object.spec.nothing && objec.spec");
    assert_eq!(type_check(&item, &Schemas::built_in(), KubernetesVersion::default()), []);
}

#[derive(Deserialize)]
struct Case {
    id: String,
    policy: ValidatingAdmissionPolicy,
    #[serde(default)]
    schemas: Vec<Custom>,
    warnings: Option<Vec<Warning>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Custom {
    group: String,
    version: String,
    kind: String,
    #[serde(rename = "resource")]
    resource: String,
    #[serde(rename = "schema")]
    schema: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Warning {
    field_ref: String,
    warning: String,
}

/// The answers are those of the type checker of kube-controller-manager: `tests/cluster/openapi`.
#[rstest]
#[case::random_policies(include_str!("tests/cases.jsonl"), 200)]
#[case::a_custom_resource(include_str!("tests/custom.jsonl"), 29)]
fn policies_get_the_warnings_of_kubernetes(#[case] cases: &str, #[case] least: usize) {
    let mut warnings = 0;
    for line in cases.lines() {
        let case: Case = serde_json::from_str(line).expect("a case");
        let mut schemas = Schemas::built_in();
        for custom in case.schemas {
            schemas.learn(&json!({"spec": {
                "group": custom.group, "scope": "Namespaced",
                "names": {"kind": custom.kind, "plural": custom.resource},
                "versions": [{"name": custom.version, "schema": {"openAPIV3Schema": custom.schema}}],
            }}));
        }
        let expected = case.warnings.into_iter().flatten();
        let expected: BTreeMap<String, String> =
            expected.map(|warning| (warning.field_ref, warning.warning.trim().to_owned())).collect();
        let found = as_kubernetes(&Item::ValidatingAdmissionPolicy(case.policy.into()), &schemas);
        warnings += expected.len();
        assert_eq!(found, expected, "case {}", case.id);
    }
    assert!(warnings >= least, "only {warnings} warnings");
}

/// The warnings by field, in Kubernetes' words.
fn as_kubernetes(item: &Item, schemas: &Schemas) -> BTreeMap<String, String> {
    let written = Written::of(item, KubernetesVersion::default()).expect("a policy");
    let mut warnings: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for gvk in to_check(&written, schemas, Exposure::Kubernetes) {
        for (index, rejected) in findings(&written, &gvk, schemas, Exposure::Kubernetes) {
            let expression = &written.expressions[index];
            if matches!(expression.place, Use::Predicate | Use::Message) {
                let text = rejected.text.trim_start_matches("compilation failed: ");
                let text = format!("{}/{}, Kind={}: {text}\n", gvk.group, gvk.version, gvk.kind);
                warnings.entry(expression.field.clone()).or_default().push(text);
            }
        }
    }
    warnings.into_iter().map(|(field, texts)| (field, texts.join("\n").trim().to_owned())).collect()
}
