//! One rule with one parameter object: conditions, routes, messages, annotations, in Kubernetes' passes.

use std::sync::Arc;

use usher_cel::eval::{ErrorKind, EvalError, Meter, Trace, Value, type_name};

use super::activation::{Pass, RuleActivation};
use super::annotations;
use super::budget::{Budget, EXHAUSTED, MATCH_CONDITIONS, PER_CALL, PER_RULE};
use super::decide::LeftOut;
use super::decision::{Finding, RuleOutcome};
use super::expression::Expression;
use super::message;
use super::mutate::{self, Applied, Change};
use super::request::Phase;
use super::rule::{AuditAnnotation, FailurePolicy, Handler, Mutation, Origin, Route, Rule, Scope};
use super::rule_result::{RuleResult, Verdict};
use super::trace::{ExpressionTrace, RouteTrace, RuleTrace};

/// The state of the evaluation. What is found goes to `result`.
pub(super) struct Evaluation<'e, 'a, 'r> {
    activation: &'e RuleActivation<'a, 'r>,
    rule: &'a Rule,
    rank: u32,
    result: &'e mut RuleResult<'r>,
    budget: Budget,
    cost: u64,
    /// Routes whose handler acted.
    acted: Vec<usize>,
    trace: Option<RuleTrace>,
    /// The route that expressions belong to, for the trace.
    at: Option<usize>,
    left_out: &'a LeftOut,
}

/// Why an expression gave nothing that can be used.
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    /// The budget of the pass is spent: nothing more is evaluated.
    exhausted: bool,
}

impl<'e, 'a, 'r> Evaluation<'e, 'a, 'r> {
    pub(super) fn new(
        activation: &'e RuleActivation<'a, 'r>,
        rank: u32,
        result: &'e mut RuleResult<'r>,
        trace: Option<RuleTrace>,
        left_out: &'a LeftOut,
    ) -> Self {
        let budget = Budget::new(MATCH_CONDITIONS);
        let rule = activation.rule;
        Self { activation, rule, rank, result, budget, cost: 0, acted: Vec::new(), trace, at: None, left_out }
    }

    pub(super) fn run(mut self) {
        let before = self.result.outcomes.len();
        if !self.conditions_hold() {
            // Nothing to do, or an error that was taken down.
        } else if let Some(message) = &self.rule.broken {
            let message = message.to_string();
            self.fail(None, Failure { kind: ErrorKind::InvalidArgument, message, exhausted: false });
        } else {
            self.begin(Pass::Routes, PER_RULE);
            self.routes();
            self.messages();
            self.begin(Pass::AuditAnnotations, PER_RULE);
            self.audit_annotations();
        }
        if self.result.outcomes.len() == before {
            self.outcome(None, Finding::NoMatch);
        }
        self.result.outcomes[before].cost = self.cost;
        if let Some(mut trace) = self.trace {
            trace.cost = self.cost;
            self.result.traces.push(trace);
        }
    }

    fn begin(&mut self, pass: Pass, budget: u64) {
        self.activation.begin(pass);
        self.budget = Budget::new(budget);
    }

