//! The index: which rules can match a request, found by its envelope.

use std::sync::Arc;

use super::rule::Rule;

/// Finds rules by group, resource, subresource, operation and phase, then by guards.
#[derive(Debug)]
pub(super) struct Candidates {
    len: usize,
}

impl Candidates {
    pub(super) fn new(rules: &[Arc<Rule>]) -> Self {
        Self { len: rules.len() }
    }
}
