//! What happens to a request: matching, evaluation of rules in order, the decision. Pure: no async, no IO, no clock, no logging.
//!
//! Reading order: [`Request`] (what is asked), [`Rule`] (what was compiled), [`RuleIndex`] and [`RuleSet`] (where rules are kept),
//! [`decide()`] (the procedure), [`Decision`] (the answer).

mod decision;
mod request;
mod trace;

mod expression;
mod guard;
pub mod matching;
mod rule;
pub mod slots;

mod candidates;
mod index;
mod objects;
mod protected;
mod rule_set;

mod activation;
mod annotations;
mod budget;
mod decide;
mod documents;
mod evaluate_rule;
mod evaluation;
pub mod merge;
mod message;
mod mutate;
mod params;
pub mod patch;
mod rule_result;
mod warnings;

#[cfg(test)]
pub(crate) mod testing;

pub use annotations::is_annotation_key;
pub use budget::{MemoryLimits, PER_CALL};
pub use decide::{Query, decide};
pub use decision::{Decision, Finding, Rejection, RuleOutcome};
pub use documents::NAMESPACE_FIELDS;
pub use evaluate_rule::PANICKED;
pub use expression::Expression;
pub use guard::{Fact, Guard};
pub use index::{RuleIndex, RuleKey};
pub use objects::{ObjectKey, Objects, StoredObject};
pub use protected::{Protected, ProtectedKind};
pub use request::{GroupVersionKind, GroupVersionResource, Operation, Phase, Request, UserInfo};
pub use rule::{
    Actions, AuditAnnotation, FailurePolicy, Handler, MatchCondition, Message, Mode, Mutation, NotFound,
    Origin, Panics, ParamChoice, ParamReference, Params, Reason, Route, Rule, Scope, Variable,
};
pub use rule_set::RuleSet;
pub use trace::{ExpressionTrace, RouteTrace, RuleTrace, Trace};
