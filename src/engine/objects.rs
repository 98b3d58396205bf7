//! Objects that rules refer to: Namespaces and parameters.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Stored objects by kind and name, in a fixed order.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    by_key: BTreeMap<ObjectKey, Arc<StoredObject>>,
    /// The Namespaces among them by name: requests ask for these the most.
    namespaces: HashMap<Box<str>, Arc<StoredObject>>,
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
        if key.is_namespace() {
            self.namespaces.insert(key.name.clone(), Arc::clone(&object));
        }
        self.by_key.insert(key, object);
    }

    /// Whether there was such an object.
    pub fn remove(&mut self, key: &ObjectKey) -> bool {
        if key.is_namespace() {
            self.namespaces.remove(&key.name);
        }
        self.by_key.remove(key).is_some()
    }

    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<StoredObject>> {
        self.by_key.get(key)
    }

    pub fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.by_key.keys()
    }

    /// The Namespace of that name.
    pub fn namespace(&self, name: &str) -> Option<&Arc<StoredObject>> {
        self.namespaces.get(name)
    }

    /// Objects of one kind in one namespace (empty: cluster-scoped), by name.
    pub fn list<'s>(
        &'s self,
        api_version: &str,
        kind: &str,
        namespace: &str,
    ) -> impl Iterator<Item = (&'s ObjectKey, &'s Arc<StoredObject>)> + use<'s> {
        let first = ObjectKey {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: "".into(),
        };
        self.by_key.range(first.clone()..).take_while(move |(key, _)| {
            (&key.api_version, &key.kind, &key.namespace)
                == (&first.api_version, &first.kind, &first.namespace)
        })
    }
}

impl ObjectKey {
    fn is_namespace(&self) -> bool {
        &*self.api_version == "v1" && &*self.kind == "Namespace"
    }
}
