//! Keeping the protected kinds out of what the API server asks about: what it does not ask about cannot be held up by an outage.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{MatchCondition, RuleWithOperations};

use crate::engine::matching::ResourcePattern;
use crate::engine::{Protected, ProtectedKind};

/// A condition that is false for the protected kinds; none where the rules name none of them. It reads the resource as the client named it, in
/// any version.
pub(super) fn conditions(rules: &[RuleWithOperations], protected: &Protected) -> Option<Vec<MatchCondition>> {
    let mut by_group: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for kind in protected.kinds.iter().filter(|kind| rules.iter().any(|rule| names(rule, kind))) {
        by_group.entry(&kind.group).or_default().push(&kind.resource);
    }
    if by_group.is_empty() {
        return None;
    }
    let clauses: Vec<String> = by_group.iter().map(|(group, resources)| clause(group, resources)).collect();
    Some(vec![MatchCondition { name: "unprotected".to_owned(), expression: clauses.join(" && ") }])
}

/// Neither can have a quote in it.
fn clause(group: &str, resources: &[&str]) -> String {
    if resources.contains(&"*") {
        return format!("request.resource.group != '{group}'");
    }
    let resources: Vec<String> = resources.iter().map(|resource| format!("'{resource}'")).collect();
    format!(
        "!(request.resource.group == '{group}' && request.resource.resource in [{}])",
        resources.join(", ")
    )
}

fn names(rule: &RuleWithOperations, kind: &ProtectedKind) -> bool {
    let all =
        |list: &Option<Vec<String>>, text: &str| list.iter().flatten().any(|one| one == "*" || one == text);
    let resources = || rule.resources.iter().flatten().map(|text| ResourcePattern::parse(text).resource);
    all(&rule.api_groups, &kind.group)
        && resources().any(|named| &*kind.resource == "*" || &*named == "*" || named == kind.resource)
}
