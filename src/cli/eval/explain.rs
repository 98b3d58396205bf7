//! How a decision came about: each candidate rule and route in order, with the value of each sub-expression, cost and time.

use std::fmt::Write as _;

use serde::Serialize;

use crate::cli::terminal::{BOLD, FAINT, plain};
use crate::engine::{ExpressionTrace, RouteTrace, RuleTrace, Trace, slots};

/// Values that are shown of one expression.
const MOST_VALUES: usize = 24;

/// The JSON of a trace.
#[derive(Serialize)]
pub(super) struct Explained<'a> {
    rules: Vec<ExplainedRule<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExplainedRule<'a> {
    rule: &'a str,
    mode: &'static str,
    priority: i32,
    /// Why the rule was not evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<&'a str>,
    /// Name of the parameter object.
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a str>,
    conditions: Vec<ExplainedExpression<'a>>,
    routes: Vec<ExplainedRoute<'a>>,
    /// In Kubernetes' cost units.
    cost: u64,
    elapsed_microseconds: f64,
}

#[derive(Serialize)]
struct ExplainedRoute<'a> {
    route: &'a str,
    handler: &'static str,
    acted: bool,
    expressions: Vec<ExplainedExpression<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExplainedExpression<'a> {
    name: &'a str,
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    cost: u64,
    /// What each sub-expression gave, in the order of evaluation.
    values: Vec<ExplainedValue<'a>>,
    /// How many more there were.
    omitted_values: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExplainedValue<'a> {
    expression: &'a str,
    value: &'a str,
    is_error: bool,
}

impl<'a> Explained<'a> {
    pub(super) fn of(trace: &'a Trace) -> Self {
        Self { rules: trace.rules.iter().map(ExplainedRule::of).collect() }
    }
}

impl<'a> ExplainedRule<'a> {
    fn of(rule: &'a RuleTrace) -> Self {
        Self {
            rule: &rule.rule,
            mode: rule.mode.as_str(),
            priority: rule.priority,
            skipped: rule.skipped.as_deref(),
            params: rule.params.as_deref(),
            conditions: rule.conditions.iter().map(ExplainedExpression::of).collect(),
            routes: rule.routes.iter().map(ExplainedRoute::of).collect(),
            cost: rule.cost,
            elapsed_microseconds: rule.elapsed.as_secs_f64() * 1e6,
        }
    }
}

impl<'a> ExplainedRoute<'a> {
    fn of(route: &'a RouteTrace) -> Self {
        let expressions = route.expressions.iter().map(ExplainedExpression::of).collect();
        Self { route: &route.route, handler: route.handler, acted: route.acted, expressions }
    }
}

impl<'a> ExplainedExpression<'a> {
    fn of(expression: &'a ExpressionTrace) -> Self {
        let ExpressionTrace { name, source, result, values, omitted, cost } = expression;
        let values = values.iter().map(|value| {
            let (start, end) = (value.span.start as usize, value.span.end as usize);
            let text = source.get(start..end).unwrap_or_default();
            ExplainedValue { expression: text, value: &value.value, is_error: value.error }
        });
        Self {
            name,
            source: source.trim(),
            value: result.as_deref().ok(),
            error: result.as_ref().err().map(String::as_str),
            cost: *cost,
            values: values.collect(),
            omitted_values: *omitted,
        }
    }
}

/// The trace of one phase, for people.
pub(super) fn text(trace: &Trace, rules: usize) -> String {
    let mut out = String::new();
    let mut known: Vec<&str> = trace.rules.iter().map(|rule| &*rule.rule).collect();
    for rule in &trace.rules {
        rule_text(&mut out, &ExplainedRule::of(rule));
    }
    known.dedup();
    let others = rules.saturating_sub(known.len());
    if others > 0 {
        let rules = if others == 1 { "1 rule is" } else { &format!("{others} rules are") };
        let _ = writeln!(out, "    {FAINT}{rules} not for this phase, resource, namespace or user{FAINT:#}");
    }
    out
}

fn rule_text(out: &mut String, rule: &ExplainedRule<'_>) {
    let _ =
        write!(out, "    {BOLD}rule {}{BOLD:#}  priority {}, {}", plain(rule.rule), rule.priority, rule.mode);
    if let Some(params) = rule.params {
        let _ = write!(out, ", params {}", plain(params));
    }
    if let Some(skipped) = rule.skipped {
        let _ = writeln!(out, ": no, {}", plain(skipped));
        return;
    }
    let _ = writeln!(out, "  {FAINT}cost {}, {:.0} µs{FAINT:#}", rule.cost, rule.elapsed_microseconds);
    for condition in &rule.conditions {
        expression_text(out, &format!("condition {}", plain(condition.name)), condition, 6);
    }
    if rule.routes.is_empty() {
        let _ = writeln!(out, "      no route was evaluated");
    }
    for route in &rule.routes {
        let acted = if route.acted { "acts" } else { "does nothing" };
        let _ = writeln!(out, "      route {} ({}): {acted}", plain(route.route), route.handler);
        for expression in &route.expressions {
            expression_text(out, &plain(expression.name), expression, 8);
        }
    }
}

fn expression_text(out: &mut String, name: &str, expression: &ExplainedExpression<'_>, indent: usize) {
    let pad = " ".repeat(indent);
    let result = match (expression.value, expression.error) {
        (Some(value), _) => plain(value),
        (None, error) => format!("error: {}", plain(error.unwrap_or_default())),
    };
    let _ = writeln!(out, "{pad}{name}: {result}  {FAINT}cost {}{FAINT:#}", expression.cost);
    for line in plain(expression.source).lines() {
        let _ = writeln!(out, "{pad}  {}", line.trim_end());
    }
    let shown: Vec<_> = expression.values.iter().filter(|value| is_telling(value, expression)).collect();
    for value in shown.iter().take(MOST_VALUES) {
        let text = plain(&value.expression.split_whitespace().collect::<Vec<_>>().join(" "));
        let equals = if value.is_error { "fails:" } else { "=" };
        let _ = writeln!(out, "{pad}    {FAINT}{text} {equals} {}{FAINT:#}", plain(value.value));
    }
    let more = shown.len().saturating_sub(MOST_VALUES) + expression.omitted_values;
    if more > 0 {
        let _ = writeln!(out, "{pad}    {FAINT}… {more} more{FAINT:#}");
    }
}

/// Not the expression as a whole, not what stands there as it is, and not a whole document: what was read of it follows.
fn is_telling(value: &ExplainedValue<'_>, expression: &ExplainedExpression<'_>) -> bool {
    value.expression.trim() != expression.source
        && value.expression != value.value
        && !slots::NAMES.contains(&value.expression)
}
