//! The writer's side: objects come and go, and the best rule set that can be made of them is published.
//!
//! One task owns a [`RuleWriter`] by value, applies changes and publishes. A version of a rule that cannot be accepted leaves the last good one in
//! force; a new rule that cannot be accepted is replaced by its failure policy. Nothing is compiled twice unless it changed.

use std::collections::{BTreeMap, BTreeSet};

use usher_cel::KubernetesVersion;

use super::Kinds;
use super::compile::{Compiled, Context, accept, placeholder};
use super::item::{Item, ItemKey, ItemKind};
use super::live::LiveRules;
use super::policies::{CompiledPolicy, compile_mutating, compile_validating};
use crate::api;
use crate::diagnostic::{Code, Diagnostic, Severity, SourceMap};
use crate::engine::{ObjectKey, Protected, RuleIndex, RuleKey, StoredObject};

/// Which objects there are, which version of each is in force, and what is wrong with the rest.
#[derive(Debug)]
pub struct RuleWriter {
    index: RuleIndex,
    live: LiveRules,
    protected: Protected,
    version: KubernetesVersion,
    kinds: Kinds,
    entries: BTreeMap<ItemKey, Entry>,
    /// Rules in force by the policy that they were made of.
    of_policy: BTreeMap<ItemKey, Vec<RuleKey>>,
    stale_rules: BTreeSet<Box<str>>,
    stale_policies: BTreeSet<ItemKey>,
    /// The index is not what is published.
    changed: bool,
}

/// What has become of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Whether its newest version is in force. A policy with a broken expression is, with the error as its answer.
    pub accepted: bool,
    /// Of its newest version: `metadata.generation`, or without one the number of versions seen.
    pub generation: i64,
    /// The version in force, if any is. A placeholder is none.
    pub served_generation: Option<i64>,
    /// With their place in the file, where there is one.
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Debug)]
struct Entry {
    /// The newest version that could be read.
    item: Option<Item>,
    map: Option<SourceMap>,
    /// Generation of `item`.
    generation: i64,
    /// Why the newest version could not be read.
    unreadable: Vec<Diagnostic>,
    versions: i64,
    report: Report,
}

impl RuleWriter {
    /// A writer without rules, and the handle to what it publishes.
    pub fn new(protected: Protected) -> (Self, LiveRules) {
        let mut index = RuleIndex::new(protected.clone());
        let live = LiveRules::new(index.snapshot());
        let writer = Self {
            index,
            live: live.clone(),
            protected,
            version: KubernetesVersion::default(),
            kinds: Kinds::default(),
            entries: BTreeMap::new(),
            of_policy: BTreeMap::new(),
            stale_rules: BTreeSet::new(),
            stale_policies: BTreeSet::new(),
            changed: false,
        };
        (writer, live)
    }

    /// Compiles the expressions of rules that come from now on as this version of Kubernetes does; without this as the newest.
    #[must_use]
    pub fn for_version(mut self, version: KubernetesVersion) -> Self {
        self.version = version;
        self
    }

    /// Takes note of an object, or of a new version of it. `map` says where its fields stand.
    pub fn apply(&mut self, item: Item, map: Option<SourceMap>) {
        let key = item.key();
        let entry = self.entries.entry(key.clone()).or_insert_with(Entry::new);
        let same = entry.item.as_ref().is_some_and(|known| known.same_spec(&item));
        let known = same && entry.unreadable.is_empty();
        // A finding may have moved in the file even if its object is the same.
        if known && entry.report.diagnostics.is_empty() {
            entry.map = map;
            return;
        }
        if !known {
            entry.versions += 1;
        }
        entry.generation = item.metadata().generation.unwrap_or(entry.versions);
        entry.report.generation = entry.generation;
        let before = entry.item.replace(item);
        entry.map = map;
        entry.unreadable.clear();
        self.stale(&key, before.as_ref());
    }

    /// Takes note of a version of an object that could not be read. The last one that could stays in force.
    pub fn broken(&mut self, key: ItemKey, diagnostics: Vec<Diagnostic>) {
        let entry = self.entries.entry(key).or_insert_with(Entry::new);
        if entry.unreadable != diagnostics {
            entry.versions += 1;
            entry.report.generation = entry.versions.max(entry.report.generation + 1);
            entry.report.accepted = false;
            entry.report.diagnostics.clone_from(&diagnostics);
            entry.unreadable = diagnostics;
        }
    }

    /// Forgets an object, and the rules that were made of it.
    pub fn delete(&mut self, key: &ItemKey) {
        let Some(entry) = self.entries.remove(key) else { return };
        match entry.item.as_ref().and_then(Item::policy) {
            Some(policy) => drop(self.stale_policies.insert(policy)),
            None => {
                self.stale_rules.remove(&key.name);
                self.changed |= self.index.delete(&rule_key(&key.name));
            }
        }
    }

