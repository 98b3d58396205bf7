//! Whether an entry that somebody else has written asks about all that a rule matches. What cannot be seen at a glance counts as no.

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, RuleWithOperations};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::{Hook, Registration, registration, unprotected};
use crate::engine::matching::ResourcePattern;
use crate::engine::{Protected, Rule};

/// Whether some entry asks about what a rule matches, for each path that the rule needs. The entries are those of both configurations that lead to
/// this server; the path for all rules of a phase will do as well.
pub(super) fn is_covered(
    rule: &Rule,
    hooks: &[Hook],
    protected: &Protected,
    entries: &[MutatingWebhook],
) -> bool {
    hooks.iter().all(|hook| {
        let needed = registration(*hook, &[rule], protected);
        needed.is_none_or(|needed| {
            entries.iter().any(|entry| leads_to(entry, *hook) && covers(entry, &needed, protected))
        })
    })
}

/// Whether calls end at a path that answers for the rules of a hook.
fn leads_to(entry: &MutatingWebhook, hook: Hook) -> bool {
    let client = &entry.client_config;
    let service = client.service.as_ref().and_then(|service| service.path.as_deref());
    let all = if hook.is_mutating() { "/mutate" } else { "/validate" };
    [hook.path(), all]
        .into_iter()
        .any(|path| service == Some(path) || client.url.as_deref().is_some_and(|url| url.ends_with(path)))
}

fn covers(entry: &MutatingWebhook, needed: &Registration, protected: &Protected) -> bool {
    let rules = entry.rules.as_deref().unwrap_or_default();
    let conditions = entry.match_conditions.as_deref().unwrap_or_default();
    // Our own condition leaves out nothing that a rule may see.
    let own = unprotected::conditions(rules, protected).unwrap_or_default();
    let is_wide = |wide: &Option<LabelSelector>, narrow: &LabelSelector| {
        wide.as_ref().is_none_or(|wide| is_weaker(wide, narrow))
    };
    needed.rules.iter().all(|rule| rules.iter().any(|wide| is_wider(wide, rule)))
        && (conditions.is_empty() || conditions == own)
        && entry.match_policy.as_deref() != Some("Exact")
        && is_wide(&entry.namespace_selector, &needed.namespace_selector)
        && is_wide(&entry.object_selector, &needed.object_selector)
}

fn is_wider(wide: &RuleWithOperations, narrow: &RuleWithOperations) -> bool {
    let has_all = |wide: &Option<Vec<String>>, narrow: &Option<Vec<String>>| {
        let has = |name: &String| wide.iter().flatten().any(|one| one == "*" || one == name);
        narrow.iter().flatten().all(has)
    };
    let resources = |rule: &RuleWithOperations| -> Vec<ResourcePattern> {
        rule.resources.iter().flatten().map(|text| ResourcePattern::parse(text)).collect()
    };
    let has = |narrow: &ResourcePattern| {
        resources(wide).iter().any(|wide| wide.matches(&narrow.resource, &narrow.sub_resource))
    };
    let scope = wide.scope.as_deref().unwrap_or("*");
    has_all(&wide.api_groups, &narrow.api_groups)
        && has_all(&wide.api_versions, &narrow.api_versions)
        && has_all(&wide.operations, &narrow.operations)
        && (scope == "*" || Some(scope) == narrow.scope.as_deref())
        && resources(narrow).iter().all(has)
}

/// Whether everything that the second selects, the first does: each of its requirements follows from one of the other's.
fn is_weaker(wide: &LabelSelector, narrow: &LabelSelector) -> bool {
    let narrow = requirements(narrow);
    requirements(wide).iter().all(|weak| narrow.iter().any(|strong| follows(weak, strong)))
}

fn follows(weak: &LabelSelectorRequirement, strong: &LabelSelectorRequirement) -> bool {
    let values = |one: &LabelSelectorRequirement| one.values.clone().unwrap_or_default();
    let is_among = |few: Vec<String>, many: Vec<String>| few.iter().all(|value| many.contains(value));
    weak.key == strong.key
        && match (weak.operator.as_str(), strong.operator.as_str()) {
            ("In", "In") => is_among(values(strong), values(weak)),
            ("NotIn", "NotIn") => is_among(values(weak), values(strong)),
            ("NotIn", "In") => !values(strong).iter().any(|value| values(weak).contains(value)),
            ("Exists", "In" | "Exists") | ("NotIn" | "DoesNotExist", "DoesNotExist") => true,
            _ => false,
        }
}

fn requirements(selector: &LabelSelector) -> Vec<LabelSelectorRequirement> {
    let labels = selector.match_labels.iter().flatten().map(|(key, value)| LabelSelectorRequirement {
        key: key.clone(),
        operator: "In".to_owned(),
        values: Some(vec![value.clone()]),
    });
    labels.chain(selector.match_expressions.iter().flatten().cloned()).collect()
}
