//! The `tests:` of a rule: they run when the rule is accepted, and a rule that fails one is not accepted.

mod expectation;
mod request;

use std::sync::Arc;

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

/// Runs the tests of a rule that was compiled from `written`: a finding per test that failed.
///
/// A test sees the rule alone and in force, whatever its mode, and of the parameter objects only the test's own.
pub(super) fn run_tests(rule: Rule, written: &RoutingRule, kinds: &Kinds) -> Vec<Diagnostic> {
    let tests = &written.spec.tests;
    let params = rule.params.clone().map(any_object);
    let rule = Arc::new(Rule { mode: Mode::Enforce, params, ..rule });
    let mut findings = Vec::new();
    for (index, test) in tests.iter().enumerate() {
        let found = match TestRequest::new(test, kinds) {
            Ok(request) => {
                let got = evaluate(&rule, test, &request);
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

fn evaluate(rule: &Arc<Rule>, test: &TestCase, request: &TestRequest) -> Got {
    let mut index = RuleIndex::new(Protected::nothing());
    index.apply(Arc::clone(rule));
    for (key, object) in request.objects(rule.params.as_ref()) {
        index.apply_object(key, object);
    }
    let rules = index.snapshot();
    let run = |phase, object: Option<&str>| -> Decision {
        decide(&rules, &request.request(object), &Query { trace: true, ..Query::new(phase) })
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
