//! The result as JSON: `apiVersion: cli.usher.dev/v1alpha1`, `kind: EvalResult`.
//!
//! Members that are empty lists are written; optional ones that do not apply are left out.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::evaluate::Evaluated;
use super::explain::Explained;
use super::subject::{Place, Subject};
use crate::cli::args::API_VERSION;
use crate::cli::findings::Finding;
use crate::diagnostic::Diagnostic;
use crate::engine::{self, Decision, Phase, Rejection, Request};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvalResult<'a> {
    api_version: &'static str,
    kind: &'static str,
    summary: Summary,
    /// One per resource, in the order of the input.
    results: Vec<ResourceResult<'a>>,
    /// What was found in the rules.
    diagnostics: Vec<Finding>,
    /// What kept the command from evaluating a resource, or from running at all.
    errors: Vec<Finding>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    pub(super) rules: usize,
    pub(super) resources: usize,
    pub(super) allowed: usize,
    /// Of the allowed ones.
    pub(super) patched: usize,
    pub(super) denied: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceResult<'a> {
    source: &'a Place,
    request: RequestFacts,
    /// `allow` or `deny`.
    decision: &'static str,
    /// The request is never intercepted: no rule was asked.
    protected: bool,
    phases: Vec<PhaseResult<'a>>,
    /// The object after all patches, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    patched_object: Option<Value>,
    /// What was taken for granted.
    notes: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestFacts {
    uid: String,
    kind: BTreeMap<&'static str, String>,
    resource: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    sub_resource: String,
    name: String,
    namespace: String,
    operation: &'static str,
    username: String,
    groups: Vec<String>,
    dry_run: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhaseResult<'a> {
    /// `mutating` or `validating`.
    phase: &'static str,
    decision: &'static str,
    rejections: Vec<RejectionResult<'a>>,
    warnings: &'a [String],
    audit_annotations: BTreeMap<&'a str, &'a str>,
    /// RFC 6902.
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<Value>,
    outcomes: Vec<Outcome<'a>>,
    /// With `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Explained<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RejectionResult<'a> {
    rule: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<&'a str>,
    message: &'a str,
    reason: &'a str,
    code: u16,
    /// It is an evaluation error under failure policy Fail.
    is_error: bool,
}

/// What a candidate rule found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    rule: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<&'a str>,
    /// `match`, `noMatch` or `error`.
    finding: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    handler: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    /// In Kubernetes' cost units.
    cost: u64,
}

impl<'a> EvalResult<'a> {
    pub(super) fn new(
        summary: Summary,
        results: Vec<ResourceResult<'a>>,
        diagnostics: &[Diagnostic],
        errors: Vec<Finding>,
    ) -> Self {
        let diagnostics = Finding::all(diagnostics);
        Self { api_version: API_VERSION, kind: "EvalResult", summary, results, diagnostics, errors }
    }
}

impl<'a> ResourceResult<'a> {
    pub(super) fn new(subject: &'a Subject, request: &Request<'_>, evaluated: &'a Evaluated) -> Self {
        Self {
            source: subject.place(),
            request: RequestFacts::of(request),
            decision: word(evaluated.allowed()),
            protected: evaluated.protected(),
            phases: evaluated
                .phases
                .iter()
                .map(|(phase, decision)| PhaseResult::new(*phase, decision))
                .collect(),
            patched_object: evaluated.patched.as_deref().and_then(|json| serde_json::from_str(json).ok()),
            notes: subject.notes(),
        }
    }
}

impl RequestFacts {
    fn of(request: &Request<'_>) -> Self {
        let (kind, resource) = (request.kind, request.resource);
        let map = |group: &str, version: &str, key, value: &str| {
            [("group", group), ("version", version), (key, value)].map(|(k, v)| (k, v.to_owned())).into()
        };
        Self {
            uid: request.uid.to_owned(),
            kind: map(kind.group, kind.version, "kind", kind.kind),
            resource: map(resource.group, resource.version, "resource", resource.resource),
            sub_resource: request.sub_resource.to_owned(),
            name: request.name.to_owned(),
            namespace: request.namespace.to_owned(),
            operation: request.operation.as_str(),
            username: request.user_info.username.to_owned(),
            groups: request.user_info.groups.iter().map(|group| (*group).to_owned()).collect(),
            dry_run: request.dry_run,
        }
    }
}

impl<'a> PhaseResult<'a> {
    fn new(phase: Phase, decision: &'a Decision) -> Self {
        let annotations = decision.audit_annotations.iter();
        Self {
            phase: phase.as_str(),
            decision: word(decision.allowed()),
            rejections: decision.rejections.iter().map(RejectionResult::of).collect(),
            warnings: &decision.warnings,
            audit_annotations: annotations.map(|(key, value)| (key.as_str(), value.as_str())).collect(),
            patch: decision.patch.as_deref().and_then(|json| serde_json::from_slice(json).ok()),
            outcomes: decision.outcomes.iter().map(Outcome::of).collect(),
            trace: decision.trace.as_deref().map(Explained::of),
        }
    }
}

impl<'a> RejectionResult<'a> {
    fn of(rejection: &'a Rejection) -> Self {
        Self {
            rule: &rejection.rule,
            route: rejection.route.as_deref(),
            message: &rejection.message,
            reason: rejection.reason,
            code: rejection.code,
            is_error: rejection.error.is_some(),
        }
    }
}

impl<'a> Outcome<'a> {
    fn of(outcome: &'a engine::RuleOutcome) -> Self {
        let (finding, handler, message) = match &outcome.finding {
            engine::Finding::NoMatch => ("noMatch", None, None),
            engine::Finding::Match { handler } => ("match", Some(*handler), None),
            engine::Finding::Error { message, .. } => ("error", None, Some(message.as_str())),
        };
        let (rule, route, cost) = (&*outcome.rule, outcome.route.as_deref(), outcome.cost);
        Self { rule, route, finding, handler, message, cost }
    }
}

fn word(allowed: bool) -> &'static str {
    if allowed { "allow" } else { "deny" }
}
