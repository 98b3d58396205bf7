//! What the API server has to ask about: the least that a webhook configuration must name so that no rule misses a request.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, RuleWithOperations, ValidatingWebhook, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

use crate::engine::matching::{
    LabelSelector, NAME_LABEL, OperationSet, Requirement, ResourcePattern, ResourceRule, RuleScope,
};
use crate::engine::{FailurePolicy, Handler, Mode, Operation, Phase, Protected, Rule, RuleSet};

/// Seconds that the API server waits.
const TIMEOUT_SECONDS: i32 = 5;

/// One entry of a webhook configuration: the rules of one failure policy in one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    pub phase: Phase,
    pub class: FailurePolicy,
    /// What any of the rules matches, in a fixed order.
    pub rules: Vec<RuleWithOperations>,
    /// That of the rules, if they have the same, and none of the protected namespaces.
    pub namespace_selector: meta::LabelSelector,
    /// That of the rules, if they have the same.
    pub object_selector: meta::LabelSelector,
}

/// The entries that a set of rules needs, `Fail` before `Ignore` and the mutating phase first; none for a class without rules.
pub fn registrations(rules: &RuleSet) -> Vec<Registration> {
    let mut all = Vec::new();
    for phase in [Phase::Mutating, Phase::Validating] {
        for class in [FailurePolicy::Fail, FailurePolicy::Ignore] {
            let of_class: Vec<&Rule> = rules
                .rules()
                .iter()
                .map(|rule| &**rule)
                .filter(|rule| rule.failure_policy == class && acts(rule, phase))
                .collect();
            let entry = registration(phase, class, &of_class, rules.protected());
            all.extend(entry.filter(|entry| !entry.rules.is_empty()));
        }
    }
    all
}

/// Whether a rule has something to say in a phase. A rule that only passes has nothing to say in the mutating one: whom it keeps from
/// mutating matches what is asked about.
fn acts(rule: &Rule, phase: Phase) -> bool {
    let mutates = |handler: &Handler| matches!(handler, Handler::Mutate(_));
    let mut handlers = rule.routes.iter().map(|route| &route.handler);
    let has_work = match phase {
        Phase::Mutating => handlers.any(mutates),
        Phase::Validating => handlers.any(|handler| !mutates(handler)) || !rule.audit_annotations.is_empty(),
    };
    rule.mode != Mode::Disabled && (has_work || rule.broken.is_some())
}

fn registration(
    phase: Phase,
    class: FailurePolicy,
    rules: &[&Rule],
    protected: &Protected,
) -> Option<Registration> {
    let first = rules.first()?;
    let same = |of: fn(&Rule) -> &LabelSelector| {
        let is_same = rules.iter().all(|rule| of(rule) == of(first));
        if is_same { of(first).clone() } else { LabelSelector::default() }
    };
    let mut namespaces = same(|rule| &rule.constraints.namespace_selector);
    if !protected.namespaces.is_empty() {
        let values = protected.namespaces.clone();
        namespaces.requirements.push(Requirement::NotIn { key: NAME_LABEL.into(), values });
    }
    Some(Registration {
        phase,
        class,
        rules: union(rules),
        namespace_selector: selector(&namespaces),
        object_selector: selector(&same(|rule| &rule.constraints.object_selector)),
    })
}

