//! CEL exactly as Kubernetes speaks it.
//!
//! ```text
//! text ── parse ──► Ast ── check, compile ──► Program ── evaluate(Activation, Arena, Meter) ──► Value
//! ```
//!
//! The crate is pure: no IO, no async, no clock, no environment, no logging. Time comes in as the interrupt of a
//! [`eval::Meter`], memory as an [`eval::Arena`], variables through an [`eval::Activation`]. Nothing here panics on any
//! text or any value. Nothing recurses on the depth of data; recursion on expressions is bounded by the parser's nesting limit.
//! Trees live in arenas, so that even dropping one is flat.
//!
//! Modules in reading order: [`ast`], [`parse`], [`eval`] (values, errors, meter, evaluator), [`document`],
//! [`check`], [`compile`], [`cost`] (before evaluation), [`library`].

pub mod ast;
mod issue;
pub mod parse;
mod version;

pub mod document;
pub mod eval;

pub mod check;
pub mod compile;
pub mod cost;
pub mod library;

pub use compile::{Env, Program, compile};
pub use eval::{Arena, EvalError, EvalResult, Meter, Value};
pub use issue::{Issue, Issues};
pub use version::{KubernetesVersion, UnknownVersion};
