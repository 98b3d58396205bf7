//! `ValidatingAdmissionPolicy`.

use std::sync::Arc;

use k8s_openapi::api::admissionregistration::v1::Validation;

use super::CompiledPolicy;
use super::parts::{Binding, Builder, Policy, failure_policy, rule_name};
use crate::api::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use crate::diagnostic::Code;
use crate::engine::{Actions, AuditAnnotation, FailurePolicy, Handler, Message, Origin, Reason, Route};
use crate::rules::Context;
use crate::rules::compile::expressions::Use;
use crate::rules::compile::findings::Findings;
use crate::rules::compile::selector::is_name_part;

/// Compiles one binding of a policy. Without a binding the policy is compiled as if one with the action Deny covered everything: that is for
/// trying it; in a cluster a policy without a binding does nothing.
pub fn compile_validating(
    policy: &ValidatingAdmissionPolicy,
    binding: Option<&ValidatingAdmissionPolicyBinding>,
    context: &Context<'_>,
) -> CompiledPolicy {
    let spec = policy.spec.clone().unwrap_or_default();
    let bound = binding.and_then(|binding| binding.spec.as_ref());
    let mut of_binding = Findings::default();
    let actions = match (binding, bound) {
        (None, _) => Actions { deny: true, ..Actions::default() },
        (Some(_), bound) => {
            actions(bound.and_then(|bound| bound.validation_actions.as_deref()), &mut of_binding)
        }
    };
    let policy_name = policy.metadata.name.as_deref();
    let binding_name = binding.and_then(|binding| binding.metadata.name.as_deref());
    let origin = Origin::ValidatingAdmissionPolicy {
        policy: policy_name.unwrap_or_default().into(),
        binding: binding_name.unwrap_or_default().into(),
        actions,
    };
    let parts = Policy {
        failure_policy: failure_policy(spec.failure_policy.as_deref()),
        match_constraints: spec.match_constraints.as_ref(),
        match_conditions: spec.match_conditions.as_deref().unwrap_or_default(),
        variables: spec.variables.as_deref().unwrap_or_default(),
        param_kind: spec.param_kind.as_ref(),
    };
    let bound = bound.map_or_else(Binding::default, |bound| Binding {
        param_ref: bound.param_ref.as_ref(),
        match_resources: bound.match_resources.as_ref(),
    });
    let name = rule_name(policy_name, binding_name);
    let mut builder = Builder::new(name, origin, &parts, bound, context);
    let validations = spec.validations.as_deref().unwrap_or_default();
    let annotations = spec.audit_annotations.as_deref().unwrap_or_default();
    if validations.is_empty() && annotations.is_empty() {
        builder.shape.error(
            Code::MissingField,
            "spec.validations",
            "a policy must have validations or auditAnnotations",
            "add a validation",
        );
    }
    for (index, validation) in validations.iter().enumerate() {
        let route = self::validation(validation, index, &mut builder);
        builder.rule.routes.extend(route);
    }
    for (index, annotation) in annotations.iter().enumerate() {
        let field = format!("spec.auditAnnotations[{index}]");
        if !is_name_part(&annotation.key) {
            let message = format!("`{}` is no key of an audit annotation", annotation.key);
            builder.shape.error(
                Code::InvalidValue,
                format!("{field}.key"),
                message,
                "write letters and digits",
            );
        }
        let value = format!("{field}.valueExpression");
        match builder.compile(&annotation.value_expression, &value, Use::AuditAnnotation) {
            Ok(checked) => {
                let key = annotation.key.as_str().into();
                builder.rule.audit_annotations.push(AuditAnnotation { key, value: checked.expression });
            }
            Err(text) => {
                let failed = failed(format!("auditAnnotations[{index}]"), text, &mut builder);
                builder.rule.routes.extend(failed);
            }
        }
    }
    builder.shape.unique("spec.auditAnnotations", "key", annotations.iter().map(|one| one.key.as_str()));
    builder.effects.annotates = !builder.rule.audit_annotations.is_empty();
    let mut compiled = builder.finish();
    if of_binding.has_errors() {
        compiled.rule = None;
    }
    compiled.binding_diagnostics.extend(of_binding.finish().unwrap_or_else(|findings| findings));
    compiled
}

