use std::sync::Arc;

use super::object::{Object, ObjectKey};
use super::object_store::ObjectStore;
use crate::diagnostic::Diagnostic;

/// What a source tells about the objects that it knows. Changes come over a bounded channel, in order.
#[derive(Clone, Debug)]
pub enum Change {
    /// All that there is. What is not in it is gone.
    Reset(Arc<Snapshot>),
    /// One object is new, or another than before.
    Apply(Object),
    /// One object cannot be used. If an earlier version of it is in force, it stays so.
    Broken(Broken),
    /// One object is gone.
    Delete(ObjectKey),
}

/// All objects of a source at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Rules, policies and bindings, in the order of file and place in it.
    pub objects: Vec<Object>,
    /// The other objects.
    pub store: ObjectStore,
    /// Objects that are there but cannot be used as they are.
    pub broken: Vec<Broken>,
    /// All findings, those of `broken` included, and those of files that could not be read at all.
    pub diagnostics: Vec<Diagnostic>,
    /// How many files were read.
    pub files: usize,
    /// How many files and paths cannot be read as a whole. The objects of their last good content are still in the
    /// snapshot.
    pub broken_files: usize,
}

/// An object that cannot be used: known by name, but not of the right shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// What the object is called.
    pub key: ObjectKey,
    /// Why.
    pub diagnostics: Vec<Diagnostic>,
}
