//! What an evaluation costs, in Kubernetes' cost units: the terms that evaluations and estimates are made of, and estimates before any
//! evaluation, as the API server makes them (cel-go `checker/cost.go`, apiserver `pkg/cel/library/cost.go`).

mod calls;
mod estimate;
mod estimator;
mod known;
mod model;
mod operators;
mod range;
mod sizes;
pub(crate) mod terms;

pub use estimate::{Dearest, Estimate, estimate};
pub use range::{CostEstimate, SizeEstimate};
pub use sizes::{AtMost, Path, Sizes, Unknown};

pub(crate) use model::Model;

#[cfg(test)]
mod tests;
