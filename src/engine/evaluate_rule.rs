//! One candidate rule: matching, parameters, evaluation; nothing that happens in it reaches other rules but through its result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use usher_cel::eval::{Arena, ErrorKind};

use super::activation::RuleActivation;
use super::decide::{LeftOut, Query};
use super::decision::{Finding, RuleOutcome};
use super::documents::Documents;
use super::evaluation::Evaluation;
use super::mutate::Working;
use super::params::for_each_param;
use super::rule::{FailurePolicy, Origin, Rule};
use super::rule_result::{RuleResult, Verdict};
use super::trace::RuleTrace;

/// The message of the evaluation error that a panic is.
pub const PANICKED: &str = "internal error: the evaluation of the rule panicked";

const QUARANTINED: &str = "internal error: the rule is quarantined in this replica, since its evaluation panicked repeatedly; change the rule, \
                           and report the defect";

/// What the evaluation of any rule of a request needs.
pub(super) struct Context<'c, 'r> {
    pub(super) documents: &'c Documents<'r>,
    pub(super) query: &'c Query<'c>,
    pub(super) left_out: &'c LeftOut,
}

/// Evaluates a rule. A panic inside is an evaluation error like any other, until there were too many: then the rule is not evaluated any more,
/// and what it matches has the error at once.
pub(super) fn evaluate_rule<'r>(
    context: &Context<'_, 'r>,
    rank: u32,
    rule: &Rule,
    working: &Working<'r>,
    scratch: &Arena,
) -> RuleResult<'r> {
    if (context.query.interrupt)() {
        return error(
            context,
            rule,
            ErrorKind::Deadline,
            "operation interrupted before the rule was evaluated",
        );
    }
    if rule.panics.is_quarantined() {
        return match mismatch(context.documents, rule, working) {
            Some(why) => skipped(context, rule, why),
            None => error(context, rule, ErrorKind::Internal, QUARANTINED),
        };
    }
    // What the closure leaves behind when it unwinds is not looked at again: its result is lost, caches of the documents are filled only with
    // whole values, and the arena is reset.
    let evaluate = AssertUnwindSafe(|| evaluate_matched(context, rank, rule, working, scratch));
    catch_unwind(evaluate).unwrap_or_else(|_| {
        rule.panics.add();
        error(context, rule, ErrorKind::Internal, PANICKED)
    })
}

fn evaluate_matched<'r>(
    context: &Context<'_, 'r>,
    rank: u32,
    rule: &Rule,
    working: &Working<'r>,
    scratch: &Arena,
) -> RuleResult<'r> {
    let Context { documents, query, left_out } = *context;
    let request = documents.request;
    if let Some(why) = mismatch(documents, rule, working) {
        return skipped(context, rule, why);
    }
    let mut result = RuleResult::default();
    let mut object = working.object;
    let followed = for_each_param(rule, documents.rules.objects(), request, |param| {
        let before = now(query);
        let activation = RuleActivation::new(rule, documents, query, scratch, object, param.object);
        let trace = query.trace.then(|| RuleTrace {
            params: param.object.map(|_| param.name.to_owned()),
            ..RuleTrace::new(rule)
        });
        Evaluation::new(&activation, rank, &mut result, trace, left_out).run();
        object = activation.object.get();
        if query.trace
            && let Some(trace) = result.traces.last_mut()
        {
            trace.elapsed = now(query).saturating_sub(before);
        }
    });
    match followed {
        Ok(()) if result.outcomes.is_empty() => skipped(context, rule, "no parameter object was found"),
        Ok(()) => result,
        Err(message) => configuration_error(context, rule, message),
    }
}

/// Why the rule is not about this request, if it is not.
fn mismatch(documents: &Documents<'_>, rule: &Rule, working: &Working<'_>) -> Option<&'static str> {
    let request = documents.request;
    if rule.namespace.as_deref().is_some_and(|namespace| namespace != request.namespace) {
        return Some("the rule is confined to another namespace");
    }
    if !rule.guards.iter().all(|guard| guard.admits(request)) {
        return Some("its expressions cannot be true for this namespace, name, user, kind or operation");
    }
    let constraints = std::iter::once(&rule.constraints).chain(rule.binding_constraints.as_deref());
    for constraints in constraints {
        if let Err(mismatch) = constraints.check(request, &working.labels, documents.rules.objects()) {
            return Some(mismatch.as_str());
        }
    }
    None
}

fn skipped<'r>(context: &Context<'_, 'r>, rule: &Rule, why: &str) -> RuleResult<'r> {
    let mut result = RuleResult::default();
    result.outcomes.push(outcome(rule, Finding::NoMatch));
    if context.query.trace {
        result.traces.push(RuleTrace { skipped: Some(why.to_owned()), ..RuleTrace::new(rule) });
    }
    result
}

fn configuration_error<'r>(context: &Context<'_, 'r>, rule: &Rule, message: String) -> RuleResult<'r> {
    let message = match rule.origin {
        Origin::RoutingRule => message,
        // Kubernetes' text.
        _ => format!("failed to configure binding: {message}"),
    };
    let mut result = skipped(context, rule, &message);
    result.outcomes.clear();
    if rule.failure_policy == FailurePolicy::Fail {
        result.verdicts.push(Verdict::configuration(message.clone()));
    }
    result.outcomes.push(outcome(rule, Finding::Error { kind: ErrorKind::InvalidArgument, message }));
    result
}

fn error<'r>(context: &Context<'_, 'r>, rule: &Rule, kind: ErrorKind, message: &str) -> RuleResult<'r> {
    let mut result = skipped(context, rule, message);
    result.outcomes.clear();
    if rule.failure_policy == FailurePolicy::Fail {
        result.verdicts.push(Verdict::error(None, kind, message.to_owned()));
    }
    result.outcomes.push(outcome(rule, Finding::Error { kind, message: message.to_owned() }));
    result
}

fn outcome(rule: &Rule, finding: Finding) -> RuleOutcome {
    RuleOutcome { rule: Arc::clone(&rule.name), finding, route: None, cost: 0, warning: None }
}

fn now(query: &Query<'_>) -> Duration {
    query.clock.map_or(Duration::ZERO, |clock| clock())
}
