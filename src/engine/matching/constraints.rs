//! A rule's `match`: resource rules, exclusions and selectors together.

use super::labels::RequestLabels;
use super::resource_rule::ResourceRule;
use super::selector::LabelSelector;
use crate::engine::objects::Objects;
use crate::engine::request::{GroupVersionResource, Operation, Request};

/// `match` of a routing rule, `matchConstraints` of a policy, `matchResources` of a binding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchConstraints {
    /// Empty: any call.
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

/// The part of `match` that a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    ResourceRules,
    Excluded,
    ObjectSelector,
    NamespaceSelector,
}

impl MatchConstraints {
    /// Whether a request is matched; if not, why not. Selectors come last since they have to read objects.
    ///
    /// # Errors
    /// The part that does not match.
    pub(crate) fn check(
        &self,
        request: &Request<'_>,
        labels: &RequestLabels,
        objects: &Objects,
    ) -> Result<(), Mismatch> {
        if !self.resource_rules.is_empty() && !self.any_matches(&self.resource_rules, request) {
            return Err(Mismatch::ResourceRules);
        }
        if self.any_matches(&self.exclude_resource_rules, request) {
            return Err(Mismatch::Excluded);
        }
        if !self.selects_object(request, labels) {
            return Err(Mismatch::ObjectSelector);
        }
        if !self.selects_namespace(request, labels, objects) {
            return Err(Mismatch::NamespaceSelector);
        }
        Ok(())
    }

    fn any_matches(&self, rules: &[ResourceRule], request: &Request<'_>) -> bool {
        calls(request, self.match_policy).any(|(resource, sub_resource)| {
            rules.iter().any(|rule| rule.matches(request, &resource, sub_resource))
        })
    }

    /// Either object will do. apiserver `predicates/object/matcher.go`.
    fn selects_object(&self, request: &Request<'_>, labels: &RequestLabels) -> bool {
        let selector = &self.object_selector;
        selector.is_empty()
            || selector.matches_labels(labels.object(request).as_ref())
            || selector.matches_labels(labels.old_object(request).as_ref())
    }

    /// apiserver `predicates/namespace/matcher.go`. A namespace that is not known (yet) has the one label that every namespace has.
    fn selects_namespace(&self, request: &Request<'_>, labels: &RequestLabels, objects: &Objects) -> bool {
        let selector = &self.namespace_selector;
        if selector.is_empty() {
            return true;
        }
        let is_namespace = request.resource.group.is_empty() && request.resource.resource == "namespaces";
        if request.namespace.is_empty() && !is_namespace {
            return true;
        }
        let written = matches!(request.operation, Operation::Create | Operation::Update);
        if is_namespace && request.sub_resource.is_empty() && written && request.object.is_some() {
            // The stored labels are not yet, or no longer, those of the object.
            return selector.matches_labels(labels.object(request).as_ref());
        }
        let name = if request.namespace.is_empty() { request.name } else { request.namespace };
        if let Some(namespace) = objects.namespace(name) {
            return selector.matches(|key| namespace.labels.get(key).map(AsRef::as_ref));
        }
        if is_namespace && request.old_object.is_some() {
            return selector.matches_labels(labels.old_object(request).as_ref());
        }
        selector.matches(|key| (key == NAME_LABEL).then_some(name))
    }
}

/// Set by the API server on every namespace.
pub(crate) const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The resources by which a request may be known: the one that the client called, and under [`MatchPolicy::Equivalent`] also the one that the
/// API server converted it to.
pub(crate) fn calls<'b>(
    request: &Request<'b>,
    policy: MatchPolicy,
) -> impl Iterator<Item = (GroupVersionResource<'b>, &'b str)> {
    let sent = (request.resource, request.sub_resource);
    let original = (
        request.request_resource.unwrap_or(request.resource),
        request.request_sub_resource.unwrap_or(request.sub_resource),
    );
    let converted = (policy == MatchPolicy::Equivalent && sent != original).then_some(sent);
    std::iter::once(original).chain(converted)
}

impl Mismatch {
    /// For people, after "not matched: ".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ResourceRules => "no resource rule is about this call",
            Self::Excluded => "the call is excluded by excludeResourceRules",
            Self::ObjectSelector => "objectSelector does not select the labels of object or oldObject",
            Self::NamespaceSelector => "namespaceSelector does not select the namespace's labels",
        }
    }
}
