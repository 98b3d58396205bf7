//! What a test expects, and what it got.

use std::fmt::Write;

use serde_json::Value;

use crate::api::{Expectation, ExpectedDecision};
use crate::engine::{Decision, Finding, RuleOutcome};

/// What came of a test's request.
pub(super) struct Got {
    /// One per phase that was evaluated.
    pub(super) decisions: Vec<Decision>,
    /// The object in the end.
    pub(super) object: Option<String>,
}

/// Field of the test, what is wrong, and what there was instead.
type Failure = (&'static str, String, Option<String>);

/// Compares everything that the test expects; the first difference is what is told.
pub(super) fn compare(expect: &Expectation, got: &Got) -> Result<(), Failure> {
    let decision = got.decision();
    let fits = match expect.decision {
        ExpectedDecision::Allow => matches!(decision, "allow" | "patched" | "unmatched"),
        ExpectedDecision::Deny => decision == "deny",
        ExpectedDecision::Patched => decision == "patched",
        ExpectedDecision::Unmatched => decision == "unmatched",
        ExpectedDecision::Error => got.error().is_some(),
    };
    if !fits {
        let message = format!("expected {}, got {decision}", word(expect.decision));
        return Err(("expect.decision", message, Some(got.explain())));
    }
    if let Some(route) = &expect.route
        && !got.deciding_routes(expect.decision).any(|decided| decided == route)
    {
        let decided: Vec<&str> = got.deciding_routes(expect.decision).collect();
        let message = match decided[..] {
            [] => format!("expected the route {route} to decide, but no route did"),
            _ => format!("expected the route {route} to decide, but it was {}", decided.join(", ")),
        };
        return Err(("expect.route", message, Some(got.explain())));
    }
    if let Some(part) = &expect.message {
        let texts: Vec<&str> = got.messages().collect();
        if !texts.iter().any(|text| text.contains(part.as_str())) {
            let message = format!("expected a message with `{part}`, got {}", list(&texts));
            return Err(("expect.message", message, None));
        }
    }
    if let Some(parts) = &expect.warnings {
        compare_warnings(parts, got)?;
    }
    for (key, value) in expect.audit_annotations.iter().flatten() {
        let mut all = got.decisions.iter().flat_map(|decision| &decision.audit_annotations);
        match all.find(|(known, _)| known == key) {
            Some((_, known)) if known == value => {}
            Some((_, known)) => {
                let message = format!("expected the audit annotation {key} to be `{value}`, got `{known}`");
                return Err(("expect.auditAnnotations", message, None));
            }
            None => {
                let message = format!("expected an audit annotation {key}, got none");
                return Err(("expect.auditAnnotations", message, None));
            }
        }
    }
    if let Some(expected) = &expect.patched {
        let object =
            got.object.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or(Value::Null);
        if let Some(difference) = missing(expected, &object, "object") {
            return Err(("expect.patched", difference, None));
        }
    }
    Ok(())
}

fn compare_warnings(parts: &[String], got: &Got) -> Result<(), Failure> {
    let mut rest: Vec<&str> =
        got.decisions.iter().flat_map(|one| &one.warnings).map(String::as_str).collect();
    for part in parts {
        match rest.iter().position(|text| text.contains(part.as_str())) {
            Some(at) => {
                rest.remove(at);
            }
            None => {
                let message = format!("expected a warning with `{part}`, got {}", list(&rest));
                return Err(("expect.warnings", message, None));
            }
        }
    }
    if rest.is_empty() {
        return Ok(());
    }
    Err(("expect.warnings", format!("expected no other warning than these, got {}", list(&rest)), None))
}

impl Got {
    fn outcomes(&self) -> impl Iterator<Item = &RuleOutcome> {
        self.decisions.iter().flat_map(|decision| &decision.outcomes)
    }

    /// What happened, in the words of `expect.decision`.
    fn decision(&self) -> &'static str {
        let mut rejections = self.decisions.iter().flat_map(|decision| &decision.rejections).peekable();
        if rejections.peek().is_some() {
            return if rejections.any(|rejection| rejection.error.is_none()) { "deny" } else { "error" };
        }
        if self.decisions.iter().any(|decision| decision.patch.is_some()) {
            return "patched";
        }
        if self.error().is_some() {
            return "error";
        }
        match self.outcomes().all(|outcome| outcome.finding == Finding::NoMatch) {
            true => "unmatched",
            false => "allow",
        }
    }

    fn error(&self) -> Option<&str> {
        self.outcomes().find_map(|outcome| match &outcome.finding {
            Finding::Error { message, .. } => Some(message.as_str()),
            _ => None,
        })
    }

    fn deciding_routes(&self, decision: ExpectedDecision) -> impl Iterator<Item = &str> {
        self.outcomes().filter_map(move |outcome| {
            let decided = match (&outcome.finding, decision) {
                (Finding::Match { handler }, ExpectedDecision::Deny) => *handler == "reject",
                (Finding::Match { handler }, ExpectedDecision::Patched) => *handler == "mutate",
                (Finding::Error { .. }, ExpectedDecision::Error) => true,
                (Finding::Match { .. }, ExpectedDecision::Allow) => true,
                _ => false,
            };
            outcome.route.as_deref().filter(|_| decided)
        })
    }

    /// Rejections, errors and warnings.
    fn messages(&self) -> impl Iterator<Item = &str> {
        let rejections = self.decisions.iter().flat_map(|decision| &decision.rejections);
        let warnings = self.decisions.iter().flat_map(|decision| &decision.warnings);
        rejections
            .map(|rejection| rejection.message.as_str())
            .chain(warnings.map(String::as_str))
            .chain(self.error())
    }

    /// What each part of the rule came to.
    fn explain(&self) -> String {
        if self.outcomes().next().is_none() {
            return "the rule was not looked at: its match, or a fact such as the namespace that all its expressions need, \
                    excludes this request"
                .to_owned();
        }
        let mut text = String::new();
        for decision in &self.decisions {
            let rules = decision.trace.iter().flat_map(|trace| &trace.rules);
            for reason in rules.filter_map(|rule| rule.skipped.as_deref()) {
                let _ = write!(text, "the rule was not evaluated: {reason}; ");
            }
            for outcome in &decision.outcomes {
                let route = outcome.route.as_deref().map(|route| format!("route {route}: "));
                let route = route.unwrap_or_default();
                let _ = match &outcome.finding {
                    Finding::NoMatch => Ok(()),
                    Finding::Match { handler } => write!(text, "{route}{handler}; "),
                    Finding::Error { message, .. } => write!(text, "{route}error: {message}; "),
                };
            }
        }
        match text.trim_end_matches("; ") {
            "" => "no route matched".to_owned(),
            text => text.to_owned(),
        }
    }
}

