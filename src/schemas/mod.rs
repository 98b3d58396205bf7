//! What is known about the fields of the objects of a kind: of the built-in kinds, and of those whose CustomResourceDefinition is at hand.
//!
//! Expressions are checked against it when somebody asks; the server never does, so nothing of it is kept in memory beyond the data in the binary.

mod builtin;
mod custom;
mod schema;

pub use schema::{Field, ObjectSchema, Schema};

use std::collections::BTreeMap;

use builtin::BuiltIn;
use custom::CustomKind;
use serde_json::Value;

/// A kind of objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvk {
    /// Empty for the core group.
    pub group: Box<str>,
    /// Such as `v1`.
    pub version: Box<str>,
    /// Such as `Deployment`.
    pub kind: Box<str>,
}

/// A kind as the API server has it under a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    pub gvk: Gvk,
    /// Such as `deployments`.
    pub name: Box<str>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

/// All that is known.
#[derive(Debug)]
pub struct Schemas {
    built_in: BuiltIn,
    custom: BTreeMap<Gvk, CustomKind>,
}

impl Schemas {
    /// The kinds that are built into Kubernetes.
    pub fn built_in() -> Self {
        Self { built_in: BuiltIn::read(), custom: BTreeMap::new() }
    }

    /// Adds the kinds of a `CustomResourceDefinition`, one for each version that is served. A version without a schema says nothing.
    pub fn learn(&mut self, definition: &Value) {
        for kind in custom::kinds(definition) {
            self.custom.insert(kind.resource.gvk.clone(), kind);
        }
    }

    /// The kinds under a resource; `*` as group or version stands for each. In the order of group, version and kind.
    pub fn resources(&self, group: &str, version: &str, resource: &str) -> Vec<Resource> {
        let wanted = |known: &Resource| {
            (group == "*" || *known.gvk.group == *group)
                && (version == "*" || *known.gvk.version == *version)
                && *known.name == *resource
        };
        let custom = self.custom.values().map(|kind| kind.resource.clone());
        let mut found: Vec<Resource> = self.built_in.resources().chain(custom).filter(wanted).collect();
        found.sort();
        found.dedup();
        found
    }

    /// The schema of the objects of a kind; `None` for a kind that is not known.
    pub fn schema(&self, gvk: &Gvk) -> Option<Schema> {
        if let Some(kind) = self.custom.get(gvk) {
            let metadata = self.built_in.metadata();
            return Some(kind.schema(metadata));
        }
        self.built_in.schema(gvk)
    }
}

impl Gvk {
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }
}

impl std::fmt::Display for Gvk {
    /// `apps/v1 Deployment`, `v1 Pod`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        write!(f, "{} {}", self.version, self.kind)
    }
}

#[cfg(test)]
mod tests;
