use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::object::ObjectKey;

/// Objects that rules read but that are no rules: Namespaces, ConfigMaps, whatever is named as params. Kept as JSON text,
/// from which documents for CEL are built at evaluation. Cheap to clone compared with what it holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectStore {
    /// By apiVersion, kind, namespace and name: looked up without building a key.
    kinds: BTreeMap<Box<str>, BTreeMap<Box<str>, Namespaces>>,
    length: usize,
}

type Namespaces = BTreeMap<Box<str>, BTreeMap<Box<str>, Arc<StoredObject>>>;

/// One object as JSON text, with the parts that selectors ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredObject {
    key: ObjectKey,
    json: Box<str>,
    labels: BTreeMap<String, String>,
}

impl StoredObject {
    /// An object from its JSON value, whose apiVersion and kind are those of the key.
    pub fn new(key: ObjectKey, value: &Value) -> Self {
        let labels = value.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
        let labels = labels.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect();
        Self { key, json: value.to_string().into(), labels }
    }

    /// What the object is called.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The whole object.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// `metadata.labels`.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }
}

impl ObjectStore {
    /// Puts an object in; gives back the one that it replaces.
    pub fn insert(&mut self, object: Arc<StoredObject>) -> Option<Arc<StoredObject>> {
        let key = object.key();
        let kinds = self.kinds.entry(key.api_version.clone()).or_default();
        let names = kinds.entry(key.kind.clone()).or_default().entry(key.namespace.clone()).or_default();
        let replaced = names.insert(key.name.clone(), object.clone());
        self.length += usize::from(replaced.is_none());
        replaced
    }

    /// Takes an object out.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Arc<StoredObject>> {
        let kinds = self.kinds.get_mut(&key.api_version)?;
        let namespaces = kinds.get_mut(&key.kind)?;
        let names = namespaces.get_mut(&key.namespace)?;
        let removed = names.remove(&key.name)?;
        self.length -= 1;
        if names.is_empty() {
            namespaces.remove(&key.namespace);
        }
        if namespaces.is_empty() {
            kinds.remove(&key.kind);
        }
        if kinds.is_empty() {
            self.kinds.remove(&key.api_version);
        }
        Some(removed)
    }

    /// The object of that name; `namespace` is empty for a cluster-scoped one.
    pub fn get(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Option<&Arc<StoredObject>> {
        self.kinds.get(api_version)?.get(kind)?.get(namespace)?.get(name)
    }

    /// All objects of a kind in one namespace, or in all, in the order of namespace and name.
    pub fn list<'a>(
        &'a self,
        api_version: &str,
        kind: &str,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Arc<StoredObject>> {
        let namespaces = self.kinds.get(api_version).and_then(|kinds| kinds.get(kind));
        let namespaces = namespaces.into_iter().flatten();
        let wanted = namespaces.filter(move |(name, _)| namespace.is_none_or(|wanted| wanted == &***name));
        wanted.flat_map(|(_, names)| names.values())
    }

    /// The Namespace of that name.
    pub fn namespace(&self, name: &str) -> Option<&Arc<StoredObject>> {
        self.get("v1", "Namespace", "", name)
    }

    /// All objects, in the order of apiVersion, kind, namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<StoredObject>> {
        let namespaces = self.kinds.values().flat_map(BTreeMap::values);
        namespaces.flat_map(BTreeMap::values).flat_map(BTreeMap::values)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: &str, namespace: &str, name: &str) -> Arc<StoredObject> {
        let key = ObjectKey {
            api_version: "v1".into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        };
        let value =
            json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": {"a": name}}});
        Arc::new(StoredObject::new(key, &value))
    }

    #[test]
    fn objects_are_found_by_name_and_listed_in_order() {
        let mut store = ObjectStore::default();
        for (namespace, name) in [("b", "z"), ("a", "y"), ("b", "x")] {
            assert!(store.insert(object("ConfigMap", namespace, name)).is_none());
        }
        store.insert(object("Namespace", "", "a"));
        assert!(store.insert(object("ConfigMap", "a", "y")).is_some());
        assert_eq!(store.len(), 4);
        let names = |namespace| -> Vec<String> {
            store.list("v1", "ConfigMap", namespace).map(|o| o.key().to_string()).collect()
        };
        assert_eq!(names(None), ["ConfigMap a/y", "ConfigMap b/x", "ConfigMap b/z"]);
        assert_eq!(names(Some("b")), ["ConfigMap b/x", "ConfigMap b/z"]);
        assert!(store.get("v1", "ConfigMap", "a", "x").is_none());
        assert_eq!(store.namespace("a").unwrap().labels()["a"], "a");
    }

    #[test]
    fn a_removed_object_is_gone_and_leaves_nothing_behind() {
        let mut store = ObjectStore::default();
        let object = object("ConfigMap", "a", "y");
        store.insert(object.clone());
        assert!(store.remove(object.key()).is_some());
        assert!(store.remove(object.key()).is_none());
        assert_eq!(store, ObjectStore::default());
    }
}
