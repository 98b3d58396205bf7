use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::change::{Broken, Change, Snapshot};
use super::object::{Object, ObjectKey};

/// Where a change comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Files and directories.
    Directory,
    /// The API server.
    Cluster,
}

/// Makes one source of files and cluster. What files define counts, whatever the cluster has under the same name; nothing is told before each
/// source has told everything once.
#[derive(Debug)]
pub struct Merge {
    /// Kept only where there is something to merge them with.
    files: Arc<Snapshot>,
    files_are_read: bool,
    /// Names of what the files define.
    in_files: BTreeSet<ObjectKey>,
    cluster: Option<BTreeMap<ObjectKey, Known>>,
    has_files: bool,
    has_cluster: bool,
}

/// An object of the cluster.
#[derive(Clone, Debug)]
struct Known {
    /// The last version that could be read.
    good: Option<Object>,
    broken: Option<Broken>,
}

impl Merge {
    /// For the sources that there are.
    pub fn of(has_files: bool, has_cluster: bool) -> Self {
        Self {
            files: Arc::default(),
            files_are_read: false,
            in_files: BTreeSet::new(),
            cluster: None,
            has_files,
            has_cluster,
        }
    }

    /// Whether every source has told everything once.
    pub fn is_complete(&self) -> bool {
        (!self.has_files || self.files_are_read) && (!self.has_cluster || self.cluster.is_some())
    }

    /// The files as they were read last; nothing where files are the only source.
    pub fn files(&self) -> &Arc<Snapshot> {
        &self.files
    }

    /// Objects of the cluster that files define too.
    pub fn hidden(&self) -> impl Iterator<Item = &ObjectKey> {
        let cluster = self.cluster.iter().flat_map(BTreeMap::keys);
        cluster.filter(|key| self.in_files.contains(key))
    }

    /// What a change of one source means for the whole; `None`: nothing.
    pub fn take(&mut self, origin: Origin, change: Change) -> Option<Change> {
        match (origin, change) {
            (Origin::Directory, Change::Reset(snapshot)) => {
                self.files_are_read = true;
                if !self.has_cluster {
                    return Some(Change::Reset(snapshot));
                }
                let objects = snapshot.objects.iter().map(Object::key);
                let stored = snapshot.store.iter().map(|stored| stored.key());
                let broken = snapshot.broken.iter().map(|broken| &broken.key);
                self.in_files = objects.chain(stored).chain(broken).map(name).collect();
                self.files = snapshot;
                self.all()
            }
            (Origin::Cluster, Change::Reset(snapshot)) => {
                self.cluster = Some(known(&snapshot));
                self.all()
            }
            // Files are told as a whole.
            (Origin::Directory, change) => Some(change),
            (Origin::Cluster, change) => self.of_cluster(change),
        }
    }

    fn of_cluster(&mut self, change: Change) -> Option<Change> {
        let cluster = self.cluster.as_mut()?;
        let key = match &change {
            Change::Apply(object) => {
                let known = Known { good: Some(object.clone()), broken: None };
                cluster.insert(name(object.key()), known);
                object.key()
            }
            Change::Broken(broken) => {
                let known =
                    cluster.entry(name(&broken.key)).or_insert_with(|| Known { good: None, broken: None });
                known.broken = Some(broken.clone());
                &broken.key
            }
            Change::Delete(key) => {
                cluster.remove(&name(key));
                key
            }
            Change::Reset(_) => return None,
        };
        if self.in_files.contains(&name(key)) {
            tracing::warn!(object = %key, "the files define it too, and what they say counts");
            return None;
        }
        self.is_complete().then_some(change)
    }

    /// Everything anew.
    fn all(&self) -> Option<Change> {
        if !self.is_complete() {
            return None;
        }
        let mut all = Snapshot::clone(&self.files);
        for known in self
            .cluster
            .iter()
            .flatten()
            .filter(|(key, _)| !self.in_files.contains(key))
            .map(|(_, known)| known)
        {
            match &known.good {
                Some(Object::Other(stored)) => drop(all.store.insert(Arc::clone(stored))),
                Some(object) => all.objects.push(object.clone()),
                None => {}
            }
            all.broken.extend(known.broken.clone());
        }
        Some(Change::Reset(Arc::new(all)))
    }
}

