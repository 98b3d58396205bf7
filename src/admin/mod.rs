//! The port for operators and kubelets: probes, metrics, version. Plain HTTP, on a thread of its own, so that a server that is busy with
//! reviews still answers.

mod routes;
mod thread;

pub use routes::router;
pub use thread::{AdminThread, spawn};