    /// Takes note of an object that rules may read: a Namespace, a ConfigMap, a custom resource. A CustomResourceDefinition also tells whether
    /// its kind lives in namespaces.
    pub fn apply_object(&mut self, key: ObjectKey, object: StoredObject) {
        if self.index.objects().get(&key).is_some_and(|known| **known == object) {
            return;
        }
        if &*key.kind == "CustomResourceDefinition"
            && let Ok(definition) = serde_json::from_str(&object.json)
            && self.kinds.learn(&definition)
        {
            self.live.publish_kinds(self.kinds.clone());
            self.forget_kinds();
        }
        self.index.apply_object(key, object);
        self.changed = true;
    }

    pub fn delete_object(&mut self, key: &ObjectKey) {
        self.changed |= self.index.delete_object(key);
    }

    /// Forgets everything that is not named: what a source no longer has when it starts anew.
    pub fn keep_only(&mut self, items: &BTreeSet<ItemKey>, objects: &BTreeSet<ObjectKey>) {
        let gone: Vec<ItemKey> = self.entries.keys().filter(|key| !items.contains(key)).cloned().collect();
        for key in gone {
            self.delete(&key);
        }
        let gone: Vec<ObjectKey> =
            self.index.objects().keys().filter(|key| !objects.contains(key)).cloned().collect();
        for key in gone {
            self.delete_object(&key);
        }
    }

    /// Compiles what changed and puts the result in force; whether there was anything new.
    pub fn publish(&mut self) -> bool {
        for name in std::mem::take(&mut self.stale_rules) {
            self.compile_rule(&name);
        }
        for policy in std::mem::take(&mut self.stale_policies) {
            self.compile_policy(&policy);
        }
        let changed = std::mem::take(&mut self.changed);
        if changed {
            self.live.publish(self.index.snapshot());
        }
        changed
    }

    /// What has become of each object, as of the last [`RuleWriter::publish`].
    pub fn reports(&self) -> impl Iterator<Item = (&ItemKey, &Report)> {
        self.entries.iter().map(|(key, entry)| (key, &entry.report))
    }

    pub fn report(&self, key: &ItemKey) -> Option<&Report> {
        self.entries.get(key).map(|entry| &entry.report)
    }

    fn stale(&mut self, key: &ItemKey, before: Option<&Item>) {
        if key.kind == ItemKind::RoutingRule {
            self.stale_rules.insert(key.name.clone());
            return;
        }
        // A binding may have been moved to another policy.
        let now = self.entries.get(key).and_then(|entry| entry.item.as_ref());
        self.stale_policies.extend([before, now].into_iter().flatten().filter_map(Item::policy));
    }

    /// What is known of kinds has changed: all that has parameters is compiled again.
    fn forget_kinds(&mut self) {
        let concerned = |entry: &Entry| entry.item.as_ref().is_some_and(Item::has_params);
        let keys = self.entries.iter().filter(|(_, entry)| concerned(entry)).map(|(key, _)| key.clone());
        for key in keys.collect::<Vec<_>>() {
            self.stale(&key, None);
        }
    }

    fn compile_rule(&mut self, name: &str) {
        let key = ItemKey { kind: ItemKind::RoutingRule, name: name.into() };
        let Some(entry) = self.entries.get_mut(&key) else { return };
        let Some(Item::RoutingRule(written)) = &entry.item else { return };
        let context = Context { kinds: &self.kinds, protected: &self.protected, version: self.version };
        match accept(written, &context) {
            Ok(Compiled { rule, warnings }) => {
                self.index.apply(rule.into());
                self.changed = true;
                entry.settle(true, warnings);
            }
            // Whoever switches a rule off wants it off, broken or not.
            Err(findings) if written.spec.mode == api::Mode::Disabled => {
                self.changed |= self.index.delete(&rule_key(name));
                entry.settle(false, findings);
            }
            Err(findings) => {
                if entry.report.served_generation.is_none() {
                    let placeholder = placeholder(written, &reason(name, &findings));
                    self.changed |= match placeholder {
                        Some(rule) => {
                            self.index.apply(rule.into());
                            true
                        }
                        None => self.index.delete(&rule_key(name)),
                    };
                }
                // An earlier version stays in force.
                entry.tell(findings);
            }
        }
    }

