//! Objects that rules refer to: Namespaces and parameters.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Stored objects by kind and name, in a fixed order.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    by_key: BTreeMap<ObjectKey, Arc<StoredObject>>,
}

/// What identifies an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// `v1`, `apps/v1`.
    pub api_version: Box<str>,
    pub kind: Box<str>,
    /// Empty for cluster-scoped objects.
    pub namespace: Box<str>,
    pub name: Box<str>,
}

/// An object as text, with the labels that selectors ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObject {
    pub json: Box<str>,
    pub labels: BTreeMap<Box<str>, Box<str>>,
}

impl Objects {
    pub fn insert(&mut self, key: ObjectKey, object: Arc<StoredObject>) {
        self.by_key.insert(key, object);
    }

    pub fn remove(&mut self, key: &ObjectKey) -> bool {
        self.by_key.remove(key).is_some()
    }

    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<StoredObject>> {
        self.by_key.get(key)
    }

    /// The Namespace of that name.
    pub fn namespace(&self, name: &str) -> Option<&Arc<StoredObject>> {
        self.get(&ObjectKey {
            api_version: "v1".into(),
            kind: "Namespace".into(),
            namespace: "".into(),
            name: name.into(),
        })
    }

    /// Objects of one kind in one namespace (empty: cluster-scoped), by name.
    pub fn list<'s>(
        &'s self,
        api_version: &'s str,
        kind: &'s str,
        namespace: &'s str,
    ) -> impl Iterator<Item = (&'s ObjectKey, &'s Arc<StoredObject>)> {
        let first = ObjectKey {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: "".into(),
        };
        self.by_key.range(first..).take_while(move |(key, _)| {
            *key.api_version == *api_version && *key.kind == *kind && *key.namespace == *namespace
        })
    }
}