fn known(snapshot: &Snapshot) -> BTreeMap<ObjectKey, Known> {
    let stored = snapshot.store.iter().map(|stored| Object::Other(Arc::clone(stored)));
    let mut known: BTreeMap<ObjectKey, Known> = snapshot
        .objects
        .iter()
        .cloned()
        .chain(stored)
        .map(|object| (name(object.key()), Known { good: Some(object), broken: None }))
        .collect();
    for broken in &snapshot.broken {
        let entry = known.entry(name(&broken.key)).or_insert_with(|| Known { good: None, broken: None });
        entry.broken = Some(broken.clone());
    }
    known
}

/// The version of a group does not tell objects apart.
fn name(key: &ObjectKey) -> ObjectKey {
    let group = key.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    ObjectKey { api_version: group.into(), ..key.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::read_manifest;

    fn rule(name: &str, priority: i32) -> Object {
        let text = format!(
            "apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {{name: {name}}}\nspec: {{priority: {priority}, \
             routes: [{{name: r, predicate: 'true', pass: {{}}}}]}}\n"
        );
        read_manifest("a.yaml", text.as_bytes()).unwrap().objects.remove(0)
    }

    fn reset(rules: &[Object]) -> Change {
        Change::Reset(Arc::new(Snapshot { objects: rules.to_vec(), ..Snapshot::default() }))
    }

    /// Names with priorities.
    fn rules(change: Option<Change>) -> Vec<String> {
        let Some(Change::Reset(snapshot)) = change else { panic!("{change:?} is no reset") };
        let text = |object: &Object| match object {
            Object::RoutingRule(rule) => format!("{}={}", rule.key.name, rule.object.spec.priority),
            other => panic!("{other:?}"),
        };
        snapshot.objects.iter().map(text).collect()
    }

    #[test]
    fn nothing_is_told_before_both_have_told_everything() {
        let mut merge = Merge::of(true, true);
        assert!(merge.take(Origin::Cluster, reset(&[rule("a", 1)])).is_none());
        assert!(merge.take(Origin::Cluster, Change::Apply(rule("b", 1))).is_none());
        assert!(!merge.is_complete());
        let all = merge.take(Origin::Directory, reset(&[rule("c", 2)]));
        assert_eq!(rules(all), ["c=2", "a=1", "b=1"]);
        assert!(merge.is_complete());
    }

    #[test]
    fn what_files_define_counts_and_what_the_cluster_has_comes_back_after() {
        let mut merge = Merge::of(true, true);
        merge.take(Origin::Directory, reset(&[rule("a", 2)]));
        assert_eq!(rules(merge.take(Origin::Cluster, reset(&[rule("a", 1), rule("b", 1)]))), ["a=2", "b=1"]);
        assert!(merge.take(Origin::Cluster, Change::Apply(rule("a", 3))).is_none());
        assert!(matches!(merge.take(Origin::Cluster, Change::Apply(rule("b", 3))), Some(Change::Apply(_))));
        assert_eq!(rules(merge.take(Origin::Directory, reset(&[]))), ["a=3", "b=3"]);
    }

    #[test]
    fn one_source_alone_is_told_as_it_is() {
        let mut merge = Merge::of(true, false);
        assert_eq!(rules(merge.take(Origin::Directory, reset(&[rule("a", 1)]))), ["a=1"]);
        assert!(merge.is_complete());
        let mut merge = Merge::of(false, true);
        assert_eq!(rules(merge.take(Origin::Cluster, reset(&[rule("a", 1)]))), ["a=1"]);
        let broken = Broken { key: rule("a", 1).key().clone(), diagnostics: Vec::new() };
        assert!(matches!(merge.take(Origin::Cluster, Change::Broken(broken)), Some(Change::Broken(_))));
        let Some(Change::Reset(all)) = merge.all() else { panic!("a reset") };
        assert_eq!((all.objects.len(), all.broken.len()), (1, 1));
    }
}