    /// A false condition beats an error. apiserver `webhook/matchconditions/matcher.go`.
    fn conditions_hold(&mut self) -> bool {
        let mut failures: Vec<Failure> = Vec::new();
        for condition in &self.rule.match_conditions {
            match self.bool(&condition.name, &condition.expression) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(failure) if failure.exhausted => {
                    failures = vec![failure];
                    break;
                }
                Err(failure) => failures.push(failure),
            }
        }
        let Some(first) = failures.first() else { return true };
        let message = match failures.as_slice() {
            [one] => one.message.clone(),
            // Kubernetes' aggregate of errors.
            more => {
                let texts: Vec<_> = more.iter().map(|failure| failure.message.as_str()).collect();
                format!("[{}]", texts.join(", "))
            }
        };
        let failure = Failure { kind: first.kind, message, exhausted: false };
        self.fail(None, failure);
        false
    }

    fn routes(&mut self) {
        let phase = self.activation.query.phase;
        let imported_mutation = matches!(self.rule.origin, Origin::MutatingAdmissionPolicy { .. });
        for (index, route) in self.rule.routes.iter().enumerate() {
            let mutates = matches!(route.handler, Handler::Mutate(_));
            if !route.belongs_to(phase) || (mutates && !mutate::is_possible(self.activation.documents)) {
                continue;
            }
            if imported_mutation {
                self.begin(Pass::Routes, PER_RULE);
            }
            self.at = Some(index);
            if let Some(trace) = &mut self.trace {
                trace.routes.push(RouteTrace::new(index, route));
            }
            let acts = self
                .admitted(index)
                .and_then(|()| self.predicate(route))
                .and_then(|holds| Ok(holds && self.mutation(index, route)?));
            match acts {
                Ok(false) => {}
                Ok(true) => {
                    self.acted.push(index);
                    self.outcome(Some(index), Finding::Match { handler: route.handler.as_str() });
                    if let Some(trace) = self.trace.as_mut().and_then(|trace| trace.routes.last_mut()) {
                        trace.acted = true;
                    }
                    if let Handler::Pass(scope) = route.handler {
                        self.result.ends_phase |= scope == Scope::All;
                        return;
                    }
                }
                Err(failure) => {
                    let exhausted = failure.exhausted;
                    if exhausted && self.is_imported_validation() {
                        // One error instead of all that was found.
                        self.acted.clear();
                        self.result.verdicts.clear();
                    }
                    self.fail(Some(index), failure);
                    if exhausted {
                        return;
                    }
                }
            }
        }
    }

    /// An error for a route that was left out, whatever its predicate says now: it may only be true of the result.
    fn admitted(&self, index: usize) -> Result<(), Failure> {
        if self.left_out.routes.contains(&(self.rank, index)) {
            Err(Failure::not_idempotent())
        } else {
            Ok(())
        }
    }

    fn predicate(&mut self, route: &'a Route) -> Result<bool, Failure> {
        let Some(predicate) = &route.predicate else { return Ok(true) };
        if !route.holds_when {
            // As Kubernetes: what is not true is a failed validation.
            let value = self.value("expression", predicate)?;
            return Ok(!matches!(value, Value::Bool(true)));
        }
        self.bool("predicate", predicate)
    }

    /// Makes the route's change, if it is one that makes changes; whether the route has acted.
    fn mutation(&mut self, index: usize, route: &'a Route) -> Result<bool, Failure> {
        let Handler::Mutate(mutation) = &route.handler else { return Ok(true) };
        if self.left_out.everything {
            return Err(Failure::not_idempotent());
        }
        let documents = self.activation.documents;
        let applied = match mutation {
            Mutation::Patches(text) => mutate::apply(documents, self.activation.object.get(), text),
            Mutation::ApplyConfiguration(expression) => {
                let value = self.value("applyConfiguration", expression)?;
                let object = self.activation.object.get();
                mutate::merged_form(documents, object, &value, self.activation.arena)
                    .and_then(|text| mutate::apply(documents, object, &text))
            }
            Mutation::JsonPatch(expression) => {
                let value = self.value("jsonPatch", expression)?;
                mutate::wire_form(&value, self.activation.arena)
                    .and_then(|text| mutate::apply(documents, self.activation.object.get(), &text))
            }
        };
        match applied.map_err(|error| Failure::of_mutation(&error))? {
            Applied::Changed { object, operations } => {
                self.activation.object.set(Some(object));
                self.result.changes.push(Change { route: index, object, operations });
                // What variables have seen is no longer so.
                self.activation.begin(Pass::Routes);
                Ok(true)
            }
            Applied::Nothing => Ok(true),
            // An imported policy's mutation then does nothing, see `k8s-semantics` 2.7.
            Applied::TestFailed if self.rule.origin != Origin::RoutingRule => Ok(false),
            Applied::TestFailed => Err(Failure {
                kind: ErrorKind::InvalidArgument,
                message: "a test operation of the patch failed; use the predicate to say when to patch"
                    .to_owned(),
                exhausted: false,
            }),
        }
    }

    /// Texts for the routes that have something to say; from what is left of the budget.
    fn messages(&mut self) {
        self.activation.begin(Pass::Messages);
        for index in self.acted.clone() {
            self.at = Some(index);
            let route = &self.rule.routes[index];
            let (Handler::Reject { message, .. } | Handler::Warn(message)) = &route.handler else { continue };
            let evaluated = match &message.expression {
                None => None,
                Some(expression) => match self.value("messageExpression", expression) {
                    Err(failure) if failure.exhausted && self.is_imported_validation() => {
                        // As Kubernetes: then no validation has a decision.
                        self.result.verdicts.clear();
                        let message = format!("failed messageExpression: {}", failure.message);
                        return self.fail(None, Failure { message, ..failure });
                    }
                    evaluated => evaluated.ok(),
                },
            };
            let text = message::text(route, message, evaluated);
            match &route.handler {
                Handler::Reject { reason, code, .. } => {
                    self.result.verdicts.push(Verdict::reject(index, text, *reason, *code))
                }
                _ => self.result.warnings.push(text),
            }
        }
    }

    fn audit_annotations(&mut self) {
        if self.activation.query.phase == Phase::Validating {
            for annotation in &self.rule.audit_annotations {
                self.audit_annotation(None, annotation);
            }
        }
        for index in std::mem::take(&mut self.acted) {
            for annotation in &self.rule.routes[index].audit_annotations {
                self.audit_annotation(Some(index), annotation);
            }
        }
    }

    fn audit_annotation(&mut self, route: Option<usize>, annotation: &'a AuditAnnotation) {
        self.at = route;
        let value = match self.value(&annotation.key, &annotation.value) {
            Ok(Value::String(text)) => annotations::value(text),
            Ok(Value::Null) => None,
            Ok(other) => {
                let message = format!("must evaluate to a string or null but got {}", type_name(&other));
                let failure = Failure::new(&annotation.value, ErrorKind::WrongType, &message);
                return self.fail(route, failure);
            }
            Err(failure) => return self.fail(route, failure),
        };
        if let Some(value) = value {
            self.result.annotations.push((Arc::clone(&annotation.key), value));
        }
    }

    fn bool(&mut self, name: &str, expression: &'a Expression) -> Result<bool, Failure> {
        match self.value(name, expression)? {
            Value::Bool(value) => Ok(value),
            other => {
                let message = format!("must evaluate to bool but got {}", type_name(&other));
                Err(Failure::new(expression, ErrorKind::WrongType, &message))
            }
        }
    }

    fn value(&mut self, name: &str, expression: &'a Expression) -> Result<Value<'a>, Failure> {
        let mut meter = Meter::with_interrupt(PER_CALL, self.activation.query.interrupt);
        let mut values = Trace::default();
        let trace = self.trace.is_some().then_some(&mut values);
        let result = expression.evaluate(self.activation, self.activation.arena, &mut meter, trace);
        let cost = meter.spent().saturating_add(self.activation.take_variables_cost());
        self.cost = self.cost.saturating_add(cost);
        if let Some(trace) = &mut self.trace {
            let expression =
                ExpressionTrace::new(name, expression.program().source(), &result, &values, cost);
            match trace.routes.iter_mut().find(|route| Some(route.index) == self.at) {
                Some(route) => route.expressions.push(expression),
                None => trace.conditions.push(expression),
            }
        }
        if !self.budget.settle(cost) {
            let message = EXHAUSTED.to_owned();
            return Err(Failure { kind: ErrorKind::CostLimit, message, exhausted: true });
        }
        result.map_err(|error| Failure::new(expression, error.kind, &error.message))
    }

    /// What an error comes to.
    fn fail(&mut self, route: Option<usize>, failure: Failure) {
        let Failure { kind, message, .. } = failure;
        if self.rule.failure_policy == FailurePolicy::Fail {
            self.result.verdicts.push(Verdict::error(route, kind, message.clone()));
        }
        self.outcome(route, Finding::Error { kind, message });
    }

    fn outcome(&mut self, route: Option<usize>, finding: Finding) {
        let route = route.map(|index| Arc::clone(&self.rule.routes[index].name));
        let rule = Arc::clone(&self.rule.name);
        self.result.outcomes.push(RuleOutcome { rule, finding, route, cost: 0, warning: None });
    }

    fn is_imported_validation(&self) -> bool {
        matches!(self.rule.origin, Origin::ValidatingAdmissionPolicy { .. })
    }
}

impl Failure {
    fn new(expression: &Expression, kind: ErrorKind, message: &str) -> Self {
        // Kubernetes' text.
        let message = format!("expression '{}' resulted in error: {message}", expression.source());
        Self { kind, message, exhausted: false }
    }

    fn not_idempotent() -> Self {
        let message = "the mutation is not idempotent: evaluated again on the result of all mutations it changes the \
                       object once more, so it was left out; let the predicate be false once the change is made, and \
                       put the route after those that it depends on"
            .to_owned();
        Self { kind: ErrorKind::InvalidArgument, message, exhausted: false }
    }

    fn of_mutation(error: &EvalError) -> Self {
        Self { kind: error.kind, message: error.message.clone(), exhausted: false }
    }
}
