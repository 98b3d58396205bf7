//! How a decision came about, for `--explain`.

use std::sync::Arc;
use std::time::Duration;

use super::rule::Mode;

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
    pub conditions: Vec<ExpressionTrace>,
    pub routes: Vec<RouteTrace>,
    /// In Kubernetes' cost units.
    pub cost: u64,
    /// Zero without a clock.
    pub elapsed: Duration,
}

#[derive(Clone, Debug)]
pub struct RouteTrace {
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
    pub name: Arc<str>,
    pub source: Arc<str>,
    /// The value as text, or the error's text.
    pub result: Result<String, String>,
    pub cost: u64,
}
