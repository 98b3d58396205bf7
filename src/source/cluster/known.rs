use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::watching::Decoded;
use crate::engine::NAMESPACE_FIELDS;
use crate::source::change::{Broken, Change, Snapshot};
use crate::source::object::{Object, ObjectKey};
use crate::source::object_store::StoredObject;

/// What the watches know of the cluster: by watch, so that the end of one takes with it what only it has seen.
///
/// As large as the cluster's rules, Namespaces and parameters are; rules and texts are shared with whoever takes the changes.
#[derive(Debug, Default)]
pub(super) struct Known {
    by_watch: BTreeMap<u64, BTreeMap<ObjectKey, Entry>>,
}

/// An object that a watch has seen last.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    Good(Object),
    /// There, but not of the right shape; with what it was before.
    Broken(Broken, Option<Object>),
}

impl Entry {
    /// The last version that could be read.
    pub(super) fn object(&self) -> Option<&Object> {
        match self {
            Self::Good(object) => Some(object),
            Self::Broken(_, before) => before.as_ref(),
        }
    }

    /// Whether the other is the same rule or object: of a rule, what is written in status and metadata does not count.
    fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Good(Object::RoutingRule(a)), Self::Good(Object::RoutingRule(b))) => {
                a.object.spec == b.object.spec && a.object.metadata.generation == b.object.metadata.generation
            }
            (Self::Good(Object::Other(a)), Self::Good(Object::Other(b))) => a == b,
            _ => false,
        }
    }

    pub(super) fn change(&self) -> Change {
        match self {
            Self::Good(object) => Change::Apply(object.clone()),
            Self::Broken(broken, _) => Change::Broken(broken.clone()),
        }
    }
}

impl Known {
    /// Takes a version of an object in; whether it says anything new.
    pub(super) fn apply(&mut self, watch: u64, decoded: Decoded) -> bool {
        let objects = self.by_watch.entry(watch).or_default();
        let entry = match decoded.result {
            Ok((object, _)) => Entry::Good(slim(object)),
            Err(broken) => {
                let before = objects.get(&decoded.key).and_then(Entry::object).cloned();
                Entry::Broken(broken, before)
            }
        };
        let before = objects.insert(decoded.key, entry.clone());
        !before.is_some_and(|before| before.says_the_same(&entry))
    }

    /// Takes a complete list in, and gives back the names of what is gone.
    pub(super) fn list(&mut self, watch: u64, listed: Vec<Decoded>) -> Vec<ObjectKey> {
        let names: std::collections::BTreeSet<ObjectKey> =
            listed.iter().map(|decoded| decoded.key.clone()).collect();
        for decoded in listed {
            self.apply(watch, decoded);
        }
        let objects = self.by_watch.entry(watch).or_default();
        let gone: Vec<ObjectKey> = objects.keys().filter(|key| !names.contains(key)).cloned().collect();
        objects.retain(|key, _| names.contains(key));
        gone.into_iter().filter(|key| self.get(key).is_none()).collect()
    }

    /// Takes an object out; whether no other watch has it.
    pub(super) fn delete(&mut self, watch: u64, key: &ObjectKey) -> bool {
        if let Some(objects) = self.by_watch.get_mut(&watch) {
            objects.remove(key);
        }
        self.get(key).is_none()
    }

    /// Forgets a watch, and gives back the names of what only it had.
    pub(super) fn forget(&mut self, watch: u64) -> Vec<ObjectKey> {
        let objects = self.by_watch.remove(&watch).unwrap_or_default();
        objects.into_keys().filter(|key| self.get(key).is_none()).collect()
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Entry> {
        self.by_watch.values().find_map(|objects| objects.get(key))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.by_watch.values().flat_map(BTreeMap::values)
    }

    /// Everything, as a source tells it.
    pub(super) fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for entry in self.iter() {
            match entry.object() {
                Some(Object::Other(stored)) => drop(snapshot.store.insert(Arc::clone(stored))),
                Some(object) => snapshot.objects.push(object.clone()),
                None => {}
            }
            if let Entry::Broken(broken, _) = entry {
                snapshot.diagnostics.extend(broken.diagnostics.iter().cloned());
                snapshot.broken.push(broken.clone());
            }
        }
        snapshot
    }
}

/// Without what no rule reads: of the rules themselves their status, of a Namespace what expressions cannot see.
fn slim(object: Object) -> Object {
    match object {
        Object::RoutingRule(mut loaded) => {
            let rule = Arc::make_mut(&mut loaded.object);
            rule.status = None;
            rule.metadata.annotations = None;
            Object::RoutingRule(loaded)
        }
        Object::Other(stored) if &*stored.key().kind == "Namespace" && &*stored.key().api_version == "v1" => {
            Object::Other(Arc::new(namespace(&stored)))
        }
        other => other,
    }
}

/// A Namespace with what rules may see of it.
fn namespace(stored: &StoredObject) -> StoredObject {
    let mut value: Value = serde_json::from_str(stored.json()).unwrap_or_default();
    for (part, fields) in NAMESPACE_FIELDS {
        if let Some(part) = value.get_mut(part).and_then(Value::as_object_mut) {
            part.retain(|name, _| fields.contains(&name.as_str()));
        }
    }
    StoredObject::new(stored.key().clone(), &value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_namespace_keeps_all_that_expressions_may_see() {
        let key = ObjectKey {
            api_version: "v1".into(),
            kind: "Namespace".into(),
            namespace: "".into(),
            name: "shop".into(),
        };
        let status = json!({"phase": "Terminating", "conditions": [{"type": "NamespaceContentRemaining", "status": "True"}]});
        let written = |metadata: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "spec": {"finalizers": ["kubernetes"]}, "status": status});
        let whole = json!({"name": "shop", "labels": {"team": "a"}, "resourceVersion": "7", "ownerReferences": [{"name": "x"}]});
        let slim = namespace(&StoredObject::new(key.clone(), &written(whole)));
        let kept = json!({"name": "shop", "labels": {"team": "a"}, "resourceVersion": "7"});
        assert_eq!(slim, StoredObject::new(key, &written(kept)));
    }
}
