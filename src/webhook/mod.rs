//! The HTTPS server that the API server sends its AdmissionReviews to.
//!
//! Outside to inside, which is also the reading order:
//!
//! ```text
//! Listener ── TLS handshake ──► connection (deadlines, drain) ──► Webhook (paths) ──► Handler ── review ──► Admit
//! ```
//!
//! [`Listener`] serves anything that implements [`Answer`]; [`Webhook`] answers reviews by asking an [`Admit`].
//! [`DrainSwitch::conduct`] leads it through its end.

mod args;

mod activity;
mod connection;
mod connection_metrics;
mod descriptors;
mod drain;
mod listener;
mod watched;

pub mod tls;

mod endpoint;
mod routes;

mod body;
mod budget;
mod cgroup;
mod duration;
mod handler;
mod memory;
mod review;
mod slow_lane;

mod metrics;
mod signals;

pub use args::ServerArgs;
pub use body::BodyLimits;
pub use connection::{Answer, BoxError, ConnectionEnd};
pub use connection_metrics::{ConnectionMetrics, HandshakeResult};
pub use drain::{Drain, DrainSettings, DrainSwitch, Stage, drain};
pub use endpoint::Endpoint;
pub use handler::{Admit, Handler};
pub use listener::{ConnectionLimits, Listener};
pub use memory::{EvaluationLimits, ReviewLimits};
pub use metrics::AdmissionMetrics;
pub use review::{Refusal, Review, ReviewVersion, answer_to, parse as parse_review, question};
pub use routes::{Routed, Webhook};
pub use signals::termination_signals;
