//! One request through the phases, as an API server would send it.

use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::engine::{Decision, Phase, Query, Request, RuleSet, decide};

/// The API server's default timeout of a webhook.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The phases to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Phases {
    /// Only the mutating phase.
    Mutating,
    /// Only the validating phase, on the object as it is.
    Validating,
    /// Mutating, then validating on the result, as an API server does.
    Both,
}

/// What came of a request.
#[derive(Debug)]
pub(super) struct Evaluated {
    /// One per phase that was reached.
    pub(super) phases: Vec<(Phase, Decision)>,
    /// The object that was sent.
    pub(super) object: Option<String>,
    /// The object after the patch, if there was one.
    pub(super) patched: Option<String>,
}

/// Asks about a request. A rejection in the mutating phase ends it.
pub(super) fn evaluate(rules: &RuleSet, request: &Request<'_>, phases: Phases, trace: bool) -> Evaluated {
    let start = Instant::now();
    let clock = || start.elapsed();
    let ask = |request: &Request<'_>, phase| {
        let began = Instant::now();
        let interrupt = || began.elapsed() > TIMEOUT;
        let query = Query { interrupt: &interrupt, trace, clock: Some(&clock), ..Query::new(phase) };
        decide(rules, request, &query)
    };
    let mut decisions = Vec::new();
    let mut patched = None;
    if phases != Phases::Validating {
        let decision = ask(request, Phase::Mutating);
        if decision.allowed() {
            // Rules write JSON, which is text.
            patched = decision.patched_object.clone().and_then(|json| String::from_utf8(json).ok());
        }
        decisions.push((Phase::Mutating, decision));
    }
    let is_allowed = decisions.iter().all(|(_, decision)| decision.allowed());
    if phases != Phases::Mutating && is_allowed {
        let request = Request { object: patched.as_deref().or(request.object), ..request.clone() };
        decisions.push((Phase::Validating, ask(&request, Phase::Validating)));
    }
    Evaluated { phases: decisions, object: request.object.map(str::to_owned), patched }
}

impl Evaluated {
    pub(super) fn allowed(&self) -> bool {
        self.phases.iter().all(|(_, decision)| decision.allowed())
    }

    pub(super) fn protected(&self) -> bool {
        self.phases.iter().any(|(_, decision)| decision.protected)
    }
}
