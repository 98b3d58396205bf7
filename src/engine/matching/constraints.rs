//! A rule's `match`: resource rules, exclusions and selectors together.

use super::resource_rule::ResourceRule;
use super::selector::LabelSelector;

/// `match` of a routing rule, `matchConstraints` of a policy, `matchResources` of a binding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchConstraints {
    pub resource_rules: Vec<ResourceRule>,
    /// An excluded call never matches, whatever `resource_rules` say.
    pub exclude_resource_rules: Vec<ResourceRule>,
    pub namespace_selector: LabelSelector,
    pub object_selector: LabelSelector,
    pub match_policy: MatchPolicy,
}

/// Whether a call counts that reached the server by another version or group of the same resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchPolicy {
    /// Only as the client called it.
    Exact,
    /// As the client called it or as the API server converted it.
    #[default]
    Equivalent,
}
