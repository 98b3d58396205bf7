//! The status of rules, kept true.
//!
//! Every replica says in a Lease of its own how far it has taken up the rules ([`heartbeat`]). One of them, the holder of another Lease
//! ([`leader`]), watches rules and replicas ([`watched`]), computes what each status should say ([`desired`]) and writes what is different
//! ([`write`]). Nothing here is on the way of a review, and nothing of it failing keeps a review from being answered.

mod desired;
mod heartbeat;
mod leader;
mod metrics;
mod replicas;
mod run;
mod watched;
mod write;

pub use metrics::ControllerMetrics;
pub use run::{Controller, Farewell};
