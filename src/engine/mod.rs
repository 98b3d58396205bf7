//! What happens to a request: matching, evaluation of rules in order, the decision. Pure: no async, no IO, no clock, no logging.
//!
//! Reading order: [`Request`] (what is asked), `rule` (what was compiled), `decide` (the procedure), [`Decision`] (the answer).

mod decision;
mod request;

pub use decision::{Decision, Finding, Rejection, RuleOutcome};
pub use request::{GroupVersionKind, GroupVersionResource, Operation, Phase, Request, UserInfo};
