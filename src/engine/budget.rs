//! What evaluations may cost, in Kubernetes' cost units (apiserver `pkg/apis/cel/config.go`), and how much memory they may hold.

/// One run of one expression.
pub const PER_CALL: u64 = 1_000_000;

/// All routes of a rule with their messages, for one parameter object; each mutation of an imported policy; all audit annotations.
pub(super) const PER_RULE: u64 = 10_000_000;

/// All match conditions of a rule, for one parameter object.
pub(super) const MATCH_CONDITIONS: u64 = 2_500_000;

/// Kubernetes' text.
pub(super) const EXHAUSTED: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// What the evaluation of one request may hold, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// All documents that are read for the request, with what is held while they are read.
    pub documents: usize,
    /// What the expressions of one rule make.
    pub rule: usize,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self { documents: REQUEST_MEMORY, rule: RULE_MEMORY }
    }
}

/// Memory of a request's documents. The API server accepts objects of 3 MiB and sends two; the worst JSON for us is a list of digits,
/// where two bytes become one value of 24 bytes.
const REQUEST_MEMORY: usize = 2 * (3 << 20) / 2 * 24 * 2;

/// Memory of one rule's evaluation: ten times the largest object.
const RULE_MEMORY: usize = 10 * (3 << 20);

/// What is left of the cost that a pass over a rule's expressions may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    limit: u64,
    spent: u64,
}

impl Budget {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, spent: 0 }
    }

    /// Takes note of what an evaluation has cost; false when that was more than was left.
    #[must_use]
    pub(super) fn settle(&mut self, cost: u64) -> bool {
        self.spent = self.spent.saturating_add(cost);
        self.spent <= self.limit
    }
}
