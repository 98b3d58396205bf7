//! Matching without CEL, as Kubernetes does it for webhooks and policies.

mod constraints;
mod resource_rule;
mod selector;

pub use constraints::{MatchConstraints, MatchPolicy};
pub use resource_rule::{OperationSet, ResourcePattern, ResourceRule, RuleScope};
pub use selector::{LabelSelector, Requirement};
