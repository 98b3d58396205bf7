//! Routes and their handlers.

use std::sync::Arc;

use super::expressions::{Checked, Rejected, Scope, Use};
use super::findings::Findings;
use super::patches;
use super::selector::is_name_part;
use crate::api;
use crate::diagnostic::Code;
use crate::engine::{self, AuditAnnotation, Handler, Message, Mutation, Reason, Route};
use crate::rules::guards::Necessary;

/// Longest text of a message, in characters.
const MAX_MESSAGE: usize = 1024;
/// Most annotations of one handler; Kubernetes' limit for a policy.
const MAX_ANNOTATIONS: usize = 20;
/// Longest expression of an annotation's value, in bytes; Kubernetes' limit.
const MAX_VALUE_EXPRESSION: usize = 5 * 1024;

/// Compiles one route, with what its predicate needs. `None` when something is wrong with it.
pub(super) fn route(
    written: &api::Route,
    field: &str,
    scope: &Scope,
    findings: &mut Findings,
) -> Option<(Route, Necessary)> {
    check_name(&written.name, &format!("{field}.name"), findings);
    let predicate =
        compile(scope, &written.predicate, format!("{field}.predicate"), Use::Predicate, findings);
    let handler = handler(written, field, scope, findings);
    let Checked { expression, necessary, warning: _ } = predicate?;
    let (handler, audit_annotations) = handler?;
    let name = Arc::from(written.name.as_str());
    let route = Route { name, predicate: Some(expression), holds_when: true, handler, audit_annotations };
    Some((route, necessary))
}

type WithAnnotations = (Handler, Vec<AuditAnnotation>);

fn handler(
    written: &api::Route,
    field: &str,
    scope: &Scope,
    findings: &mut Findings,
) -> Option<WithAnnotations> {
    let api::Route { name: _, predicate: _, reject, mutate, pass, warn, audit, throttle, forward } = written;
    let present = [
        ("reject", reject.is_some()),
        ("mutate", mutate.is_some()),
        ("pass", pass.is_some()),
        ("warn", warn.is_some()),
        ("audit", audit.is_some()),
        ("throttle", throttle.is_some()),
        ("forward", forward.is_some()),
    ];
    let names: Vec<&str> = present.iter().filter(|(_, present)| *present).map(|(name, _)| *name).collect();
    if names.len() != 1 {
        let message = match names[..] {
            [] => "the route has no handler".to_owned(),
            _ => format!("the route has {} handlers: {}", names.len(), names.join(", ")),
        };
        let help = match names[..] {
            [] => "add one of reject, mutate, pass, warn and audit",
            _ => "keep one; write a route with the same predicate for each of the others",
        };
        findings.error(Code::HandlerCount, field, message, help);
    }
    for (name, absent) in [("throttle", throttle.is_none()), ("forward", forward.is_none())] {
        if !absent {
            findings.error(
                Code::NotYet,
                format!("{field}.{name}"),
                format!("the handler {name} does not work yet"),
                "this version has reject, mutate, pass, warn and audit",
            );
        }
    }
    // Each is looked at, so that all findings show at once; what is given back is of no use unless there is exactly one.
    let mut handlers = Vec::new();
    if let Some(reject) = reject {
        handlers.push(self::reject(reject, &format!("{field}.reject"), scope, findings));
    }
    if let Some(mutate) = mutate {
        handlers.push(self::mutate(mutate, &format!("{field}.mutate"), scope, findings));
    }
    if let Some(pass) = pass {
        let handler = Handler::Pass(match pass.scope {
            api::PassScope::Rule => engine::Scope::Rule,
            api::PassScope::All => engine::Scope::All,
        });
        let annotations =
            annotations(&pass.audit_annotations, &format!("{field}.pass.auditAnnotations"), scope, findings);
        handlers.push(Some((handler, annotations)));
    }
    if let Some(warn) = warn {
        handlers.push(self::warn(warn, &format!("{field}.warn"), scope, findings));
    }
    if let Some(audit) = audit {
        let field = format!("{field}.audit.annotations");
        if audit.annotations.is_empty() {
            findings.error(
                Code::MissingField,
                &field,
                "audit has nothing to write down",
                "list at least one annotation with key and valueExpression",
            );
        }
        handlers.push(Some((Handler::Audit, annotations(&audit.annotations, &field, scope, findings))));
    }
    match handlers.len() {
        1 => handlers.pop().flatten(),
        _ => None,
    }
}

fn reject(
    written: &api::Reject,
    field: &str,
    scope: &Scope,
    findings: &mut Findings,
) -> Option<WithAnnotations> {
    let message = message(&written.message, &written.message_expression, field, scope, findings)?;
    let reason = match written.reason {
        api::RejectReason::Forbidden => Reason::Forbidden,
        api::RejectReason::Invalid => Reason::Invalid,
        api::RejectReason::RequestEntityTooLarge => Reason::RequestEntityTooLarge,
        api::RejectReason::Unauthorized => Reason::Unauthorized,
        api::RejectReason::BadRequest => Reason::BadRequest,
        api::RejectReason::Conflict => Reason::Conflict,
        api::RejectReason::TooManyRequests => Reason::TooManyRequests,
    };
    let code = match written.code {
        None => reason.code(),
        Some(code) => match u16::try_from(code).ok().filter(|code| (400..500).contains(code)) {
            Some(code) => code,
            None => {
                let message = format!("{code} is no code of a refusal");
                let help = "write a code from 400 to 499, or leave it to the reason";
                findings.error(Code::OutOfBounds, format!("{field}.code"), message, help);
                return None;
            }
        },
    };
    Some((Handler::Reject { message, reason, code }, Vec::new()))
}

