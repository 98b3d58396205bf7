//! The status of rules and the webhook configurations, kept true.
//!
//! Every replica says in a Lease of its own how far it has taken up the rules ([`heartbeat`]). One of them, the holder of another Lease
//! ([`leader`]), watches rules and replicas ([`watched`]), computes what each status should say ([`desired`]) and writes what is different
//! ([`write`]). The same one keeps what the API server asks about as the rules need it ([`registration`]). Nothing here is on the way of a review, and nothing of it failing keeps a review from being answered.

mod bucket;
mod desired;
mod heartbeat;
mod leader;
mod metrics;
mod registration;
mod replicas;
mod run;
mod uninstall;
mod watched;
mod watching;
mod write;

pub use metrics::ControllerMetrics;
pub use registration::{Registering, RegistrationMetrics};
pub use run::{Controller, Farewell};
pub use uninstall::{Removal, Uninstall, Uninstalled};
