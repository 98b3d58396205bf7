//! What an evaluation costs, in Kubernetes' cost units: the terms that evaluations and estimates are made of.

mod model;
pub(crate) mod terms;

pub(crate) use model::Model;
