//! Usher, the admission router for Kubernetes.
//!
//! An HTTPS server receives every `AdmissionReview`, evaluates CEL predicates that cluster operators wrote as `RoutingRule`
//! objects, and sends the request to a handler. Modules in reading order; arrows only point downwards
//! (see ARCHITECTURE.md).

// The struct that `KubeSchema` generates for each schema repeats the `pub` of the type inside a function.
#[allow(unreachable_pub)]
pub mod api;
pub mod controller;
pub mod diagnostic;
pub mod engine;
pub mod rules;
pub mod schemas;
pub mod source;
pub mod webhook;

pub mod admin;
pub mod cli;
pub mod telemetry;
