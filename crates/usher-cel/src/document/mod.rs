//! JSON read straight into [`Value`](crate::Value)s that borrow from the text, and written back.
//!
//! ```text
//! body ── Scanner ──► envelope fields, raw text of `object` ── parse(…, Arena) ──► Value ── write ──► bytes
//! ```
//!
//! Everything here is flat: nesting costs a bit or a few words on the heap, never stack, up to the [`MAX_DEPTH`] that the
//! API server itself accepts. What is JSON and what a number becomes follow `sigs.k8s.io/json`, the decoder behind
//! Kubernetes' unstructured objects.

mod blocks;
mod error;
mod grammar;
mod jump;
mod lex;
mod nesting;
mod parse;
mod scan;
mod specials;
mod sweep;
mod unescape;
mod write;

#[cfg(test)]
mod tests;

pub use error::{Found, JsonError, JsonErrorKind};
pub use parse::{Options, parse};
pub use scan::{Kind, Scanner};
pub use write::{LargeIntegers, WriteError, WriteOptions, write};

/// How many arrays and objects may be inside each other: the limit of Go's and of Kubernetes' JSON decoder
/// (`maxNestingDepth` of `encoding/json`). One more is refused.
pub const MAX_DEPTH: usize = 10_000;