    /// Compiles a policy with each of its bindings. All of its rules are made anew: they depend on both.
    fn compile_policy(&mut self, key: &ItemKey) {
        for rule in self.of_policy.remove(key).unwrap_or_default() {
            self.changed |= self.index.delete(&rule);
        }
        let bindings: Vec<ItemKey> = self
            .entries
            .iter()
            .filter(|(other, _)| other != &key)
            .filter(|(_, entry)| entry.item.as_ref().and_then(Item::policy).as_ref() == Some(key))
            .map(|(key, _)| key.clone())
            .collect();
        let context = Context { kinds: &self.kinds, protected: &self.protected, version: self.version };
        let policy = self.entries.get(key).and_then(|entry| entry.item.clone());
        let mut rules = Vec::new();
        let mut of_policy = Vec::new();
        for name in &bindings {
            let binding = self.entries.get(name).and_then(|entry| entry.item.clone());
            let (served, findings) = match compile_bound(policy.as_ref(), binding.as_ref(), &context) {
                Some(CompiledPolicy { rule, diagnostics, binding_diagnostics }) => {
                    of_policy = diagnostics;
                    let served = rule.is_some();
                    rules.extend(rule);
                    (served, binding_diagnostics)
                }
                None => {
                    let message = format!("there is no {key}");
                    let finding = Diagnostic::warning(Code::NoEffect, message).at("spec.policyName");
                    (false, vec![finding.help("a binding without its policy does nothing")])
                }
            };
            if let Some(entry) = self.entries.get_mut(name) {
                entry.settle(served, findings);
            }
        }
        if bindings.is_empty() {
            // Its findings show all the same.
            of_policy = compile_bound(policy.as_ref(), None, &context)
                .map(|compiled| compiled.diagnostics)
                .unwrap_or_default();
            let finding =
                Diagnostic::warning(Code::NoEffect, "the policy has no binding, so it does nothing");
            of_policy.push(finding.help("add a binding that names it"));
        }
        if let Some(entry) = self.entries.get_mut(key) {
            let served = rules.iter().any(|rule| rule.broken.is_none());
            entry.settle(served, of_policy);
        }
        for rule in rules {
            self.of_policy.entry(key.clone()).or_default().push(rule.key());
            self.index.apply(rule.into());
            self.changed = true;
        }
    }
}

impl Entry {
    fn new() -> Self {
        let report =
            Report { accepted: false, generation: 0, served_generation: None, diagnostics: Vec::new() };
        Self { item: None, map: None, generation: 0, unreadable: Vec::new(), versions: 0, report }
    }

    /// Writes down what was found, and whether the item is in force.
    fn settle(&mut self, served: bool, findings: Vec<Diagnostic>) {
        self.report.served_generation = served.then_some(self.generation);
        self.tell(findings);
    }

    /// Writes down what was found, unless there is a newer version, of which it does not speak.
    fn tell(&mut self, findings: Vec<Diagnostic>) {
        if self.unreadable.is_empty() {
            self.report.accepted = !findings.iter().any(|finding| finding.severity == Severity::Error);
            self.report.diagnostics = located(findings, self.map.as_ref());
        }
    }
}

/// A policy and its binding; `None` when there is no such policy.
fn compile_bound(
    policy: Option<&Item>,
    binding: Option<&Item>,
    context: &Context<'_>,
) -> Option<CompiledPolicy> {
    match (policy, binding) {
        (Some(Item::ValidatingAdmissionPolicy(policy)), None) => {
            Some(compile_validating(policy, None, context))
        }
        (
            Some(Item::ValidatingAdmissionPolicy(policy)),
            Some(Item::ValidatingAdmissionPolicyBinding(binding)),
        ) => Some(compile_validating(policy, Some(binding), context)),
        (Some(Item::MutatingAdmissionPolicy(policy)), None) => Some(compile_mutating(policy, None, context)),
        (
            Some(Item::MutatingAdmissionPolicy(policy)),
            Some(Item::MutatingAdmissionPolicyBinding(binding)),
        ) => Some(compile_mutating(policy, Some(binding), context)),
        _ => None,
    }
}

fn located(findings: Vec<Diagnostic>, map: Option<&SourceMap>) -> Vec<Diagnostic> {
    match map {
        Some(map) => map.locate_all(findings),
        None => findings,
    }
}

/// What a user whose request is refused in the place of a rule is told.
fn reason(name: &str, findings: &[Diagnostic]) -> String {
    let errors: Vec<&Diagnostic> =
        findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
    let first = errors.first().map(|finding| format!("{}: {}", finding.field, finding.message));
    let more = match errors.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    format!("the rule {name} is not valid: {}{more}", first.unwrap_or_default())
}

fn rule_key(name: &str) -> RuleKey {
    RuleKey { origin: "RoutingRule", namespace: None, name: name.into() }
}

#[cfg(test)]
mod tests;
