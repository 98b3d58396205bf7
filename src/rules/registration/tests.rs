use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::engine::matching::MatchConstraints;
use crate::engine::testing::{mk_json_patch, mk_reject, mk_request, mk_route, mk_rule, mk_rule_set};
use crate::engine::{GroupVersionResource, Request, Route};

const GROUPS: [&str; 4] = ["", "apps", "batch", "*"];
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "*"];
const RESOURCES: [&str; 4] = ["pods", "deployments", "namespaces", "*"];
const SUB_RESOURCES: [&str; 4] = ["", "status", "exec", "*"];
const NAMES: [&str; 3] = ["", "a", "b"];
const LABELS: [&str; 2] = ["team", "stage"];

fn entry() -> impl Strategy<Value = ResourceRule> {
    let some = |all: &'static [&'static str]| prop::collection::vec(prop::sample::select(all), 1..3);
    let patterns = prop::collection::vec(
        (prop::sample::select(&RESOURCES[..]), prop::sample::select(&SUB_RESOURCES[..])),
        1..4,
    );
    let scopes = prop::sample::select(vec![RuleScope::Any, RuleScope::Cluster, RuleScope::Namespaced]);
    let operations = prop::collection::vec(prop::sample::select(Operation::ALL.to_vec()), 0..5);
    (some(&GROUPS), some(&VERSIONS), patterns, scopes, operations, any::<bool>()).prop_map(
        |(groups, versions, patterns, scope, operations, named)| ResourceRule {
            api_groups: groups.into_iter().map(Into::into).collect(),
            api_versions: versions.into_iter().map(Into::into).collect(),
            resources: patterns
                .into_iter()
                .map(|(resource, sub_resource)| ResourcePattern {
                    resource: resource.into(),
                    sub_resource: sub_resource.into(),
                })
                .collect(),
            operations: operations.into_iter().collect(),
            scope,
            resource_names: if named { vec!["a".into()] } else { Vec::new() },
        },
    )
}

fn label_selector() -> impl Strategy<Value = LabelSelector> {
    let requirement = (prop::sample::select(&LABELS[..]), 0..4).prop_map(|(key, kind)| match kind {
        0 => Requirement::In { key: key.into(), values: vec!["a".into()] },
        1 => Requirement::NotIn { key: key.into(), values: vec!["a".into()] },
        2 => Requirement::Exists { key: key.into() },
        _ => Requirement::DoesNotExist { key: key.into() },
    });
    prop::collection::vec(requirement, 0..2).prop_map(|requirements| LabelSelector { requirements })
}

fn rule() -> impl Strategy<Value = Rule> {
    let constraints = (prop::collection::vec(entry(), 0..4), label_selector()).prop_map(
        |(resource_rules, namespace_selector)| MatchConstraints {
            resource_rules,
            namespace_selector,
            ..MatchConstraints::default()
        },
    );
    (constraints, any::<bool>(), any::<bool>()).prop_map(|(constraints, mutates, ignores)| {
        let handler = if mutates { mk_json_patch("[]") } else { mk_reject("no") };
        Rule {
            constraints,
            failure_policy: if ignores { FailurePolicy::Ignore } else { FailurePolicy::Fail },
            routes: vec![mk_route("r", handler)],
            ..mk_rule("rule")
        }
    })
}

prop_compose! {
    fn request()(
        group in prop::sample::select(&GROUPS[..3]),
        version in prop::sample::select(&VERSIONS[..2]),
        resource in prop::sample::select(&RESOURCES[..3]),
        sub_resource in prop::sample::select(&SUB_RESOURCES[..3]),
        name in prop::sample::select(&NAMES[..]),
        namespace in prop::sample::select(&["", "shop", "kube-system"][..]),
        operation in prop::sample::select(Operation::ALL.to_vec()),
    ) -> Request<'static> {
        let resource = GroupVersionResource { group, version, resource };
        Request { resource, sub_resource, name, namespace, operation, ..mk_request() }
    }
}