fn mutate(
    written: &api::Mutate,
    field: &str,
    scope: &Scope,
    findings: &mut Findings,
) -> Option<WithAnnotations> {
    let api::Mutate { json_patch, apply_configuration, patches } = written;
    let ways = [json_patch.is_some(), apply_configuration.is_some(), patches.is_some()];
    let ways = ways.into_iter().filter(|present| *present).count();
    if ways != 1 {
        let message =
            if ways == 0 { "mutate has no change to make" } else { "mutate has several changes to make" };
        findings.error(
            Code::HandlerCount,
            field,
            message,
            "write exactly one of jsonPatch, applyConfiguration and patches",
        );
    }
    let json_patch = json_patch.as_ref().and_then(|source| {
        let checked = compile(scope, source, format!("{field}.jsonPatch"), Use::JsonPatch, findings)?;
        Some(Mutation::JsonPatch(Box::new(checked.expression)))
    });
    let apply_configuration = apply_configuration.as_ref().and_then(|source| {
        let field = format!("{field}.applyConfiguration");
        let checked = compile(scope, source, field, Use::ApplyConfiguration, findings)?;
        Some(Mutation::ApplyConfiguration(Box::new(checked.expression)))
    });
    let patches = patches.as_ref().map(|operations| {
        Mutation::Patches(patches::literal(operations, &format!("{field}.patches"), findings))
    });
    Some((Handler::Mutate(json_patch.or(apply_configuration).or(patches)?), Vec::new()))
}

fn warn(written: &api::Warn, field: &str, scope: &Scope, findings: &mut Findings) -> Option<WithAnnotations> {
    if written.message.is_some() == written.message_expression.is_some() {
        let message = if written.message.is_some() {
            "warn has both message and messageExpression"
        } else {
            "warn has nothing to say"
        };
        findings.error(
            Code::HandlerCount,
            field,
            message,
            "write exactly one of message and messageExpression",
        );
    }
    let message = message(&written.message, &written.message_expression, field, scope, findings)?;
    Some((Handler::Warn(message), Vec::new()))
}

fn message(
    text: &Option<String>,
    expression: &Option<String>,
    field: &str,
    scope: &Scope,
    findings: &mut Findings,
) -> Option<Message> {
    if let Some(text) = text {
        let field = format!("{field}.message");
        findings.text_at_most(&field, text.chars().count(), MAX_MESSAGE, "characters");
        if text.trim().is_empty() {
            findings.error(Code::InvalidValue, &field, "an empty message", "say what the user should do");
        }
        if text.contains(['\n', '\r']) {
            findings.error(
                Code::InvalidValue,
                &field,
                "a message of several lines",
                "write it on one line; in YAML, fold it with `>-`",
            );
        }
    }
    let expression = match expression {
        None => None,
        Some(source) => {
            let field = format!("{field}.messageExpression");
            Some(compile(scope, source, field, Use::Message, findings)?.expression)
        }
    };
    Some(Message { text: text.as_deref().map(Arc::from), expression: expression.map(Box::new) })
}

fn annotations(
    written: &[api::AuditAnnotation],
    field: &str,
    scope: &Scope,
    findings: &mut Findings,
) -> Vec<AuditAnnotation> {
    findings.at_most(field, written.len(), MAX_ANNOTATIONS);
    findings.unique(field, "key", written.iter().map(|annotation| annotation.key.as_str()));
    let annotation = |(index, annotation): (usize, &api::AuditAnnotation)| {
        let field = format!("{field}[{index}]");
        if !is_name_part(&annotation.key) {
            findings.error(
                Code::InvalidValue,
                format!("{field}.key"),
                format!("`{}` is no key of an audit annotation", annotation.key),
                "write at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
            );
        }
        let value = format!("{field}.valueExpression");
        findings.text_at_most(&value, annotation.value_expression.len(), MAX_VALUE_EXPRESSION, "bytes");
        let checked = compile(scope, &annotation.value_expression, value, Use::AuditAnnotation, findings)?;
        Some(AuditAnnotation { key: annotation.key.as_str().into(), value: checked.expression })
    };
    written.iter().enumerate().filter_map(annotation).collect()
}

fn check_name(name: &str, field: &str, findings: &mut Findings) {
    if !is_name_part(name) {
        findings.error(
            Code::InvalidValue,
            field,
            format!("`{name}` is no name of a route"),
            "write at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
        );
    }
}

/// Compiles an expression and takes down what is wrong with it.
pub(super) fn compile(
    scope: &Scope,
    source: &str,
    field: String,
    place: Use,
    findings: &mut Findings,
) -> Option<Checked> {
    match scope.compile(source, &field, place) {
        Ok(mut checked) => {
            findings.add_all(checked.warning.take());
            Some(checked)
        }
        Err(Rejected { diagnostics, text: _ }) => {
            findings.add_all(diagnostics);
            None
        }
    }
}
