//! What the API server has to ask about: the least that a webhook configuration must name so that no rule misses a request.

mod address;
mod coverage;
mod hook;
pub mod own_kinds;
pub mod probe;
mod unprotected;

pub use address::{Address, AddressError, BaseUrl, ServiceAddress};
pub use hook::{Hook, Hooks};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, RuleWithOperations, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

use crate::engine::matching::{
    LabelSelector, NAME_LABEL, OperationSet, Requirement, ResourcePattern, ResourceRule, RuleScope,
};
use crate::engine::{FailurePolicy, Handler, Mode, Operation, Origin, Phase, Protected, Rule, RuleSet};

/// Seconds that the API server waits.
const TIMEOUT_SECONDS: i32 = 5;

/// One entry of a webhook configuration: what the rules of one failure policy in one phase need.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    pub hook: Hook,
    /// What any of the rules matches, in a fixed order.
    pub rules: Vec<RuleWithOperations>,
    /// That of the rules, if they have the same, and none of the protected namespaces.
    pub namespace_selector: meta::LabelSelector,
    /// That of the rules, if they have the same.
    pub object_selector: meta::LabelSelector,
    /// Keeps the protected kinds out, if `rules` name any.
    pub match_conditions: Option<Vec<MatchCondition>>,
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
            let entry = registration(Hook::of(phase, class), &of_class, rules.protected());
            all.extend(entry.filter(|entry| !entry.rules.is_empty()));
        }
    }
    all
}

/// Which entries each `RoutingRule` needs, by name. A rule that is not named here needs none.
pub fn hooks(rules: &RuleSet) -> BTreeMap<Arc<str>, Hooks> {
    own(rules).map(|rule| (Arc::clone(&rule.name), hooks_of(rule).collect())).collect()
}

/// Names of the `RoutingRule`s of which these entries of webhook configurations ask about all that they match, as far as can be seen.
pub fn covered(rules: &RuleSet, entries: &[MutatingWebhook]) -> BTreeSet<Arc<str>> {
    let is_covered = |rule: &&Rule| {
        let hooks: Vec<Hook> = hooks_of(rule).collect();
        coverage::is_covered(rule, &hooks, rules.protected(), entries)
    };
    own(rules).filter(is_covered).map(|rule| Arc::clone(&rule.name)).collect()
}

fn own(rules: &RuleSet) -> impl Iterator<Item = &Rule> {
    rules.rules().iter().map(|rule| &**rule).filter(|rule| rule.origin == Origin::RoutingRule)
}

fn hooks_of(rule: &Rule) -> impl Iterator<Item = Hook> {
    // One that names no operation matches nothing.
    let matches = !union(&[rule]).is_empty();
    let phases =
        [Phase::Mutating, Phase::Validating].into_iter().filter(move |phase| matches && acts(rule, *phase));
    phases.map(|phase| Hook::of(phase, rule.failure_policy))
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

fn registration(hook: Hook, rules: &[&Rule], protected: &Protected) -> Option<Registration> {
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
    let rules_of_entry = union(rules);
    Some(Registration {
        hook,
        match_conditions: unprotected::conditions(&rules_of_entry, protected),
        rules: rules_of_entry,
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
    /// As an entry of a webhook configuration. `fails_closed`: a call that fails refuses the request, which may be less than the rules ask for.
    pub fn webhook(&self, fails_closed: bool, client_config: WebhookClientConfig) -> MutatingWebhook {
        MutatingWebhook {
            match_conditions: self.match_conditions.clone(),
            namespace_selector: Some(self.namespace_selector.clone()),
            object_selector: Some(self.object_selector.clone()),
            rules: Some(self.rules.clone()),
            ..entry(self.hook.name().to_owned(), self.hook.is_mutating(), fails_closed, client_config)
        }
    }
}

/// What all entries have in common. The two kinds of entries differ in nothing but `reinvocationPolicy`, which validating ones do not have.
fn entry(
    name: String,
    is_mutating: bool,
    fails_closed: bool,
    client_config: WebhookClientConfig,
) -> MutatingWebhook {
    MutatingWebhook {
        admission_review_versions: vec!["v1".to_owned()],
        client_config,
        failure_policy: Some(if fails_closed { "Fail" } else { "Ignore" }.to_owned()),
        match_policy: Some("Equivalent".to_owned()),
        name,
        reinvocation_policy: is_mutating.then(|| "IfNeeded".to_owned()),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(TIMEOUT_SECONDS),
        ..MutatingWebhook::default()
    }
}

/// The kind of configuration that has the entries of a phase, in version `v1` of [`CONFIGURATION_GROUP`].
pub fn configuration_kind(is_mutating: bool) -> &'static str {
    if is_mutating { "MutatingWebhookConfiguration" } else { "ValidatingWebhookConfiguration" }
}

pub const CONFIGURATION_GROUP: &str = "admissionregistration.k8s.io";

#[cfg(test)]
mod tests;
