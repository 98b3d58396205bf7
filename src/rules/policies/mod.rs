//! The second front end of the compiler: `ValidatingAdmissionPolicy` and `MutatingAdmissionPolicy` with their bindings.
//!
//! One binding of one policy becomes one rule. What does not compile is what Kubernetes makes of it: a policy that is stored in a cluster is
//! in force whatever is wrong with it, and a wrong part of it is an evaluation error under its `failurePolicy`.

mod mutating;
mod parts;
mod validating;

pub use mutating::compile_mutating;
pub use validating::compile_validating;

use crate::diagnostic::Diagnostic;
use crate::engine::Rule;

/// One binding of a policy.
#[derive(Debug)]
pub struct CompiledPolicy {
    /// `None` for what the API server would not have stored: there is no meaning to give it.
    pub rule: Option<Rule>,
    /// Errors and warnings, with the fields of the policy.
    pub diagnostics: Vec<Diagnostic>,
    /// Those of the binding, with its fields.
    pub binding_diagnostics: Vec<Diagnostic>,
}

#[cfg(test)]
mod tests;
