//! Rules: the only translation from what users write ([`crate::api`]) to what is evaluated ([`crate::engine`]).
//!
//! Reading order: [`compile()`] (a `RoutingRule`), [`policies`] (the admission policies of Kubernetes, by the same compiler).

mod compile;
mod guards;
mod kinds;
pub mod policies;

pub use compile::{Compiled, Context, compile, placeholder};
pub use kinds::Kinds;