/// apiserver `policy/validating/validator.go`. A validation that does not compile is an error of its own: with `failurePolicy: Ignore` the
/// others still count.
fn validation(written: &Validation, index: usize, builder: &mut Builder) -> Option<Route> {
    let field = format!("spec.validations[{index}]");
    let name = format!("validations[{index}]");
    let message = written.message_expression.as_deref().filter(|source| !source.trim().is_empty());
    // One that does not compile makes no message; the other texts are used.
    let expression = message
        .and_then(|source| builder.compile(source, &format!("{field}.messageExpression"), Use::Message).ok())
        .map(|checked| checked.expression);
    let reason = reason(written.reason.as_deref(), &format!("{field}.reason"), &mut builder.shape);
    match builder.compile(&written.expression, &format!("{field}.expression"), Use::Predicate) {
        Ok(checked) => {
            builder.effects.routes.push(Some((checked.necessary, false)));
            let text = written.message.as_deref().map(str::trim).filter(|text| !text.is_empty());
            let message = Message { text: text.map(Arc::from), expression: expression.map(Box::new) };
            Some(Route {
                name: name.into(),
                predicate: Some(checked.expression),
                holds_when: false,
                handler: Handler::Reject { message, reason, code: reason.code() },
                audit_annotations: Vec::new(),
            })
        }
        Err(text) => {
            let text = format!("expression '{}' resulted in error: {text}", written.expression.trim());
            failed(name, text, builder)
        }
    }
}

/// What answers in the place of a part that did not compile.
fn failed(name: String, text: String, builder: &mut Builder) -> Option<Route> {
    if builder.rule.failure_policy == FailurePolicy::Ignore {
        return None;
    }
    builder.effects.routes.push(None);
    let message = Message { text: Some(text.into()), expression: None };
    let handler = Handler::Reject { message, reason: Reason::Invalid, code: Reason::Invalid.code() };
    Some(Route {
        name: name.into(),
        predicate: None,
        holds_when: true,
        handler,
        audit_annotations: Vec::new(),
    })
}

fn reason(written: Option<&str>, field: &str, findings: &mut Findings) -> Reason {
    match written {
        None | Some("Invalid" | "") => Reason::Invalid,
        Some("Forbidden") => Reason::Forbidden,
        Some("Unauthorized") => Reason::Unauthorized,
        Some("RequestEntityTooLarge") => Reason::RequestEntityTooLarge,
        Some(other) => {
            let message = format!("`{other}` is no reason of a refusal");
            let help = "write Forbidden, Invalid, RequestEntityTooLarge or Unauthorized";
            findings.error(Code::InvalidValue, field, message, help);
            Reason::Invalid
        }
    }
}

fn actions(written: Option<&[String]>, findings: &mut Findings) -> Actions {
    let field = "spec.validationActions";
    let mut actions = Actions::default();
    for (index, action) in written.unwrap_or_default().iter().enumerate() {
        match action.as_str() {
            "Deny" => actions.deny = true,
            "Warn" => actions.warn = true,
            "Audit" => actions.audit = true,
            other => findings.error(
                Code::InvalidValue,
                format!("{field}[{index}]"),
                format!("`{other}` is no action"),
                "write Deny, Warn or Audit",
            ),
        }
    }
    if actions == Actions::default() {
        findings.error(Code::MissingField, field, "the binding has no action", "list Deny, Warn or Audit");
    }
    if actions.deny && actions.warn {
        let help = "keep Deny: its message reaches the user as well";
        findings.error(Code::InvalidValue, field, "Deny and Warn do not go together", help);
    }
    actions
}
