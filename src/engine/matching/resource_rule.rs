//! Resource rules: which API calls a rule is about.

use crate::engine::request::{GroupVersionResource, Operation, Request};

/// One `resourceRules` or `excludeResourceRules` entry. All parts must match. apiserver `predicates/rules/rules.go`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// `*` or names; the core group is the empty name.
    pub api_groups: Vec<Box<str>>,
    /// `*` or versions.
    pub api_versions: Vec<Box<str>>,
    pub resources: Vec<ResourcePattern>,
    pub operations: OperationSet,
    pub scope: RuleScope,
    /// Empty: any. An object without a name yet (`generateName`) matches no list.
    pub resource_names: Vec<Box<str>>,
}

/// `pods`, `pods/exec`, `pods/*`, `*`, `*/scale`, `*/*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourcePattern {
    /// `*` or a name.
    pub resource: Box<str>,
    /// Empty, `*` or a name. `*` also means the resource itself.
    pub sub_resource: Box<str>,
}

/// A set of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationSet(u8);

/// Whether a rule is about objects in namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuleScope {
    #[default]
    Any,
    /// Objects without a namespace, and Namespaces.
    Cluster,
    Namespaced,
}

impl ResourceRule {
    /// Every call.
    pub fn anything() -> Self {
        Self {
            api_groups: vec!["*".into()],
            api_versions: vec!["*".into()],
            resources: vec![ResourcePattern::parse("*/*")],
            operations: OperationSet::ALL,
            ..Self::default()
        }
    }

    /// Whether the rule is about this request, seen as a call to `resource`.
    pub fn matches(
        &self,
        request: &Request<'_>,
        resource: &GroupVersionResource<'_>,
        sub_resource: &str,
    ) -> bool {
        self.operations.contains(request.operation)
            && contains_or_all(&self.api_groups, resource.group)
            && contains_or_all(&self.api_versions, resource.version)
            && self.resources.iter().any(|pattern| pattern.matches(resource.resource, sub_resource))
            && self.scope.matches(request, resource)
            && (self.resource_names.is_empty()
                || self.resource_names.iter().any(|name| **name == *request.name))
    }
}

impl ResourcePattern {
    pub fn parse(text: &str) -> Self {
        let (resource, sub_resource) = text.split_once('/').unwrap_or((text, ""));
        Self { resource: resource.into(), sub_resource: sub_resource.into() }
    }

    pub fn matches(&self, resource: &str, sub_resource: &str) -> bool {
        (&*self.resource == "*" || *self.resource == *resource)
            && (&*self.sub_resource == "*" || *self.sub_resource == *sub_resource)
    }
}

impl OperationSet {
    pub const ALL: Self = Self(0b1111);

    #[must_use]
    pub fn with(self, operation: Operation) -> Self {
        Self(self.0 | 1 << operation as u8)
    }

    #[must_use]
    pub fn without(self, operation: Operation) -> Self {
        Self(self.0 & !(1 << operation as u8))
    }

    pub fn contains(self, operation: Operation) -> bool {
        self.0 & 1 << operation as u8 != 0
    }
}

impl FromIterator<Operation> for OperationSet {
    fn from_iter<I: IntoIterator<Item = Operation>>(operations: I) -> Self {
        operations.into_iter().fold(Self::default(), Self::with)
    }
}

impl RuleScope {
    fn matches(self, request: &Request<'_>, resource: &GroupVersionResource<'_>) -> bool {
        // A Namespace carries its own name as its namespace and is cluster-scoped all the same.
        let is_namespace = resource.group.is_empty() && resource.resource == "namespaces";
        let namespaced = !request.namespace.is_empty() && !is_namespace;
        match self {
            Self::Any => true,
            Self::Cluster => !namespaced,
            Self::Namespaced => namespaced,
        }
    }
}

fn contains_or_all(accepted: &[Box<str>], text: &str) -> bool {
    accepted.iter().any(|one| &**one == "*" || **one == *text)
}
