//! Whether a version of a `RoutingRule` may be stored: what the API server asks before it keeps one.
//!
//! The answer must never keep a rule from being mended or taken away. So nothing but the spec of a new version is judged: deletions, the status, and
//! changes of metadata, finalizers among them, are let through unseen; and an error that the stored version has as well is a warning, so that a
//! broken rule can be mended in steps. (Kubernetes calls that ratcheting: apiextensions-apiserver `pkg/apiserver/schema/cel`, `ratcheting.go`.)

use std::sync::Arc;

use annotate_snippets::Renderer;

use super::compile::{Context, accept};
use super::risks::risks;
use crate::api::{GROUP, RoutingRule, VERSION};
use crate::diagnostic::{Code, Diagnostic, Severity, render};
use crate::engine::{Decision, Operation, Rejection, Request};

/// What the API server calls the objects.
pub(super) const RESOURCE: &str = "routingrules";

/// Decides about a review of a `RoutingRule`: one rejection for each error, as `usher check` prints it, and what is risky as warnings. Whatever else the
/// review is about is allowed.
///
/// A kind of parameters that is not known is a warning here: its definition may come after the rule.
pub fn review_rule(request: &Request<'_>, context: &Context<'_>) -> Decision {
    let Some(object) = question(request) else { return Decision::default() };
    let written: RoutingRule = match serde_json::from_str(object) {
        Ok(written) => written,
        // The schema has been checked by then, so this is a server and a definition that do not fit.
        Err(error) => return refused(request.name, &[unreadable(&error)]),
    };
    let stored = request.old_object.and_then(|json| serde_json::from_str::<RoutingRule>(json).ok());
    let is_kept = stored.as_ref().is_some_and(|stored| stored.spec == written.spec);
    if is_kept || written.metadata.deletion_timestamp.is_some() {
        return Decision::default();
    }
    let (errors, mut warnings) = judge(&written, context);
    if errors.is_empty() {
        return warned(&warnings);
    }
    let known = stored.map(|stored| judge(&stored, context).0).unwrap_or_default();
    let is_known = |error: &Diagnostic| {
        known.iter().any(|known| (known.code, &known.message) == (error.code, &error.message))
    };
    let (old, new): (Vec<_>, Vec<_>) = errors.into_iter().partition(is_known);
    if new.is_empty() {
        warnings.splice(0..0, old);
        return warned(&warnings);
    }
    refused(written.metadata.name.as_deref().unwrap_or_default(), &new)
}

/// The object to judge.
fn question<'r>(request: &Request<'r>) -> Option<&'r str> {
    let resource = request.resource;
    let is_asked = (resource.group, resource.version, resource.resource) == (GROUP, VERSION, RESOURCE)
        && request.sub_resource.is_empty()
        && matches!(request.operation, Operation::Create | Operation::Update);
    request.object.filter(|_| is_asked)
}

/// What keeps a version from being served, and what else its author should know.
fn judge(written: &RoutingRule, context: &Context<'_>) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let findings = match accept(written, context) {
        Ok(compiled) => compiled.warnings,
        Err(findings) => findings,
    };
    let is_error =
        |finding: &Diagnostic| finding.severity == Severity::Error && finding.code != Code::UnknownParamKind;
    let (errors, mut warnings): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_error);
    if errors.is_empty() {
        warnings.extend(risks(written));
    }
    (errors, warnings)
}

fn unreadable(error: &serde_json::Error) -> Diagnostic {
    Diagnostic::error(Code::InvalidValue, format!("the rule cannot be read: {error}"))
        .help("apply the CustomResourceDefinition that usher crd prints")
}

fn warned(warnings: &[Diagnostic]) -> Decision {
    Decision { warnings: warnings.iter().map(ToString::to_string).collect(), ..Decision::default() }
}

fn refused(name: &str, errors: &[Diagnostic]) -> Decision {
    let rule: Arc<str> = name.into();
    let rejection = |error: &Diagnostic| Rejection {
        rule: Arc::clone(&rule),
        route: None,
        message: render(error, &Renderer::plain()),
        reason: "Invalid",
        code: 422,
        error: None,
    };
    Decision { rejections: errors.iter().map(rejection).collect(), ..Decision::default() }
}

#[cfg(test)]
mod tests;
