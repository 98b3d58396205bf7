//! What holds for any rules and any request.

use proptest::prelude::*;

use super::*;

const PREDICATES: [&str; 9] = [
    "true",
    "object.metadata.labels.a == '1'",
    "!('b' in object.metadata.labels)",
    "has(object.spec.x)",
    "oldObject.metadata.name == 'p'",
    "request.namespace == 'default'",
    "object.list[3] == 1",
    "request.name.matches('^p')",
    "size(object.metadata.labels) < 3",
];

const PATCHES: [&str; 8] = [
    r#"[{"op":"add","path":"/metadata/labels/a","value":"1"}]"#,
    r#"[{"op":"add","path":"/metadata/labels/b","value":"1"}]"#,
    r#"[{"op":"remove","path":"/metadata/labels/a"}]"#,
    r#"[{"op":"add","path":"/list/-","value":"x"}]"#,
    r#"[{"op":"replace","path":"/spec","value":{"x":1}}]"#,
    r#"[{"op":"test","path":"/metadata/name","value":"q"}]"#,
    r#"[{"op":"copy","from":"/metadata/name","path":"/metadata/labels/c"}]"#,
    r#"[{"op":"remove","path":"/metadata"}]"#,
];

const OBJECTS: [Option<&str>; 6] = [
    None,
    Some("{}"),
    Some(r#"{"metadata":{"name":"p","labels":{}},"list":[1,2,3,1],"spec":{}}"#),
    Some(r#"{"metadata":{"name":"q","labels":{"a":"1","b":"2"},"managedFields":[{}]}}"#),
    Some(r#"{"metadata":null}"#),
    Some("[1"),
];

fn any_rule() -> impl Strategy<Value = Rule> {
    let route = (0..PREDICATES.len(), 0..PATCHES.len() + 3);
    let mode =
        prop::sample::select(vec![Mode::Enforce, Mode::Enforce, Mode::Warn, Mode::Audit, Mode::Shadow]);
    let failure_policy = prop::sample::select(vec![FailurePolicy::Fail, FailurePolicy::Ignore]);
    let routes = prop::collection::vec(route, 0..4);
    ("[a-d]", -1..2, mode, failure_policy, routes, any::<bool>()).prop_map(
        |(name, priority, mode, failure_policy, routes, imported)| {
            let routes = routes.into_iter().map(|(predicate, handler)| {
                let handler = match handler.checked_sub(3) {
                    Some(patch) => Handler::Mutate(Mutation::Patches(PATCHES[patch].into())),
                    None => [mk_reject("no"), Handler::Pass(Scope::All), Handler::Audit]
                        .into_iter()
                        .nth(handler)
                        .unwrap(),
                };
                mk_route_if("r", PREDICATES[predicate], handler)
            });
            let mut rule = with_routes(&name, routes);
            (rule.priority, rule.mode, rule.failure_policy) = (priority, mode, failure_policy);
            if imported {
                rule.origin = Origin::MutatingAdmissionPolicy { policy: "p".into(), binding: "b".into() };
            }
            rule
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// The same answer each time; a patch only for what is allowed and makes of the object what is said; and where only routing rules speak,
    /// and without errors, the same question about the result is answered without a patch.
    #[test]
    fn answers_are_repeatable_and_patches_settle(
        rules in prop::collection::vec(any_rule(), 0..5),
        object in prop::sample::select(OBJECTS.to_vec()),
        old_object in prop::sample::select(OBJECTS.to_vec()),
        operation in prop::sample::select(Operation::ALL.to_vec()),
        phase in prop::sample::select(vec![Phase::Mutating, Phase::Validating]),
    ) {
        let imported = rules.iter().any(|rule| rule.origin != Origin::RoutingRule);
        let rules = mk_rule_set(rules);
        let request = Request { object, old_object, operation, ..mk_request() };
        let ask = |request: &Request<'_>| decide(&rules, request, &Query::new(phase));
        let decision = ask(&request);
        prop_assert_eq!(format!("{decision:?}"), format!("{:?}", ask(&request)));
        let Some(patch) = &decision.patch else { return Ok(()) };
        prop_assert!(decision.allowed() && phase == Phase::Mutating && operation != Operation::Delete);
        prop_assert!(patch.starts_with(b"[{"), "an empty patch was sent");
        let failed = decision.outcomes.iter().any(|outcome| matches!(outcome.finding, Finding::Error { .. }));
        let after = String::from_utf8(decision.patched_object.clone().unwrap()).unwrap();
        prop_assert_ne!(Some(&*after), object);
        let again = ask(&Request { object: Some(&after), ..request.clone() });
        prop_assert!(imported || failed || again.patch.is_none(), "{again:?}");
    }
}
