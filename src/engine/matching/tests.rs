use rstest::rstest;

use super::*;
use crate::engine::objects::{ObjectKey, Objects, StoredObject};
use crate::engine::request::{GroupVersionResource, Operation, Request};
use crate::engine::testing::{mk_request, mk_resource_rule};

fn check(constraints: &MatchConstraints, request: &Request<'_>) -> Result<(), Mismatch> {
    constraints.check(request, &RequestLabels::default(), &stored_namespaces())
}

fn stored_namespaces() -> Objects {
    let mut objects = Objects::default();
    let key = ObjectKey {
        api_version: "v1".into(),
        kind: "Namespace".into(),
        namespace: "".into(),
        name: "default".into(),
    };
    let labels = [("env".into(), "stored".into())].into();
    objects.insert(key, StoredObject { json: "{}".into(), labels }.into());
    objects
}

fn rules(texts: &[&str]) -> MatchConstraints {
    MatchConstraints {
        resource_rules: texts.iter().map(|text| mk_resource_rule(text)).collect(),
        ..MatchConstraints::default()
    }
}

fn is(key: &str, value: &str) -> LabelSelector {
    LabelSelector { requirements: vec![Requirement::In { key: key.into(), values: vec![value.into()] }] }
}

#[rstest]
#[case::name("/v1/pods", true, false)]
#[case::version("/v2/pods", false, false)]
#[case::group("apps/v1/pods", false, false)]
#[case::any_group("*/*/pods", true, false)]
#[case::one_sub_resource("/v1/pods/exec", false, true)]
#[case::another_sub_resource("/v1/pods/log", false, false)]
#[case::all_sub_resources_and_the_resource("/v1/pods/*", true, true)]
#[case::all_resources("/v1/*", true, false)]
#[case::a_sub_resource_of_all("/v1/*/exec", false, true)]
#[case::everything("/v1/*/*", true, true)]
fn resource_patterns_match_as_in_kubernetes(#[case] rule: &str, #[case] pod: bool, #[case] exec: bool) {
    assert_eq!(check(&rules(&[rule]), &mk_request()).is_ok(), pod);
    assert_eq!(check(&rules(&[rule]), &Request { sub_resource: "exec", ..mk_request() }).is_ok(), exec);
}

#[rstest]
#[case::pod_in_a_namespace("pods", "default", RuleScope::Namespaced, true)]
#[case::pod_is_not_cluster("pods", "default", RuleScope::Cluster, false)]
#[case::no_namespace_is_cluster("nodes", "", RuleScope::Cluster, true)]
#[case::namespaces_are_cluster("namespaces", "default", RuleScope::Cluster, true)]
#[case::namespaces_are_not_namespaced("namespaces", "default", RuleScope::Namespaced, false)]
fn scopes(
    #[case] resource: &'static str,
    #[case] namespace: &'static str,
    #[case] scope: RuleScope,
    #[case] ok: bool,
) {
    let mut constraints = rules(&["*/*/*"]);
    constraints.resource_rules[0].scope = scope;
    let resource = GroupVersionResource { group: "", version: "v1", resource };
    assert_eq!(check(&constraints, &Request { resource, namespace, ..mk_request() }).is_ok(), ok);
}

#[test]
fn resource_names_never_match_an_object_without_a_name() {
    let mut constraints = rules(&["/v1/pods"]);
    constraints.resource_rules[0].resource_names = vec!["p".into()];
    assert_eq!(check(&constraints, &mk_request()), Ok(()));
    assert_eq!(check(&constraints, &Request { name: "", ..mk_request() }), Err(Mismatch::ResourceRules));
}

#[test]
fn an_exclusion_wins() {
    let mut constraints = rules(&["*/*/*"]);
    constraints.exclude_resource_rules.push(mk_resource_rule("/v1/pods"));
    assert_eq!(check(&constraints, &mk_request()), Err(Mismatch::Excluded));
}

#[test]
fn exact_looks_at_the_call_of_the_client_only_and_equivalent_at_both() {
    let old = GroupVersionResource { group: "extensions", version: "v1beta1", resource: "deployments" };
    let new = GroupVersionResource { group: "apps", version: "v1", resource: "deployments" };
    let request = Request { resource: new, request_resource: Some(old), ..mk_request() };
    for (rule, exact) in [("apps/v1/deployments", false), ("extensions/v1beta1/deployments", true)] {
        let mut constraints = rules(&[rule]);
        assert_eq!(check(&constraints, &request), Ok(()));
        constraints.match_policy = MatchPolicy::Exact;
        assert_eq!(check(&constraints, &request).is_ok(), exact, "{rule}");
    }
}

