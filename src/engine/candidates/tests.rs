use proptest::prelude::*;

use super::*;
use crate::engine::request::GroupVersionResource;
use crate::engine::testing::{mk_reject, mk_request, mk_resource_rule, mk_route, mk_rule};

fn guarded(name: &str, namespace: &str) -> Arc<Rule> {
    let mut rule = mk_rule(name);
    rule.routes.push(mk_route("r", mk_reject("no")));
    rule.guards.push(Guard { fact: Fact::Namespace, values: vec![namespace.into()], or_absent: true });
    Arc::new(rule)
}

fn find(rules: &[Arc<Rule>], request: &Request<'_>) -> Vec<u32> {
    Candidates::new(rules).find(request, Phase::Validating).collect()
}

#[test]
fn guarded_rules_of_other_namespaces_are_not_looked_at() {
    let rules: Vec<_> = (0..100).map(|i| guarded(&format!("r{i}"), &format!("ns{i}"))).collect();
    let request = Request { namespace: "ns42", ..mk_request() };
    assert_eq!(find(&rules, &request), [42]);
    assert_eq!(find(&rules, &mk_request()), [] as [u32; 0]);
}

#[test]
fn a_guard_whose_fact_is_absent_leaves_the_error_to_the_rule() {
    let rules = [guarded("a", "x"), guarded("b", "y")];
    assert_eq!(find(&rules, &Request { namespace: "", ..mk_request() }), [0, 1]);
}

#[test]
fn rules_found_by_several_ways_come_out_once_and_in_order() {
    let with = |patterns: &[&str]| {
        let mut rule = mk_rule("r");
        rule.routes.push(mk_route("r", mk_reject("no")));
        rule.constraints.resource_rules = patterns.iter().map(|text| mk_resource_rule(text)).collect();
        Arc::new(rule)
    };
    let rules = [
        with(&["*/*/*/*", "/v1/pods"]),
        with(&["apps/v1/deployments"]),
        with(&["/*/pods", "*/*/*"]),
        with(&["/v1/pods/*"]),
        with(&["/v1/pods/exec"]),
    ];
    assert_eq!(find(&rules, &mk_request()), [0, 2, 3]);
    assert_eq!(find(&rules, &Request { sub_resource: "exec", ..mk_request() }), [0, 3, 4]);
}

#[test]
fn disabled_rules_and_rules_of_the_other_phase_are_not_found() {
    let mut disabled = mk_rule("disabled");
    disabled.routes.push(mk_route("r", mk_reject("no")));
    disabled.mode = Mode::Disabled;
    let mut validating = mk_rule("validating");
    validating.routes.push(mk_route("r", mk_reject("no")));
    let rules = [Arc::new(disabled), Arc::new(validating)];
    assert_eq!(find(&rules, &mk_request()), [1]);
    assert_eq!(Candidates::new(&rules).find(&mk_request(), Phase::Mutating).count(), 0);
}

const GROUPS: [&str; 3] = ["", "apps", "*"];
const RESOURCES: [&str; 8] = ["pods", "scales", "*", "*/*", "pods/*", "pods/a", "*/a", "scales/b"];
const NAMES: [&str; 3] = ["x", "y", "z"];

fn any_rule() -> impl Strategy<Value = Arc<Rule>> {
    let patterns = prop::collection::vec((0..GROUPS.len(), 0..RESOURCES.len(), 0_u8..16), 0..3);
    let guards = prop::collection::vec(
        (0..Fact::ALL.len(), prop::collection::vec(0..NAMES.len(), 0..3), any::<bool>()),
        0..3,
    );
    (patterns, guards).prop_map(|(patterns, guards)| {
        let mut rule = mk_rule("r");
        rule.routes.push(mk_route("r", mk_reject("no")));
        for (group, resource, operations) in patterns {
            let mut one = mk_resource_rule(&format!("{}/*/{}", GROUPS[group], RESOURCES[resource]));
            one.operations =
                Operation::ALL.into_iter().filter(|op| operations & 1 << *op as u8 != 0).collect();
            rule.constraints.resource_rules.push(one);
        }
        for (fact, values, or_absent) in guards {
            let values = values.into_iter().map(|value| NAMES[value].into()).collect();
            rule.guards.push(Guard { fact: Fact::ALL[fact], values, or_absent });
        }
        Arc::new(rule)
    })
}

proptest! {
    /// What the index leaves out does not match, and the order is kept.
    #[test]
    fn finds_every_rule_that_matches(
        rules in prop::collection::vec(any_rule(), 0..20),
        (group, resource, sub) in (0..2_usize, 0..2_usize, 0..3_usize),
        original in prop::option::of((0..2_usize, 0..2_usize)),
        (name, namespace, user) in (0..4_usize, 0..4_usize, 0..4_usize),
        operation in 0..4_usize,
    ) {
        let name_at = |i: usize| NAMES.get(i).copied().unwrap_or_default();
        let resource_at = |(group, resource): (usize, usize)| GroupVersionResource {
            group: GROUPS[group],
            version: "v1",
            resource: RESOURCES[resource],
        };
        let mut request = mk_request();
        request.resource = resource_at((group, resource));
        request.request_resource = original.map(resource_at);
        request.sub_resource = ["", "a", "b"][sub];
        (request.name, request.namespace) = (name_at(name), name_at(namespace));
        request.user_info.username = name_at(user);
        request.operation = Operation::ALL[operation];
        let found = find(&rules, &request);
        prop_assert!(found.is_sorted_by(|a, b| a < b));
        let (labels, objects) = Default::default();
        for (rank, rule) in (0_u32..).zip(&rules) {
            let matches = rule.constraints.check(&request, &labels, &objects).is_ok()
                && rule.guards.iter().all(|guard| guard.admits(&request));
            prop_assert!(!matches || found.contains(&rank), "rule {rank} matches: {rule:?}");
        }
    }
}
