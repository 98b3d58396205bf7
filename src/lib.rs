//! Usher, the admission router for Kubernetes.

// The struct that `KubeSchema` generates for each schema repeats the `pub` of the type inside a function.
#[allow(unreachable_pub)]
pub mod api;
pub mod diagnostic;
pub mod source;
