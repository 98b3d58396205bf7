//! Wire types of the objects that Usher reads: what a user writes, nothing more.
//!
//! The types say how an object looks as JSON (serde), what the API server refuses by itself (schemars bounds and
//! `x-kubernetes-validations`) and what `kubectl explain` prints (the doc comments). They have no behaviour: the only
//! translation into something that can be evaluated is `rules::compile`. Unknown fields are accepted by serde, as the
//! API server prunes them; the manifest loader finds them with their place by comparing with the schema.

mod audit;
mod bounds;
mod crd;
mod forward;
mod match_condition;
mod match_resources;
mod mutate;
mod mutating_admission_policy;
mod param_ref;
mod pass;
mod reject;
mod route;
// The lint takes equal column types of two printer columns for one attribute given twice.
#[allow(clippy::duplicated_attributes)]
mod routing_rule;
mod status;
mod test_case;
mod throttle;
mod validating_admission_policy;
mod variable;
mod warn;

pub use audit::{Audit, AuditAnnotation};
pub use crd::{crd, crd_yaml};
pub use forward::{Forward, ForwardService, Phase};
pub use k8s_openapi::api::admissionregistration::v1::MatchResources as PolicyMatchResources;
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector, LabelSelectorRequirement, ObjectMeta,
};
pub use match_condition::MatchCondition;
pub use match_resources::{MatchPolicy, MatchResources, Operation, ResourceRule, Scope};
pub use mutate::{Mutate, PatchOp, PatchOperation};
pub use mutating_admission_policy::{
    ApplyConfiguration, JsonPatch, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding,
    MutatingAdmissionPolicyBindingSpec, MutatingAdmissionPolicySpec, Mutation, PatchType, ReinvocationPolicy,
};
pub use param_ref::{ParamNotFound, ParamRef};
pub use pass::{Pass, PassScope};
pub use reject::{Reject, RejectReason};
pub use route::Route;
pub use routing_rule::{FailurePolicy, Mode, RoutingRule, RoutingRuleSpec};
pub use status::{
    Condition, CostStatus, DiagnosticSeverity, RoutingRuleStatus, RulePhase, StatusDiagnostic,
    condition_types,
};
pub use test_case::{Expectation, ExpectedDecision, TestCase, TestResource};
pub use throttle::Throttle;
pub use validating_admission_policy::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
pub use variable::Variable;
pub use warn::Warn;

/// API group of Usher's own kinds.
pub const GROUP: &str = "usher.dev";
/// The one version of [`GROUP`] that is served.
pub const VERSION: &str = "v1alpha1";

#[cfg(test)]
mod tests;