#[rstest]
#[case::object(Some(r#"{"metadata":{"labels":{"app":"web"}}}"#), None, true)]
#[case::old_object(Some(r#"{"metadata":{}}"#), Some(r#"{"metadata":{"labels":{"app":"web"}}}"#), true)]
#[case::neither(Some(r#"{"metadata":{"labels":{"app":"db"}}}"#), Some(r#"{"metadata":{}}"#), false)]
#[case::null(None, None, false)]
fn an_object_selector_looks_at_both_objects(
    #[case] object: Option<&'static str>,
    #[case] old_object: Option<&'static str>,
    #[case] ok: bool,
) {
    let constraints = MatchConstraints { object_selector: is("app", "web"), ..MatchConstraints::default() };
    assert_eq!(check(&constraints, &Request { object, old_object, ..mk_request() }).is_ok(), ok);
}

#[rstest]
#[case::no_labels(r#"{"metadata":{}}"#, true)]
#[case::no_metadata(r#"{"command":["sh"]}"#, false)]
fn a_selector_of_absence_selects_objects_with_metadata_only(#[case] object: &'static str, #[case] ok: bool) {
    let object_selector = LabelSelector {
        requirements: vec![
            Requirement::NotIn { key: "app".into(), values: vec!["web".into()] },
            Requirement::DoesNotExist { key: "x".into() },
        ],
    };
    let constraints = MatchConstraints { object_selector, ..MatchConstraints::default() };
    assert_eq!(check(&constraints, &Request { object: Some(object), ..mk_request() }).is_ok(), ok);
}

const NAMESPACES: GroupVersionResource<'_> =
    GroupVersionResource { group: "", version: "v1", resource: "namespaces" };
const WRITTEN: Option<&str> = Some(r#"{"metadata":{"labels":{"env":"written"}}}"#);

fn namespace_request(operation: Operation, sub_resource: &'static str) -> Request<'static> {
    Request {
        resource: NAMESPACES,
        sub_resource,
        name: "default",
        operation,
        object: WRITTEN,
        ..mk_request()
    }
}

#[rstest]
#[case::object_in_the_namespace(mk_request(), "stored")]
#[case::namespace_is_created(namespace_request(Operation::Create, ""), "written")]
#[case::namespace_is_updated(namespace_request(Operation::Update, ""), "written")]
#[case::namespace_is_deleted(namespace_request(Operation::Delete, ""), "stored")]
#[case::sub_resource_of_a_namespace(namespace_request(Operation::Update, "finalize"), "stored")]
fn namespace_selectors_use_the_labels_that_kubernetes_uses(
    #[case] request: Request<'static>,
    #[case] env: &str,
) {
    for value in ["stored", "written"] {
        let constraints =
            MatchConstraints { namespace_selector: is("env", value), ..MatchConstraints::default() };
        assert_eq!(check(&constraints, &request).is_ok(), value == env, "{value}");
    }
}

#[test]
fn cluster_scoped_objects_pass_every_namespace_selector() {
    let constraints = MatchConstraints { namespace_selector: is("env", "x"), ..MatchConstraints::default() };
    let resource = GroupVersionResource { group: "", version: "v1", resource: "nodes" };
    assert_eq!(check(&constraints, &Request { resource, namespace: "", ..mk_request() }), Ok(()));
}

#[test]
fn an_unknown_namespace_has_its_name_as_label() {
    let constraints =
        MatchConstraints { namespace_selector: is(NAME_LABEL, "new"), ..MatchConstraints::default() };
    assert_eq!(check(&constraints, &Request { namespace: "new", ..mk_request() }), Ok(()));
}

#[test]
fn depth_does_no_harm() {
    let deep = format!(
        r#"{{"spec":{}1{},"metadata":{{"labels":{{"app":"web"}}}}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let constraints = MatchConstraints { object_selector: is("app", "web"), ..MatchConstraints::default() };
    assert_eq!(check(&constraints, &Request { object: Some(&deep), ..mk_request() }), Ok(()));
}