/// What the API server asks a webhook about, after its documentation: `rules`, and the selector on the labels of the namespace.
fn is_asked(entry: &Registration, request: &Request<'_>, labels: &[(&str, &str)]) -> bool {
    let has = |list: &Option<Vec<String>>, text: &str| {
        list.as_ref().unwrap().iter().any(|one| one == "*" || one == text)
    };
    let called = request.resource;
    let is_namespace = called.group.is_empty() && called.resource == "namespaces";
    let by_rules = entry.rules.iter().any(|rule| {
        let resources = rule.resources.as_ref().unwrap().iter();
        let mut parts = resources.map(|text| text.split_once('/').unwrap_or((text, "")));
        let scope = match rule.scope.as_deref() {
            Some("Namespaced") => !request.namespace.is_empty() && !is_namespace,
            Some("Cluster") => request.namespace.is_empty() || is_namespace,
            _ => true,
        };
        has(&rule.operations, request.operation.as_str())
            && has(&rule.api_groups, called.group)
            && has(&rule.api_versions, called.version)
            && scope
            && parts.any(|(resource, sub_resource)| {
                (resource == "*" || resource == called.resource)
                    && (sub_resource == "*" || sub_resource == request.sub_resource)
            })
    });
    let label = |key: &str| labels.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    let by_namespace = request.namespace.is_empty()
        || entry.namespace_selector.match_expressions.iter().flatten().all(|expression| {
            let value = label(&expression.key);
            let named = value.is_some_and(|value| expression.values.iter().flatten().any(|one| one == value));
            match expression.operator.as_str() {
                "In" => named,
                "NotIn" => !named,
                "Exists" => value.is_some(),
                _ => value.is_none(),
            }
        });
    by_rules && by_namespace
}

