//! `applyConfiguration` from the expression to the patch.

use super::*;

fn decision(rules: impl IntoIterator<Item = Rule>, object: &str) -> Decision {
    decide(
        &mk_rule_set(rules),
        &Request { object: Some(object), ..mk_request() },
        &Query::new(Phase::Mutating),
    )
}

fn rule(texts: &[&str]) -> Rule {
    with_routes("a", texts.iter().enumerate().map(|(index, text)| route(&format!("r{index}"), text)))
}

fn route(name: &str, text: &str) -> Route {
    mk_route(name, mk_apply_configuration(text))
}

fn patch(decision: &Decision) -> Option<&str> {
    decision.patch.as_deref().map(|patch| std::str::from_utf8(patch).unwrap())
}

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","managedFields":[{"manager":"m"}]},"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}}"#;

#[test]
fn only_what_changes_is_sent() {
    let text = "Object{metadata: Object.metadata{name: 'p', labels: {'a/b': 'c'}}, spec: Object.spec{containers: \
                object.spec.containers.map(c, Object.spec.containers{name: c.name, imagePullPolicy: 'Always'})}}";
    let sent = r#"[{"op":"add","path":"/metadata/labels","value":{"a/b":"c"}},{"op":"add","path":"/spec/containers/0/imagePullPolicy","value":"Always"},{"op":"add","path":"/spec/containers/1/imagePullPolicy","value":"Always"}]"#;
    let decision = decision([rule(&[text])], POD);
    assert_eq!(patch(&decision), Some(sent));
    let after = String::from_utf8(decision.patched_object.unwrap()).unwrap();
    assert!(after.contains(r#""managedFields":[{"manager":"m"}]"#), "{after}");
}

#[test]
fn each_mutation_works_on_the_result_of_the_one_before() {
    let texts = [
        "Object{metadata: Object.metadata{labels: {'a': 'x'}}}",
        "Object{metadata: Object.metadata{labels: {'b': object.metadata.labels.a + 'y'}}}",
    ];
    let sent = r#"[{"op":"add","path":"/metadata/labels","value":{"a":"x"}},{"op":"add","path":"/metadata/labels/b","value":"xy"}]"#;
    assert_eq!(patch(&decision([rule(&texts)], POD)), Some(sent));
}

#[test]
fn what_is_there_already_is_no_patch() {
    let texts = [
        "Object{}",
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'b', image: 'y'}]}}",
    ];
    let decision = decision([rule(&texts)], POD);
    assert_eq!(patch(&decision), None);
    assert!(decision.outcomes[0].finding.is_match());
}

#[test]
fn optional_fields_that_are_absent_are_left_alone() {
    let text = "Object{metadata: Object.metadata{?labels: object.metadata.?annotations, ?generateName: \
                optional.of('g-')}}";
    let sent = r#"[{"op":"add","path":"/metadata/generateName","value":"g-"}]"#;
    assert_eq!(patch(&decision([rule(&[text])], POD)), Some(sent));
}

#[rstest]
#[case::another_place(
    "Object{spec: Object.wrong{}}",
    "unexpected type name \"Object.wrong\", expected \"Object.spec\", which matches field name path"
)]
#[case::in_a_list(
    "Object{spec: Object.spec{containers: [Object.spec{}]}}",
    "unexpected type name \"Object.spec\", expected \"Object.spec.containers\""
)]
#[case::in_a_map(
    "Object{metadata: {'labels': Object.metadata.labels{}}}",
    "unexpected type name \"Object.metadata.labels\", expected \"Object.metadata\""
)]
fn an_object_of_another_type_than_its_place_is_an_error(#[case] text: &str, #[case] expected: &str) {
    let decision = decision([rule(&[text])], POD);
    let rejection = &decision.rejections[0];
    assert_eq!(rejection.error, Some(ErrorKind::WrongType));
    assert!(rejection.message.contains(&format!("type mismatch: {expected}")), "{}", rejection.message);
}

#[rstest]
#[case::no_object("dyn(1)", "must evaluate to Object but got int")]
#[case::not_the_root(
    "Object.spec{}",
    "type mismatch: unexpected type name \"Object.spec\", expected \"Object\""
)]
#[case::unsigned("Object{spec: Object.spec{priority: 3u}}", ".spec.priority: a uint cannot be merged")]
#[case::bytes(
    "Object{metadata: Object.metadata{generateName: b'x'}}",
    ".metadata.generateName: a bytes cannot be merged"
)]
#[case::keys(
    "Object{metadata: Object.metadata{labels: {1: 'b'}}}",
    ".metadata.labels: the key of a map is of type int, not string"
)]
#[case::null("Object{spec: Object.spec{hostname: null}}", ".spec.hostname: null cannot be merged")]
#[case::atomic(
    "Object{spec: Object.spec{nodeSelector: {'a': 'b'}}}",
    "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.nodeSelector"
)]
fn a_mutation_that_cannot_be_made_falls_under_the_failure_policy(#[case] text: &str, #[case] expected: &str) {
    let good = "Object{spec: Object.spec{hostname: 'h'}}";
    let failed = decision([rule(&[text, good])], POD);
    assert!(failed.rejections[0].message.contains(expected), "{}", failed.rejections[0].message);
    assert_eq!(patch(&failed), None);
    let ignored = decision([Rule { failure_policy: FailurePolicy::Ignore, ..rule(&[text, good]) }], POD);
    assert_eq!(patch(&ignored), Some(r#"[{"op":"add","path":"/spec/hostname","value":"h"}]"#));
}

#[test]
fn a_merge_that_grows_with_each_evaluation_is_not_sent() {
    let text =
        "Object{metadata: Object.metadata{labels: {'a': object.metadata.?labels.a.orValue('') + 'x'}}}";
    let decision = decision([rule(&[text])], POD);
    assert_eq!(patch(&decision), None);
    assert!(decision.rejections[0].message.contains("not idempotent"), "{}", decision.rejections[0].message);
}
