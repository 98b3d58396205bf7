//! Usher, the admission router for Kubernetes.

pub mod engine;
