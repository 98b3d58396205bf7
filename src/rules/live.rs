//! The handle through which the rules in force are read.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::Kinds;
use crate::engine::RuleSet;

/// The rule set in force. Readers load it once per request and keep it to the end; [`super::RuleWriter`] is the only one to change it.
///
/// Cheap to clone; all clones see the same rules.
#[derive(Clone, Debug)]
pub struct LiveRules {
    // A swap cell, since one writer that may wait for nobody meets many readers that may wait for nobody either.
    current: Arc<ArcSwap<RuleSet>>,
    /// The kinds of objects by which these rules were compiled.
    kinds: Arc<ArcSwap<Kinds>>,
}

impl LiveRules {
    pub(super) fn new(rules: RuleSet) -> Self {
        Self { current: Arc::new(ArcSwap::from_pointee(rules)), kinds: Arc::default() }
    }

    /// The rules as they stand now.
    pub fn load(&self) -> Arc<RuleSet> {
        self.current.load_full()
    }

    /// What is known of the kinds of objects: what a new version of a rule is compiled by.
    pub fn kinds(&self) -> Arc<Kinds> {
        self.kinds.load_full()
    }

    pub(super) fn publish(&self, rules: RuleSet) {
        self.current.store(Arc::new(rules));
    }

    pub(super) fn publish_kinds(&self, kinds: Kinds) {
        self.kinds.store(Arc::new(kinds));
    }
}
