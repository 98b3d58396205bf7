//! What else is wrong with an object that does not have the shape of its kind.

use super::compile::{self, Context};
use super::policies::{compile_mutating, compile_validating};
use super::{Item, Kinds};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::engine::Protected;
use usher_cel::KubernetesVersion;

/// The errors in the expressions of an object that is refused for its shape anyhow, so that its author sees all that is wrong at once. Fields
/// that the kind does not have are already left out of `item`.
///
/// Only expressions: what else the compiler would say may be nothing but the consequence of the field that is wrong.
pub fn expression_errors(item: &Item) -> Vec<Diagnostic> {
    let (kinds, protected) = (Kinds::default(), Protected::default());
    let context = Context { kinds: &kinds, protected: &protected, version: KubernetesVersion::default() };
    let findings = match item {
        Item::RoutingRule(rule) => compile::compile(rule, &context).err().unwrap_or_default(),
        Item::ValidatingAdmissionPolicy(policy) => compile_validating(policy, None, &context).diagnostics,
        Item::MutatingAdmissionPolicy(policy) => compile_mutating(policy, None, &context).diagnostics,
        // They have none.
        Item::ValidatingAdmissionPolicyBinding(_) | Item::MutatingAdmissionPolicyBinding(_) => Vec::new(),
    };
    findings.into_iter().filter(is_error_of_expression).collect()
}

fn is_error_of_expression(finding: &Diagnostic) -> bool {
    finding.severity == Severity::Error
        && matches!(
            finding.code,
            Code::CelSyntax
                | Code::CelInvalid
                | Code::CelResultType
                | Code::UnknownVariable
                | Code::VariableOrder
        )
}
