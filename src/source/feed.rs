//! From changes to rules in force.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::{Broken, Change, Snapshot};
use super::object::{Object, ObjectKey};
use super::object_store::StoredObject;
use crate::engine;
use crate::rules::{ItemKey, ItemKind, RuleWriter};

/// Takes changes over into the rules in their order, and publishes them together; whether anything is new.
pub fn feed<'c>(changes: impl IntoIterator<Item = &'c Change>, writer: &mut RuleWriter) -> bool {
    for change in changes {
        match change {
            Change::Reset(snapshot) => reset(snapshot, writer),
            Change::Apply(object) => apply(object, writer),
            Change::Broken(broken) => apply_broken(broken, writer),
            Change::Delete(key) => match item_key(key) {
                Some(item) => writer.delete(&item),
                None => writer.delete_object(&object_key(key)),
            },
        }
    }
    writer.publish()
}

fn reset(snapshot: &Snapshot, writer: &mut RuleWriter) {
    let named =
        snapshot.objects.iter().map(Object::key).chain(snapshot.broken.iter().map(|broken| &broken.key));
    let items: BTreeSet<ItemKey> = named.filter_map(item_key).collect();
    let others = snapshot.objects.iter().filter_map(|object| match object {
        Object::Other(stored) => Some(stored),
        _ => None,
    });
    let stored: Vec<&Arc<StoredObject>> = snapshot.store.iter().chain(others).collect();
    let mut objects: BTreeSet<engine::ObjectKey> =
        stored.iter().map(|stored| object_key(stored.key())).collect();
    // One that cannot be read any more stays as it was.
    objects.extend(
        snapshot.broken.iter().filter(|one| item_key(&one.key).is_none()).map(|one| object_key(&one.key)),
    );
    writer.keep_only(&items, &objects);
    for object in stored {
        apply_stored(object, writer);
    }
    for object in &snapshot.objects {
        apply(object, writer);
    }
    for broken in &snapshot.broken {
        apply_broken(broken, writer);
    }
}

fn apply(object: &Object, writer: &mut RuleWriter) {
    match object {
        Object::Other(stored) => apply_stored(stored, writer),
        rule => {
            if let Some(item) = rule.item() {
                writer.apply(item, rule.map().cloned());
            }
        }
    }
}

fn apply_stored(object: &StoredObject, writer: &mut RuleWriter) {
    let labels = object.labels().iter().map(|(key, value)| (key.as_str().into(), value.as_str().into()));
    let stored = engine::StoredObject { json: object.json().into(), labels: labels.collect() };
    writer.apply_object(object_key(object.key()), stored);
}

/// An object that is no rule and cannot be read stays as it was; the source has logged why.
fn apply_broken(broken: &Broken, writer: &mut RuleWriter) {
    if let Some(key) = item_key(&broken.key) {
        writer.broken(key, broken.diagnostics.clone());
    }
}

/// The name as the rules know it; `None` for an object that is no rule.
fn item_key(key: &ObjectKey) -> Option<ItemKey> {
    let group = key.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let kind = ItemKind::parse(&key.kind)?;
    let expected =
        if kind == ItemKind::RoutingRule { crate::api::GROUP } else { "admissionregistration.k8s.io" };
    (group == expected).then(|| ItemKey { kind, name: key.name.clone() })
}

fn object_key(key: &ObjectKey) -> engine::ObjectKey {
    engine::ObjectKey {
        api_version: key.api_version.clone(),
        kind: key.kind.clone(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    }
}

#[cfg(test)]
mod tests;