/// What a rule matches, by the matchers of the engine.
fn matches(rule: &Rule, request: &Request<'_>, labels: &[(&str, &str)]) -> bool {
    let constraints = &rule.constraints;
    let by_rules = constraints.resource_rules.is_empty()
        || constraints
            .resource_rules
            .iter()
            .any(|entry| entry.matches(request, &request.resource, request.sub_resource));
    let label = |key: &str| labels.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    let by_namespace = request.namespace.is_empty() || constraints.namespace_selector.matches(label);
    by_rules && by_namespace
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn no_request_that_a_rule_matches_is_filtered_out(
        rules in prop::collection::vec(rule(), 1..5),
        requests in prop::collection::vec(request(), 1..8),
        team in prop::sample::select(vec![None, Some("a"), Some("b")]),
    ) {
        let set = mk_rule_set(rules.into_iter().enumerate().map(|(n, rule)| Rule { name: n.to_string().into(), ..rule }));
        let entries = registrations(&set);
        for request in requests {
            let mut labels = vec![(NAME_LABEL, request.namespace)];
            labels.extend(team.map(|team| ("team", team)));
            for rule in set.rules() {
                if set.protected().covers(&request) || !matches(rule, &request, &labels) {
                    continue;
                }
                for phase in [Phase::Mutating, Phase::Validating].into_iter().filter(|phase| acts(rule, *phase)) {
                    let entry = entries.iter().find(|entry| entry.hook == Hook::of(phase, rule.failure_policy));
                    prop_assert!(
                        entry.is_some_and(|entry| is_asked(entry, &request, &labels)),
                        "{request:?} of {:?} is not in {entry:?}", rule.constraints
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Of entries for other rules than these.
    #[test]
    fn a_rule_that_counts_as_covered_is_asked_about(
        registered in prop::collection::vec(rule(), 1..4),
        rules in prop::collection::vec(rule(), 1..4),
        requests in prop::collection::vec(request(), 1..8),
        team in prop::sample::select(vec![None, Some("a"), Some("b")]),
    ) {
        let named = |rules: Vec<Rule>| {
            mk_rule_set(rules.into_iter().enumerate().map(|(n, rule)| Rule { name: n.to_string().into(), ..rule }))
        };
        let (registered, rules) = (named(registered), named(rules));
        let entries = registrations(&registered);
        let webhook = |entry: &Registration| {
            let address = Address::Service(ServiceAddress::new("usher-system", "usher"));
            entry.webhook(true, address.client_config(entry.hook.path(), None))
        };
        let webhooks: Vec<_> = entries.iter().map(webhook).collect();
        prop_assert_eq!(covered(&registered, &webhooks).len(), registered.rules().len(), "its own entries cover a rule");
        let covered = covered(&rules, &webhooks);
        for rule in rules.rules().iter().filter(|rule| covered.contains(&rule.name)) {
            for request in &requests {
                let mut labels = vec![(NAME_LABEL, request.namespace)];
                labels.extend(team.map(|team| ("team", team)));
                for hook in hooks_of(rule).filter(|_| matches(rule, request, &labels)) {
                    let entry = entries.iter().find(|entry| entry.hook == hook);
                    prop_assert!(entry.is_some_and(|entry| is_asked(entry, request, &labels)), "{request:?} of {rule:?}");
                }
            }
        }
    }
}

#[test]
fn what_leads_elsewhere_or_leaves_something_out_covers_nothing() {
    let set = mk_rule_set([Rule { routes: vec![mk_route("r", mk_reject("no"))], ..mk_rule("a") }]);
    let address = Address::Service(ServiceAddress::new("usher-system", "usher"));
    let good = registrations(&set)[0].webhook(true, address.client_config("/validate/fail", None));
    let with = |change: fn(&mut MutatingWebhook)| {
        let mut webhook = good.clone();
        change(&mut webhook);
        !covered(&set, &[webhook]).is_empty()
    };
    assert!(with(|_| {}));
    assert!(with(|webhook| {
        webhook.client_config.service = None;
        webhook.client_config.url = Some("https://usher.example.com/validate".to_owned());
    }));
    assert!(!with(
        |webhook| webhook.client_config.service.as_mut().unwrap().path = Some("/validate/ignore".to_owned())
    ));
    assert!(!with(|webhook| webhook.match_policy = Some("Exact".to_owned())));
    assert!(!with(|webhook| webhook.object_selector.as_mut().unwrap().match_labels =
        Some([("a".to_owned(), "b".to_owned())].into())));
    assert!(!with(|webhook| {
        webhook.match_conditions =
            Some(vec![MatchCondition { name: "n".to_owned(), expression: "request.dryRun".to_owned() }]);
    }));
    assert!(!with(|webhook| webhook.rules = None));
}

#[rstest]
#[case(&["pods", "pods/status"], &["pods", "pods/status"])]
#[case(&["pods", "pods/*", "pods/status"], &["pods/*"])]
#[case(&["*", "pods", "pods/status"], &["*", "pods/status"])]
#[case(&["*/status", "pods/status", "pods"], &["*/status", "pods"])]
#[case(&["*/*", "*", "pods/exec"], &["*/*"])]
fn a_list_has_no_entry_that_another_one_covers(#[case] given: &[&str], #[case] wanted: &[&str]) {
    assert_eq!(least(&given.iter().map(|text| (*text).to_owned()).collect()), wanted);
}

#[test]
fn without_a_rule_there_is_no_entry_and_a_disabled_one_is_none() {
    assert!(registrations(&mk_rule_set([])).is_empty());
    let rejecting: Vec<Route> = vec![mk_route("r", mk_reject("no"))];
    let disabled = Rule { mode: Mode::Disabled, routes: rejecting, ..mk_rule("a") };
    assert!(registrations(&mk_rule_set([disabled])).is_empty());
    let passing =
        Rule { routes: vec![mk_route("r", Handler::Pass(crate::engine::Scope::All))], ..mk_rule("a") };
    let set = mk_rule_set([passing]);
    let hooks: Vec<Hook> = registrations(&set).iter().map(|entry| entry.hook).collect();
    assert_eq!(hooks, [Hook::ValidateFail]);
    assert_eq!(super::hooks(&set)["a"].iter().collect::<Vec<_>>(), [Hook::ValidateFail]);
}

#[rstest]
#[case::nothing_protected("", "pods", None)]
#[case::one("", "nodes/*", Some("!(request.resource.group == '' && request.resource.resource in ['nodes'])"))]
#[case::all_of_a_group("usher.dev", "*", Some("request.resource.group != 'usher.dev'"))]
#[case::some_of_a_group(
    "*",
    "leases",
    Some(
        "request.resource.group != 'admissionregistration.k8s.io' && !(request.resource.group == 'coordination.k8s.io' && \
         request.resource.resource in ['leases']) && request.resource.group != 'usher.dev'"
    )
)]
fn protected_kinds_are_not_even_asked_about(
    #[case] group: &str,
    #[case] resource: &str,
    #[case] expected: Option<&str>,
) {
    let rule = Rule {
        constraints: MatchConstraints {
            resource_rules: vec![ResourceRule {
                api_groups: vec![group.into()],
                resources: vec![ResourcePattern::parse(resource)],
                ..ResourceRule::anything()
            }],
            ..MatchConstraints::default()
        },
        routes: vec![mk_route("r", mk_reject("no"))],
        ..mk_rule("a")
    };
    let conditions = unprotected::conditions(&union(&[&rule]), &Protected::default()).unwrap_or_default();
    assert_eq!(conditions.iter().map(|one| one.expression.as_str()).next(), expected);
}
