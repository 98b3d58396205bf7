//! The procedure: from a request and a rule set to a decision.

use std::fmt;
use std::time::Duration;

use usher_cel::eval::Arena;
use usher_cel::library::authorizer::Authorize;

use super::annotations::Annotations;
use super::budget::MemoryLimits;
use super::decision::Decision;
use super::documents::Documents;
use super::evaluate_rule::{Context, evaluate_rule};
use super::mutate::{self, Finished, Working};
use super::request::{Phase, Request};
use super::rule::{FailurePolicy, Mode, Origin};
use super::rule_set::RuleSet;
use super::trace::Trace;
use super::warnings;

/// What is asked about a request.
pub struct Query<'q> {
    pub phase: Phase,
    /// Only rules of this failure policy; `None`: all.
    pub class: Option<FailurePolicy>,
    /// Answers true when the time is up.
    pub interrupt: &'q dyn Fn() -> bool,
    /// What does not fit is an evaluation error of the rules that need it.
    pub memory: MemoryLimits,
    /// Who answers `authorizer` checks; without one they are evaluation errors.
    pub authorizer: Option<&'q dyn Authorize>,
    /// Whether the decision tells how it came about.
    pub trace: bool,
    /// For the trace's timings.
    pub clock: Option<&'q dyn Fn() -> Duration>,
}

/// How often mutations are tried again without the ones that turned out not to be fixed points, before none is made.
const MOST_TRIALS: usize = 8;

impl Query<'_> {
    /// All rules, no time limit, nobody to ask, no trace.
    pub fn new(phase: Phase) -> Self {
        Self {
            phase,
            class: None,
            interrupt: &|| false,
            memory: MemoryLimits::default(),
            authorizer: None,
            trace: false,
            clock: None,
        }
    }
}

/// Decides. Deterministic; never panics.
pub fn decide(rules: &RuleSet, request: &Request<'_>, query: &Query<'_>) -> Decision {
    let trace = || query.trace.then(Box::<Trace>::default);
    if rules.protected().covers(request) {
        return Decision { protected: true, trace: trace(), ..Decision::default() };
    }
    let candidates = rules.candidates().find(request, query.phase);
    if candidates.is_empty() {
        return Decision { trace: trace(), ..Decision::default() };
    }
    let arena = Arena::with_limit(query.memory.documents);
    let documents = Documents::new(request, rules, candidates, &arena);
    let mut scratch = Arena::with_limit(query.memory.rule);
    match query.phase {
        Phase::Validating => {
            evaluate(&documents, query, &LeftOut::default(), Working::default(), &mut scratch).0
        }
        Phase::Mutating => mutate(&documents, query, &mut scratch),
    }
}

/// Evaluates all candidates in order, on the object as `working` has it.
fn evaluate<'r>(
    documents: &Documents<'r>,
    query: &Query<'_>,
    left_out: &LeftOut,
    mut working: Working<'r>,
    scratch: &mut Arena,
) -> (Decision, Working<'r>) {
    let mut decision = Decision { trace: query.trace.then(Box::default), ..Decision::default() };
    let mut annotations = Annotations::default();
    let context = Context { documents, query, left_out };
    for rank in documents.candidates.clone() {
        let rule = &documents.rules.rules()[rank as usize];
        if query.class.is_some_and(|class| class != rule.failure_policy) {
            continue;
        }
        scratch.reset();
        let mut result = evaluate_rule(&context, rank, rule, &working, scratch);
        let changes = std::mem::take(&mut result.changes);
        if rule.mode == Mode::Enforce {
            working.commit(rank, &changes);
        }
        if result.take_effect(rule, &mut decision, &mut annotations) {
            break;
        }
    }
    decision.warnings = warnings::fit(std::mem::take(&mut decision.warnings));
    decision.audit_annotations = annotations.finish();
    (decision, working)
}

/// As [`evaluate`], with a patch that was tried: it applies to the object as received, and the rules leave its result as it is. A mutation of
/// which that is not true is an evaluation error of its route, and everything is evaluated again without it.
fn mutate(documents: &Documents<'_>, query: &Query<'_>, scratch: &mut Arena) -> Decision {
    let mut left_out = LeftOut::default();
    for _ in 0..MOST_TRIALS {
        let (mut decision, working) = evaluate(documents, query, &left_out, Working::default(), scratch);
        if !decision.allowed() || working.authors.is_empty() {
            return decision;
        }
        match try_out(documents, query, &left_out, &working, scratch) {
            Ok(tried) => {
                (decision.patch, decision.patched_object) = tried.patch.unzip();
                for rank in tried.restless {
                    warn(&mut decision, &documents.rules.rules()[rank as usize].name);
                }
                return decision;
            }
            Err(authors) => left_out.routes.extend(authors),
        }
    }
    left_out.everything = true;
    evaluate(documents, query, &left_out, Working::default(), scratch).0
}

/// What became of a patch that may be sent.
struct Tried {
    /// `None` when the changes come to nothing.
    patch: Option<Finished>,
    /// Imported policies that would change the result again: Kubernetes lets them.
    restless: Vec<u32>,
}

/// Tries the changes out. If they must not be sent: the routes to leave out.
fn try_out<'r>(
    documents: &Documents<'r>,
    query: &Query<'_>,
    left_out: &LeftOut,
    working: &Working<'r>,
    scratch: &mut Arena,
) -> Result<Tried, Vec<(u32, usize)>> {
    let Ok(patch) = mutate::finish(documents, working) else { return Err(working.authors.clone()) };
    let query = Query { trace: false, ..*query };
    let (_, second) = evaluate(documents, &query, left_out, working.again(), scratch);
    if (query.interrupt)() {
        // Not proven to be fine, so not sent. The next evaluation finds that the time is up, too, and says so.
        return Err(working.authors.clone());
    }
    let is_imported = |rank: u32| documents.rules.rules()[rank as usize].origin != Origin::RoutingRule;
    if let Some(author) = second.authors.iter().find(|(rank, _)| !is_imported(*rank)) {
        return Err(vec![*author]);
    }
    Ok(Tried { patch, restless: second.authors.iter().map(|(rank, _)| *rank).collect() })
}

fn warn(decision: &mut Decision, rule: &str) {
    let outcomes = decision.outcomes.iter_mut();
    for outcome in outcomes.filter(|outcome| *outcome.rule == *rule && outcome.finding.is_match()) {
        outcome.warning = Some(
            "the mutation is not idempotent: it changes its own result again when it is invoked again"
                .to_owned(),
        );
    }
}

/// Mutations, by place of rule and route, that must not be made.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Reported as errors, whatever their predicates say.
    pub(super) routes: Vec<(u32, usize)>,
    /// After too many trials: no change is made, and each route that would make one is an error.
    pub(super) everything: bool,
}

impl fmt::Debug for Query<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("phase", &self.phase)
            .field("class", &self.class)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
