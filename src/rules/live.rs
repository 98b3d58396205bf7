//! The handle through which the rules in force are read.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::engine::RuleSet;

/// The rule set in force. Readers load it once per request and keep it to the end; [`super::RuleWriter`] is the only one to change it.
///
/// Cheap to clone; all clones see the same rules.
#[derive(Clone, Debug)]
pub struct LiveRules {
    // A swap cell, since one writer that may wait for nobody meets many readers that may wait for nobody either.
    current: Arc<ArcSwap<RuleSet>>,
}

impl LiveRules {
    pub(super) fn new(rules: RuleSet) -> Self {
        Self { current: Arc::new(ArcSwap::from_pointee(rules)) }
    }

    /// The rules as they stand now.
    pub fn load(&self) -> Arc<RuleSet> {
        self.current.load_full()
    }

    pub(super) fn publish(&self, rules: RuleSet) {
        self.current.store(Arc::new(rules));
    }
}
