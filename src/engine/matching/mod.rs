//! Matching without CEL, as Kubernetes does it for webhooks and policies.

mod constraints;
mod labels;
mod resource_rule;
mod selector;

pub use constraints::{MatchConstraints, MatchPolicy, Mismatch};
pub use resource_rule::{OperationSet, ResourcePattern, ResourceRule, RuleScope};
pub use selector::{LabelSelector, Requirement};

pub(crate) use constraints::{NAME_LABEL, calls};
pub(crate) use labels::{Labels, RequestLabels};

#[cfg(test)]
mod tests;