/// Resources by what else an entry says. Names of objects cannot be said.
type Union = BTreeMap<(Vec<String>, Vec<String>, Vec<String>, &'static str), BTreeSet<String>>;

fn union(rules: &[&Rule]) -> Vec<RuleWithOperations> {
    let mut union = Union::new();
    for rule in rules {
        let named = &rule.constraints.resource_rules;
        let everything = [ResourceRule::anything()];
        for entry in if named.is_empty() { everything.iter() } else { named.iter() } {
            let operations = operations(entry.operations);
            if operations.is_empty() || entry.resources.is_empty() {
                continue;
            }
            let key =
                (sorted(&entry.api_groups), sorted(&entry.api_versions), operations, scope(entry.scope));
            let resources = union.entry(key).or_default();
            resources.extend(entry.resources.iter().map(text));
        }
    }
    let entry = |((groups, versions, operations, scope), resources)| RuleWithOperations {
        api_groups: Some(groups),
        api_versions: Some(versions),
        operations: Some(operations),
        resources: Some(least(&resources)),
        scope: Some(str::to_owned(scope)),
    };
    union.into_iter().map(entry).collect()
}

/// `*` stands alone.
fn sorted(names: &[Box<str>]) -> Vec<String> {
    if names.iter().any(|name| &**name == "*") {
        return vec!["*".to_owned()];
    }
    names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The API server refuses a list in which one entry says what another one says too.
fn least(resources: &BTreeSet<String>) -> Vec<String> {
    let covers = |wide: &str, narrow: &str| {
        let (wide, narrow) = (ResourcePattern::parse(wide), ResourcePattern::parse(narrow));
        wide != narrow && wide.matches(&narrow.resource, &narrow.sub_resource)
    };
    let is_needed = |one: &&String| !resources.iter().any(|other| covers(other, one));
    resources.iter().filter(is_needed).cloned().collect()
}

fn text(pattern: &ResourcePattern) -> String {
    match &*pattern.sub_resource {
        "" => pattern.resource.to_string(),
        sub_resource => format!("{}/{sub_resource}", pattern.resource),
    }
}

fn operations(set: OperationSet) -> Vec<String> {
    if set == OperationSet::ALL {
        return vec!["*".to_owned()];
    }
    let named = Operation::ALL.into_iter().filter(|operation| set.contains(*operation));
    named.map(|operation| operation.as_str().to_owned()).collect()
}

fn scope(scope: RuleScope) -> &'static str {
    match scope {
        RuleScope::Any => "*",
        RuleScope::Cluster => "Cluster",
        RuleScope::Namespaced => "Namespaced",
    }
}

fn selector(selector: &LabelSelector) -> meta::LabelSelector {
    let expression = |requirement: &Requirement| {
        let texts = |values: &[Box<str>]| Some(values.iter().map(|value| value.to_string()).collect());
        let (key, operator, values) = match requirement {
            Requirement::In { key, values } => (key, "In", texts(values)),
            Requirement::NotIn { key, values } => (key, "NotIn", texts(values)),
            Requirement::Exists { key } => (key, "Exists", None),
            Requirement::DoesNotExist { key } => (key, "DoesNotExist", None),
        };
        meta::LabelSelectorRequirement { key: key.to_string(), operator: operator.to_owned(), values }
    };
    let expressions: Vec<_> = selector.requirements.iter().map(expression).collect();
    meta::LabelSelector {
        match_expressions: (!expressions.is_empty()).then_some(expressions),
        match_labels: None,
    }
}

impl Registration {
    /// The path that answers for it.
    pub fn path(&self) -> &'static str {
        match (self.phase, self.class) {
            (Phase::Mutating, FailurePolicy::Fail) => "/mutate/fail",
            (Phase::Mutating, FailurePolicy::Ignore) => "/mutate/ignore",
            (Phase::Validating, FailurePolicy::Fail) => "/validate/fail",
            (Phase::Validating, FailurePolicy::Ignore) => "/validate/ignore",
        }
    }

    /// As an entry of a `ValidatingWebhookConfiguration`.
    pub fn validating(&self, client_config: WebhookClientConfig) -> ValidatingWebhook {
        ValidatingWebhook {
            admission_review_versions: vec!["v1".to_owned()],
            client_config,
            failure_policy: Some(self.policy().to_owned()),
            match_conditions: None,
            match_policy: Some("Equivalent".to_owned()),
            name: format!("{}.validate.usher.dev", self.policy().to_ascii_lowercase()),
            namespace_selector: Some(self.namespace_selector.clone()),
            object_selector: Some(self.object_selector.clone()),
            rules: Some(self.rules.clone()),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(TIMEOUT_SECONDS),
        }
    }

    /// As an entry of a `MutatingWebhookConfiguration`.
    pub fn mutating(&self, client_config: WebhookClientConfig) -> MutatingWebhook {
        MutatingWebhook {
            admission_review_versions: vec!["v1".to_owned()],
            client_config,
            failure_policy: Some(self.policy().to_owned()),
            match_conditions: None,
            match_policy: Some("Equivalent".to_owned()),
            name: format!("{}.mutate.usher.dev", self.policy().to_ascii_lowercase()),
            namespace_selector: Some(self.namespace_selector.clone()),
            object_selector: Some(self.object_selector.clone()),
            reinvocation_policy: Some("IfNeeded".to_owned()),
            rules: Some(self.rules.clone()),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(TIMEOUT_SECONDS),
        }
    }

    fn policy(&self) -> &'static str {
        match self.class {
            FailurePolicy::Fail => "Fail",
            FailurePolicy::Ignore => "Ignore",
        }
    }
}

#[cfg(test)]
mod tests;
