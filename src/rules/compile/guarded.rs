//! A guard only ever leaves out rules that would have done nothing.

use proptest::prelude::*;
use serde_json::{Value, json};
use usher_cel::KubernetesVersion;

use super::*;
use crate::engine::testing::mk_request;
use crate::engine::{Decision, Phase, Query, Request, RuleIndex, decide};

fn facts() -> impl Strategy<Value = String> {
    let read = prop::sample::select(vec![
        "request.namespace",
        "request.name",
        "request.operation",
        "request.subResource",
        "request.userInfo.username",
        "request.kind.kind",
        "dyn(request)['namespace']",
        "request.?namespace.orValue('a')",
        "request.?name.orValue('')",
        "request.?userInfo.?username.orValue('b')",
    ]);
    let value = || prop::sample::select(vec!["'a'", "'b'", "''", "'CREATE'", "'UPDATE'", "'Pod'"]);
    prop_oneof![
        (read.clone(), value()).prop_map(|(read, value)| format!("{read} == {value}")),
        (value(), read.clone()).prop_map(|(value, read)| format!("{value} == {read}")),
        (read.clone(), value()).prop_map(|(read, value)| format!("{read} != {value}")),
        (read, value(), value()).prop_map(|(read, a, b)| format!("{read} in [{a}, {b}]")),
    ]
}

fn expressions() -> impl Strategy<Value = String> {
    let other = prop::sample::select(vec![
        "true",
        "false",
        "has(request.namespace)",
        "has(request.name)",
        "has(request.kind.kind)",
        "has(request.subResource)",
        "request.?namespace.hasValue()",
        "object.metadata.name == 'p'",
        "object.missing == 1",
        "variables.v",
        "object.metadata.labels.exists(l, l == 'app')",
        "object.nothing.all(x, x == 1)",
    ]);
    let leaf = prop_oneof![3 => facts(), 1 => other.prop_map(str::to_owned)];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            3 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            1 => inner.clone().prop_map(|a| format!("!({a})")),
            1 => (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
        ]
    })
}

fn requests() -> Vec<Request<'static>> {
    let mut requests = Vec::new();
    for namespace in ["", "a", "b", "c"] {
        for name in ["", "a", "p"] {
            for (operation, kind) in [("CREATE", "Pod"), ("UPDATE", "a"), ("DELETE", "")] {
                let mut request = mk_request();
                (request.namespace, request.name, request.kind.kind) = (namespace, name, kind);
                request.operation = crate::engine::Operation::parse(operation).expect("an operation");
                request.user_info.username = name;
                request.sub_resource = if namespace == "c" { "a" } else { "" };
                requests.push(request);
            }
        }
    }
    requests
}

/// What can be seen of a decision from outside.
fn seen(decision: &Decision) -> Vec<String> {
    let rejections = decision.rejections.iter();
    rejections.map(|rejection| format!("{:?} {}", rejection.route, rejection.message)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_guarded_rule_does_what_it_does_without_guards(
        variable in expressions(),
        conditions in prop::collection::vec(expressions(), 0..2),
        predicates in prop::collection::vec(expressions(), 1..3),
    ) {
        let variable = variable.replace("variables.v", "true");
        let conditions: Vec<Value> = conditions.iter().enumerate().map(|(index, condition)| {
            let expression = condition.replace("variables.v", "true");
            json!({"name": format!("c{index}"), "expression": expression})
        }).collect();
        let routes: Vec<Value> = predicates.iter().enumerate().map(|(index, predicate)| {
            json!({"name": format!("r{index}"), "predicate": predicate, "reject": {"message": "no"}})
        }).collect();
        let rule: RoutingRule = serde_json::from_value(json!({
            "apiVersion": "usher.dev/v1alpha1", "kind": "RoutingRule", "metadata": {"name": "r"},
            "spec": {
                "variables": [{"name": "v", "expression": variable}],
                "matchConditions": conditions, "routes": routes,
            },
        })).expect("a RoutingRule");
        let context = Context { kinds: &Kinds::default(), protected: &Protected::nothing(), version: KubernetesVersion::default() };
        let set = |guarded: bool| {
            let mut rule = compile(&rule, &context).expect("it compiles").rule;
            if !guarded {
                rule.guards.clear();
            }
            let mut index = RuleIndex::new(Protected::nothing());
            index.apply(rule.into());
            index.snapshot()
        };
        let (guarded, free) = (set(true), set(false));
        for request in requests() {
            let query = Query::new(Phase::Validating);
            let (guarded, free) = (decide(&guarded, &request, &query), decide(&free, &request, &query));
            prop_assert_eq!(seen(&guarded), seen(&free), "{:?}", request);
        }
    }
}
