//! What one rule has found, before its mode says what may come of it.

use std::sync::Arc;

use usher_cel::eval::ErrorKind;

use super::annotations::{Annotations, Failure};
use super::decision::{Decision, Rejection, RuleOutcome};
use super::mutate::Change;
use super::rule::{Mode, Origin, Reason, Rule};
use super::trace::RuleTrace;

#[derive(Debug, Default)]
pub(super) struct RuleResult<'r> {
    pub(super) verdicts: Vec<Verdict>,
    /// Of `warn` routes.
    pub(super) warnings: Vec<String>,
    pub(super) annotations: Vec<(Arc<str>, String)>,
    pub(super) outcomes: Vec<RuleOutcome>,
    /// A `pass` for the whole phase.
    pub(super) ends_phase: bool,
    pub(super) changes: Vec<Change<'r>>,
    pub(super) traces: Vec<RuleTrace>,
}

/// One reason to reject.
#[derive(Debug)]
pub(super) struct Verdict {
    /// Place of the route in its rule.
    route: Option<usize>,
    message: String,
    reason: &'static str,
    code: u16,
    error: Option<ErrorKind>,
    /// The rule cannot be evaluated as configured; an imported policy's `validationActions` do not soften that.
    configuration: bool,
}

impl Verdict {
    pub(super) fn reject(route: usize, message: String, reason: Reason, code: u16) -> Self {
        Self { route: Some(route), message, reason: reason.as_str(), code, error: None, configuration: false }
    }

    pub(super) fn error(route: Option<usize>, kind: ErrorKind, message: String) -> Self {
        let (reason, code) = match kind {
            ErrorKind::Internal => ("InternalError", 500),
            ErrorKind::Deadline => ("Timeout", 504),
            // As a policy's error decisions.
            _ => (Reason::Invalid.as_str(), Reason::Invalid.code()),
        };
        Self { route, message, reason, code, error: Some(kind), configuration: false }
    }

    pub(super) fn configuration(message: String) -> Self {
        Self { configuration: true, ..Self::error(None, ErrorKind::InvalidArgument, message) }
    }
}

impl RuleResult<'_> {
    /// Writes into the decision what the rule's mode allows; whether the phase ends here.
    pub(super) fn take_effect(
        self,
        rule: &Rule,
        decision: &mut Decision,
        annotations: &mut Annotations,
    ) -> bool {
        let actions = rule.actions();
        let is_policy = rule.origin != Origin::RoutingRule;
        for verdict in self.verdicts {
            let message = &verdict.message;
            if actions.warn {
                decision.warnings.push(warning(rule, verdict.route, message));
            }
            if actions.audit {
                annotations.add_failure(Failure::new(rule, verdict.route, actions, message.clone()));
            }
            let denies = actions.deny || (verdict.configuration && is_policy && rule.mode == Mode::Enforce);
            if denies {
                decision.rejections.push(Rejection {
                    rule: Arc::clone(&rule.name),
                    route: verdict.route.map(|index| Arc::clone(&rule.routes[index].name)),
                    message: verdict.message,
                    reason: verdict.reason,
                    code: verdict.code,
                    error: verdict.error,
                });
            }
        }
        if matches!(rule.mode, Mode::Enforce | Mode::Warn) {
            decision.warnings.extend(self.warnings);
        }
        if matches!(rule.mode, Mode::Enforce | Mode::Warn | Mode::Audit) {
            for (key, value) in self.annotations {
                annotations.add(&key, value);
            }
        }
        decision.outcomes.extend(self.outcomes);
        if let Some(trace) = &mut decision.trace {
            trace.rules.extend(self.traces);
        }
        // A rule on trial must not switch off others.
        self.ends_phase && rule.mode == Mode::Enforce
    }
}

fn warning(rule: &Rule, route: Option<usize>, message: &str) -> String {
    match &rule.origin {
        // Kubernetes' text.
        Origin::ValidatingAdmissionPolicy { policy, binding, .. } => {
            format!(
                "Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding}': {message}"
            )
        }
        Origin::RoutingRule | Origin::MutatingAdmissionPolicy { .. } => match route {
            Some(index) => format!("{}/{}: {message}", rule.name, rule.routes[index].name),
            None => format!("{}: {message}", rule.name),
        },
    }
}
