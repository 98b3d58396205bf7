//! The `tests:` of a rule: they run when the rule is accepted, and a rule that fails one is not accepted.

mod expectation;
mod request;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::api::{self, RoutingRule, TestCase};
use crate::diagnostic::{Code, Diagnostic};
use crate::engine::matching::LabelSelector;
use crate::engine::{
    Decision, Mode, NotFound, ParamChoice, ParamReference, Params, Phase, Protected, Query, Rule, RuleIndex,
    decide,
};
use crate::rules::Kinds;
use expectation::Got;
use request::TestRequest;

/// What all tests of a rule may cost together: as much as the rule may cost in one review (apiserver
/// `RuntimeCELCostBudget`). Tests run while rules are loaded, so that without a limit one rule could hold up all others.
const COST_LIMIT: u64 = 10_000_000;

/// And how long they may take, where their cost does not tell.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Runs the tests of a rule that was compiled from `written`: a finding per test that failed.
///
/// A test sees the rule alone and in force, whatever its mode, and of the parameter objects only the test's own. When the tests cost too much
/// together, those that are left are not run, which is a finding as well.
pub(super) fn run_tests(rule: Rule, written: &RoutingRule, kinds: &Kinds) -> Vec<Diagnostic> {
    let tests = &written.spec.tests;
    let params = rule.params.clone().map(any_object);
    let rule = Arc::new(Rule { mode: Mode::Enforce, params, ..rule });
    let mut findings = Vec::new();
    let mut budget = Budget { cost: 0, end: Instant::now() + TIME_LIMIT };
    for (index, test) in tests.iter().enumerate() {
        if budget.is_spent() {
            findings.push(not_run(index, tests.len()));
            break;
        }
        let found = match TestRequest::new(test, kinds) {
            Ok(request) => {
                let got = evaluate(&rule, test, &request, &mut budget);
                expectation::compare(&test.expect, &got)
            }
            Err((field, message)) => Err((field, message, None)),
        };
        if let Err((field, message, help)) = found {
            let message = format!("test `{}`: {message}", test.name);
            let finding =
                Diagnostic::error(Code::TestFailed, message).at(format!("spec.tests[{index}].{field}"));
            findings.push(match help {
                Some(help) => finding.help(help),
                None => finding,
            });
        }
    }
    findings
}

/// What the tests of a rule have taken so far.
struct Budget {
    cost: u64,
    end: Instant,
}

impl Budget {
    fn is_spent(&self) -> bool {
        self.cost > COST_LIMIT || Instant::now() >= self.end
    }

    fn count(&mut self, decision: &Decision) {
        let rules = decision.trace.iter().flat_map(|trace| &trace.rules);
        self.cost = rules.fold(self.cost, |sum, rule| sum.saturating_add(rule.cost));
    }
}

/// The finding about the first test for which nothing is left.
fn not_run(index: usize, count: usize) -> Diagnostic {
    let rest = match count - index {
        1 => "this test was".to_owned(),
        left => format!("this test and the {} after it were", left - 1),
    };
    let message = format!(
        "{rest} not run: the tests before it took more than {} s or {COST_LIMIT} units of cost, which is what a rule may cost in one review",
        TIME_LIMIT.as_secs()
    );
    Diagnostic::error(Code::TestFailed, message)
        .at(format!("spec.tests[{index}]"))
        .help("test with smaller objects, or make the expressions cheaper: `usher eval --explain` shows what each costs")
}

/// Parameters of the same kind, wherever they are: tests name theirs themselves.
fn any_object(params: Params) -> Params {
    let not_found = params.reference.map_or(NotFound::Deny, |reference| reference.not_found);
    let choice = ParamChoice::Selector(LabelSelector::default());
    Params {
        namespaced: false,
        reference: Some(ParamReference { choice, namespace: None, not_found }),
        ..params
    }
}

fn evaluate(rule: &Arc<Rule>, test: &TestCase, request: &TestRequest, budget: &mut Budget) -> Got {
    let mut index = RuleIndex::new(Protected::nothing());
    index.apply(Arc::clone(rule));
    for (key, object) in request.objects(rule.params.as_ref()) {
        index.apply_object(key, object);
    }
    let rules = index.snapshot();
    let end = budget.end;
    let interrupt = || Instant::now() >= end;
    let mut run = |phase, object: Option<&str>| -> Decision {
        let query = Query { trace: true, interrupt: &interrupt, ..Query::new(phase) };
        let decision = decide(&rules, &request.request(object), &query);
        budget.count(&decision);
        decision
    };
    let mut decisions = Vec::new();
    let mut object = request.object().map(str::to_owned);
    if matches!(test.phase, None | Some(api::Phase::Mutating)) {
        let decision = run(Phase::Mutating, object.as_deref());
        let patched = decision.patched_object.as_ref().and_then(|json| String::from_utf8(json.clone()).ok());
        object = patched.or(object);
        decisions.push(decision);
    }
    if matches!(test.phase, None | Some(api::Phase::Validating)) {
        decisions.push(run(Phase::Validating, object.as_deref()));
    }
    Got { decisions, object }
}

#[cfg(test)]
mod tests;
