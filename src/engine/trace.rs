//! How a decision came about, for `--explain`.

use std::sync::Arc;
use std::time::Duration;

use usher_cel::eval::{EvalResult, Trace as ExpressionValues, TraceEntry};

use super::rule::{Mode, Route, Rule};

/// Made on demand only.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Candidates in evaluation order; a rule appears once per parameter object.
    pub rules: Vec<RuleTrace>,
}

#[derive(Clone, Debug)]
pub struct RuleTrace {
    pub rule: Arc<str>,
    pub mode: Mode,
    pub priority: i32,
    /// Why the rule was not evaluated, in words.
    pub skipped: Option<String>,
    /// Name of the parameter object, if the rule has one.
    pub params: Option<String>,
    /// Match conditions, and annotations of the rule as a whole.
    pub conditions: Vec<ExpressionTrace>,
    pub routes: Vec<RouteTrace>,
    /// In Kubernetes' cost units.
    pub cost: u64,
    /// Zero without a clock.
    pub elapsed: Duration,
}

#[derive(Clone, Debug)]
pub struct RouteTrace {
    /// Place in the rule.
    pub index: usize,
    pub route: Arc<str>,
    pub handler: &'static str,
    /// The predicate, message, mutation and annotations that were evaluated, in order.
    pub expressions: Vec<ExpressionTrace>,
    /// Whether the handler acted.
    pub acted: bool,
}

#[derive(Clone, Debug)]
pub struct ExpressionTrace {
    /// `predicate`, `messageExpression`, a condition's name …
    pub name: String,
    pub source: String,
    /// The value as text, shortened, or the error's text.
    pub result: Result<String, String>,
    /// What each sub-expression gave, in the order of evaluation, with places in [`Self::source`].
    pub values: Vec<TraceEntry>,
    /// How many more there were.
    pub omitted: usize,
    pub cost: u64,
}

impl RuleTrace {
    pub(super) fn new(rule: &Rule) -> Self {
        Self {
            rule: Arc::clone(&rule.name),
            mode: rule.mode,
            priority: rule.priority,
            skipped: None,
            params: None,
            conditions: Vec::new(),
            routes: Vec::new(),
            cost: 0,
            elapsed: Duration::ZERO,
        }
    }
}

impl RouteTrace {
    pub(super) fn new(index: usize, route: &Route) -> Self {
        Self {
            index,
            route: Arc::clone(&route.name),
            handler: route.handler.as_str(),
            expressions: Vec::new(),
            acted: false,
        }
    }
}

impl ExpressionTrace {
    pub(super) fn new(
        name: &str,
        source: &str,
        result: &EvalResult<'_>,
        values: &ExpressionValues,
        cost: u64,
    ) -> Self {
        Self {
            name: name.to_owned(),
            source: source.to_owned(),
            result: match result {
                Ok(value) => Ok(value.to_string()),
                Err(error) => Err(error.message.clone()),
            },
            values: values.entries().to_vec(),
            omitted: values.omitted(),
            cost,
        }
    }
}
