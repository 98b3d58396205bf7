//! The writer's side: rules and objects come and go, snapshots come out.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::objects::{ObjectKey, Objects, StoredObject};
use super::protected::Protected;
use super::rule::{Origin, Rule};
use super::rule_set::RuleSet;

/// Owned by one writer, who applies changes and then publishes a [`RuleSet`].
#[derive(Debug, Default)]
pub struct RuleIndex {
    rules: BTreeMap<RuleKey, Arc<Rule>>,
    objects: Arc<Objects>,
    protected: Arc<Protected>,
    revision: u64,
}

/// What identifies a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleKey {
    /// `RoutingRule`, `ValidatingAdmissionPolicy` or `MutatingAdmissionPolicy`.
    pub origin: &'static str,
    pub namespace: Option<Arc<str>>,
    pub name: Arc<str>,
}

impl RuleIndex {
    pub fn new(protected: Protected) -> Self {
        Self { protected: Arc::new(protected), ..Self::default() }
    }

    /// Adds the rule, or puts it in the place of the one with the same key.
    pub fn apply(&mut self, rule: Arc<Rule>) {
        self.rules.insert(rule.key(), rule);
    }

    /// Whether there was such a rule.
    pub fn delete(&mut self, key: &RuleKey) -> bool {
        self.rules.remove(key).is_some()
    }

    pub fn apply_object(&mut self, key: ObjectKey, object: StoredObject) {
        Arc::make_mut(&mut self.objects).insert(key, Arc::new(object));
    }

    /// The objects as they stand now.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Whether there was such an object.
    pub fn delete_object(&mut self, key: &ObjectKey) -> bool {
        Arc::make_mut(&mut self.objects).remove(key)
    }

    /// The rules as they stand now, ready to answer requests.
    pub fn snapshot(&mut self) -> RuleSet {
        self.revision += 1;
        let mut rules: Vec<_> = self.rules.values().cloned().collect();
        // Ties are broken by origin last, so that the order is total.
        rules.sort_by(|a, b| {
            let place = |rule: &Rule| (std::cmp::Reverse(rule.priority), rule.namespace.is_some());
            place(a).cmp(&place(b)).then_with(|| (&a.name, &a.namespace).cmp(&(&b.name, &b.namespace)))
        });
        RuleSet::new(rules, Arc::clone(&self.objects), Arc::clone(&self.protected), self.revision)
    }
}

impl Rule {
    pub fn key(&self) -> RuleKey {
        let origin = match self.origin {
            Origin::RoutingRule => "RoutingRule",
            Origin::ValidatingAdmissionPolicy { .. } => "ValidatingAdmissionPolicy",
            Origin::MutatingAdmissionPolicy { .. } => "MutatingAdmissionPolicy",
        };
        RuleKey { origin, namespace: self.namespace.clone(), name: Arc::clone(&self.name) }
    }
}