/// What `object` lacks of `expected`: fields may be more, lists must be as long.
fn missing(expected: &Value, object: &Value, path: &str) -> Option<String> {
    match (expected, object) {
        (Value::Object(expected), Value::Object(object)) => {
            expected.iter().find_map(|(key, expected)| match object.get(key) {
                Some(value) => missing(expected, value, &format!("{path}.{key}")),
                None => Some(format!("expected {path}.{key} to be {expected}, got nothing there")),
            })
        }
        (Value::Array(expected), Value::Array(list)) if expected.len() == list.len() => expected
            .iter()
            .zip(list)
            .enumerate()
            .find_map(|(index, (expected, value))| missing(expected, value, &format!("{path}[{index}]"))),
        (expected, value) if expected == value => None,
        (expected, value) => Some(format!("expected {path} to be {expected}, got {value}")),
    }
}

fn list(texts: &[&str]) -> String {
    match texts {
        [] => "none".to_owned(),
        texts => texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", "),
    }
}

fn word(decision: ExpectedDecision) -> &'static str {
    match decision {
        ExpectedDecision::Allow => "allow",
        ExpectedDecision::Deny => "deny",
        ExpectedDecision::Patched => "patched",
        ExpectedDecision::Unmatched => "unmatched",
        ExpectedDecision::Error => "error",
    }
}
