//! The immutable set of rules that answers requests, with the objects that rules refer to.

use std::sync::Arc;

use super::candidates::Candidates;
use super::objects::Objects;
use super::protected::Protected;
use super::rule::Rule;

/// Everything that a decision depends on besides the request. Readers load it once per request and keep it to the end.
#[derive(Debug)]
pub struct RuleSet {
    rules: Vec<Arc<Rule>>,
    candidates: Candidates,
    objects: Arc<Objects>,
    protected: Arc<Protected>,
    revision: u64,
}

impl RuleSet {
    pub(super) fn new(
        rules: Vec<Arc<Rule>>,
        objects: Arc<Objects>,
        protected: Arc<Protected>,
        revision: u64,
    ) -> Self {
        let candidates = Candidates::new(&rules);
        Self { rules, candidates, objects, protected, revision }
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

    pub(super) fn candidates(&self) -> &Candidates {
        &self.candidates
    }
}
