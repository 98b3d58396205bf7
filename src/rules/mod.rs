//! Rules: the only translation from what users write ([`crate::api`]) to what is evaluated ([`crate::engine`]).
//!
//! Reading order: [`compile()`] (a `RoutingRule`), [`policies`] (the admission policies of Kubernetes, by the same compiler),
//! [`RuleWriter`] (which rules there are, and which version of each answers requests), [`LiveRules`] (the handle of those who answer),
//! [`review_rule`] (whether a version of a rule may be stored).

mod compile;
mod guards;
mod inline_tests;
mod item;
mod kinds;
mod live;
pub mod policies;
pub mod registration;
mod review;
mod risks;
mod served;
pub mod type_check;
mod unusable;
mod writer;

pub use compile::{Compiled, Context, accept, compile, placeholder};
pub use item::{Item, ItemKey, ItemKind};
pub use kinds::Kinds;
pub use live::LiveRules;
pub use review::review_rule;
pub use served::Served;
pub use type_check::type_check;
pub use unusable::expression_errors;
pub use writer::{Report, RuleWriter};
