//! `usher crd`.

use clap::Args;

use super::{Exit, terminal};
use crate::api::crd_yaml;

/// Print the CustomResourceDefinition of RoutingRule as YAML.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: usher crd | kubectl apply --server-side -f -")]
pub(super) struct CrdArgs {}

pub(super) fn run(CrdArgs {}: CrdArgs) -> anyhow::Result<Exit> {
    terminal::out(&crd_yaml()?)?;
    Ok(Exit::Clean)
}
