//! The rules as the API server has them: what a status depends on, and the status that there is.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt;
use kube::api::DynamicObject;
use serde::Deserialize;

use crate::api::{Mode, RoutingRuleStatus};

/// Rules by name.
#[derive(Debug, Default)]
pub(super) struct Rules {
    by_name: BTreeMap<String, Rule>,
}

/// What the leader keeps of a rule. Routes and expressions are not among it.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) uid: String,
    pub(super) generation: i64,
    /// Resource version with which this generation was seen first. Who has taken that up serves this generation.
    pub(super) since: u64,
    /// Resource version of now: a status is written on it or not at all.
    pub(super) version: String,
    pub(super) mode: Mode,
    pub(super) status: RoutingRuleStatus,
}

impl Rules {
    /// Takes a version in. What cannot be read of it counts as not given.
    pub(super) fn apply(&mut self, object: &DynamicObject) {
        fn part<T: for<'v> Deserialize<'v>>(object: &DynamicObject, pointer: &str) -> Option<T> {
            T::deserialize(object.data.pointer(pointer)?).ok()
        }
        let name = object.name_any();
        let generation = object.metadata.generation.unwrap_or_default();
        let version = object.resource_version().unwrap_or_default();
        let seen = version.parse().unwrap_or(u64::MAX);
        let uid = object.uid().unwrap_or_default();
        let since = match self.by_name.get(&name) {
            Some(known) if known.generation == generation && known.uid == uid => known.since,
            _ => seen,
        };
        let mode = part(object, "/spec/mode").unwrap_or_default();
        let status = part(object, "/status").unwrap_or_default();
        self.by_name.insert(name, Rule { uid, generation, since, version, mode, status });
    }

    pub(super) fn delete(&mut self, name: &str) {
        self.by_name.remove(name);
    }

    /// Forgets all others, and gives back their names.
    pub(super) fn keep_only(&mut self, names: &BTreeSet<String>) -> Vec<String> {
        self.by_name.extract_if(.., |name, _| !names.contains(name)).map(|(name, _)| name).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Rule)> {
        self.by_name.iter()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Rule> {
        self.by_name.get(name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(generation: i64, version: &str) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "usher.dev/v1alpha1", "kind": "RoutingRule",
            "metadata": {"name": "a", "uid": "u", "generation": generation, "resourceVersion": version},
            "spec": {"mode": "Warn", "priority": "high"}, "status": {"acknowledged": "1/1"},
        }))
        .unwrap()
    }

    #[test]
    fn a_generation_counts_from_the_version_that_brought_it() {
        let mut rules = Rules::default();
        for (generation, version, since) in [(1, "10", 10), (1, "12", 10), (2, "15", 15), (2, "16", 15)] {
            rules.apply(&object(generation, version));
            let rule = rules.get("a").unwrap();
            assert_eq!((rule.since, rule.version.as_str()), (since, version));
        }
        let rule = rules.get("a").unwrap();
        assert_eq!((rule.mode, rule.status.acknowledged.as_deref()), (Mode::Warn, Some("1/1")));
    }
}
