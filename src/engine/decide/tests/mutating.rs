use super::*;

fn mutate(rules: impl IntoIterator<Item = Rule>, request: &Request<'_>) -> Decision {
    decide(&mk_rule_set(rules), request, &Query::new(Phase::Mutating))
}

fn patch(decision: &Decision) -> Option<&str> {
    decision.patch.as_deref().map(|patch| std::str::from_utf8(patch).unwrap())
}

fn literal(text: &str) -> Handler {
    Handler::Mutate(Mutation::Patches(text.into()))
}

const ADD_A: &str = r#"[{"op":"add","path":"/metadata/labels/a","value":"1"}]"#;

#[test]
fn a_patch_is_sent_and_the_object_after_it_is_kept() {
    let rule = with_routes("a", [mk_route("r", literal(ADD_A))]);
    let decision = mutate([rule], &mk_request());
    assert_eq!(patch(&decision), Some(ADD_A));
    let after = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"app":"web","a":"1"}}}"#;
    let json = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).unwrap();
    assert_eq!(json(decision.patched_object.as_deref().unwrap()), json(after.as_bytes()));
}

#[test]
fn later_routes_and_rules_see_the_change() {
    let first = Rule {
        priority: 1,
        ..with_routes(
            "first",
            [
                mk_route_if("one", "!('a' in object.metadata.labels)", literal(ADD_A)),
                mk_route_if(
                    "two",
                    "object.metadata.labels.a == '1'",
                    mk_json_patch(
                        "[JSONPatch{op: 'add', path: '/metadata/labels/b', value: object.metadata.labels.a + '2'}]",
                    ),
                ),
            ],
        )
    };
    let second = with_routes(
        "second",
        [mk_route_if(
            "three",
            "object.metadata.labels.b == '12'",
            mk_json_patch("[JSONPatch{op: 'add', path: '/metadata/labels/c', value: 'x'}]"),
        )],
    );
    let mut selected =
        with_routes("selected", [mk_route("four", literal(r#"[{"op":"add","path":"/spec","value":{}}]"#))]);
    selected.priority = -1;
    selected
        .constraints
        .object_selector
        .requirements
        .push(crate::engine::matching::Requirement::Exists { key: "c".into() });
    let decision = mutate([second, first, selected], &mk_request());
    let paths: Vec<_> = serde_json::from_str::<Vec<serde_json::Value>>(patch(&decision).unwrap())
        .unwrap()
        .iter()
        .map(|operation| operation["path"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(paths, ["/metadata/labels/a", "/metadata/labels/b", "/metadata/labels/c", "/spec"]);
}

#[test]
fn a_change_of_nothing_is_no_patch() {
    let same = r#"[{"op":"replace","path":"/metadata/name","value":"p"}]"#;
    let decision = mutate([with_routes("a", [mk_route("r", literal(same))])], &mk_request());
    assert_eq!((patch(&decision), decision.patched_object.is_none()), (None, true));
    assert!(decision.outcomes[0].finding.is_match());
    let empty = mutate([with_routes("a", [mk_route("r", mk_json_patch("[]"))])], &mk_request());
    assert_eq!((patch(&empty), empty.allowed()), (None, true));
}

#[rstest]
#[case::missing_path(r#"[{"op":"remove","path":"/metadata/nothing"}]"#)]
#[case::failed_test(r#"[{"op":"test","path":"/metadata/name","value":"x"}]"#)]
fn a_patch_that_does_not_apply_is_an_error_of_its_route(#[case] text: &str) {
    for failure_policy in [FailurePolicy::Fail, FailurePolicy::Ignore] {
        let routes = [mk_route("bad", literal(text)), mk_route("good", literal(ADD_A))];
        let decision = mutate([Rule { failure_policy, ..with_routes("a", routes) }], &mk_request());
        assert!(matches!(decision.outcomes[0].finding, Finding::Error { .. }), "{:?}", decision.outcomes);
        if failure_policy == FailurePolicy::Fail {
            assert_eq!(decision.rejections[0].route.as_deref(), Some("bad"));
            assert_eq!(patch(&decision), None);
        } else {
            assert_eq!(patch(&decision), Some(ADD_A));
        }
    }
}

const APPEND: &str = r#"[{"op":"add","path":"/list/-","value":"x"}]"#;

#[rstest]
#[case::fail(FailurePolicy::Fail)]
#[case::ignore(FailurePolicy::Ignore)]
fn a_mutation_that_is_no_fixed_point_is_never_sent(#[case] failure_policy: FailurePolicy) {
    let request = Request { object: Some(r#"{"metadata":{"labels":{}},"list":[]}"#), ..mk_request() };
    let routes = [mk_route("append", literal(APPEND)), mk_route("label", literal(ADD_A))];
    let decision = mutate([Rule { failure_policy, ..with_routes("a", routes) }], &request);
    let Finding::Error { message, .. } = &decision.outcomes[0].finding else {
        panic!("{:?}", decision.outcomes)
    };
    assert!(message.contains("not idempotent"), "{message}");
    match failure_policy {
        FailurePolicy::Fail => assert_eq!((decision.rejections.len(), patch(&decision)), (1, None)),
        FailurePolicy::Ignore => assert_eq!(patch(&decision), Some(ADD_A)),
    }
}

#[test]
fn rules_that_undo_each_other_do_not_reach_the_wire() {
    let remove = r#"[{"op":"remove","path":"/metadata/labels/a"}]"#;
    let rule = Rule {
        failure_policy: FailurePolicy::Ignore,
        ..with_routes(
            "a",
            [
                mk_route_if("add", "!('a' in object.metadata.labels)", literal(ADD_A)),
                mk_route_if("remove", "'a' in object.metadata.labels", literal(remove)),
            ],
        )
    };
    let decision = mutate([rule], &mk_request());
    assert_eq!((patch(&decision), decision.allowed()), (None, true));
}

#[rstest]
#[case::fail(FailurePolicy::Fail)]
#[case::ignore(FailurePolicy::Ignore)]
fn a_route_that_only_acts_on_the_result_is_told_of(#[case] failure_policy: FailurePolicy) {
    let early = mk_route_if("early", "has(object.spec)", literal(ADD_A));
    let spec = r#"[{"op":"add","path":"/spec","value":{}}]"#;
    let rule = Rule { failure_policy, ..with_routes("a", [early, mk_route("late", literal(spec))]) };
    let decision = mutate([rule], &mk_request());
    assert_eq!(decision.outcomes[0].route.as_deref(), Some("early"));
    assert!(matches!(decision.outcomes[0].finding, Finding::Error { .. }));
    match failure_policy {
        FailurePolicy::Fail => assert_eq!((decision.rejections.len(), patch(&decision)), (1, None)),
        FailurePolicy::Ignore => assert_eq!(patch(&decision), Some(spec)),
    }
}

#[test]
fn the_answer_to_the_own_result_is_no_patch() {
    let rules = || [with_routes("a", [mk_route("r", literal(ADD_A))])];
    let first = mutate(rules(), &mk_request());
    let after = String::from_utf8(first.patched_object.unwrap()).unwrap();
    assert_eq!(patch(&mutate(rules(), &Request { object: Some(&after), ..mk_request() })), None);
}

#[rstest]
#[case::delete(Operation::Delete, Some("{}"))]
#[case::no_object(Operation::Connect, None)]
fn what_has_no_object_is_not_patched(#[case] operation: Operation, #[case] object: Option<&'static str>) {
    let rule = with_routes("a", [mk_route("r", literal(ADD_A))]);
    let decision = mutate([rule], &Request { operation, object, ..mk_request() });
    assert_eq!((patch(&decision), decision.allowed()), (None, true));
}

#[rstest]
#[case(Mode::Warn)]
#[case(Mode::Audit)]
#[case(Mode::Shadow)]
fn a_rule_on_trial_changes_nothing_for_others(#[case] mode: Mode) {
    let trial = Rule { mode, priority: 1, ..with_routes("a", [mk_route("r", literal(ADD_A))]) };
    let other = r#"[{"op":"add","path":"/metadata/labels/b","value":"1"}]"#;
    let rule = with_routes("b", [mk_route_if("r", "!('a' in object.metadata.labels)", literal(other))]);
    let decision = mutate([trial, rule], &mk_request());
    assert_eq!(patch(&decision), Some(other));
    assert!(decision.outcomes[0].finding.is_match());
}

#[test]
fn fields_that_no_rule_reads_survive_a_patch() {
    let object = r#"{"metadata":{"labels":{},"managedFields":[{"manager":"m"}]}}"#;
    let rule = with_routes("a", [mk_route_if("r", "object.metadata.labels.size() == 0", literal(ADD_A))]);
    let decision = mutate([rule], &Request { object: Some(object), ..mk_request() });
    let after = String::from_utf8(decision.patched_object.unwrap()).unwrap();
    assert!(after.contains("managedFields"), "{after}");
}

#[test]
fn a_json_patch_of_another_type_is_an_error() {
    for text in ["[1]", "'x'", "[JSONPatch{op: 'add', path: dyn(1)}]"] {
        let decision = mutate([with_routes("a", [mk_route("r", mk_json_patch(text))])], &mk_request());
        assert_eq!(decision.rejections[0].error, Some(ErrorKind::WrongType), "{text}");
    }
}
