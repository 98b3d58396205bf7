//! The immutable set of rules that answers requests, with the objects that rules refer to.

use std::sync::Arc;

use super::candidates::Candidates;
use super::objects::Objects;
use super::protected::Protected;
use super::rule::Rule;
use super::slots;

/// Everything that a decision depends on besides the request. Readers load it once per request and keep it to the end.
#[derive(Debug)]
pub struct RuleSet {
    rules: Vec<Arc<Rule>>,
    candidates: Candidates,
    objects: Arc<Objects>,
    protected: Arc<Protected>,
    revision: u64,
    reads_managed_fields: bool,
    reads_objects_of_request: bool,
}

impl RuleSet {
    pub(super) fn new(
        rules: Vec<Arc<Rule>>,
        objects: Arc<Objects>,
        protected: Arc<Protected>,
        revision: u64,
    ) -> Self {
        let candidates = Candidates::new(&rules);
        let reads = |slot, path: &[&str]| {
            rules
                .iter()
                .flat_map(|rule| rule.expressions())
                .any(|expression| expression.program().reads().reads_path(slot, path))
        };
        let reads_managed_fields =
            OBJECTS.into_iter().any(|slot| reads(slot, &["metadata", "managedFields"]));
        let reads_objects_of_request =
            reads(slots::REQUEST, &["object"]) || reads(slots::REQUEST, &["oldObject"]);
        Self {
            rules,
            candidates,
            objects,
            protected,
            revision,
            reads_managed_fields,
            reads_objects_of_request,
        }
    }

    /// In evaluation order: priority (higher first), cluster before namespaced, name.
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    pub fn protected(&self) -> &Protected {
        &self.protected
    }

    /// Counts snapshots; a later one is greater.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether any expression could tell an object without `metadata.managedFields` from one that has them.
    pub(super) fn reads_managed_fields(&self) -> bool {
        self.reads_managed_fields
    }

    /// Whether any expression looks for the aliases `object` and `oldObject` in `request` itself, as `has(request.object)` does.
    pub(super) fn reads_objects_of_request(&self) -> bool {
        self.reads_objects_of_request
    }

    pub(super) fn candidates(&self) -> &Candidates {
        &self.candidates
    }
}

const OBJECTS: [u32; 4] =
    [slots::OBJECT, slots::OLD_OBJECT, slots::REQUEST_OBJECT, slots::REQUEST_OLD_OBJECT];
