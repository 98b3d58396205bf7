//! `usher version`.

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::args::API_VERSION;
use super::{Exit, terminal};

/// Print the version.
#[derive(Args, Clone, Debug)]
pub(super) struct VersionArgs {
    /// How the version is written.
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_enum)]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// One line.
    Text,
    /// One JSON document.
    Json,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    api_version: &'static str,
    kind: &'static str,
    version: &'static str,
    /// API versions of the rules that this version understands.
    rule_api_versions: [String; 1],
}

pub(super) fn run(VersionArgs { output }: VersionArgs) -> anyhow::Result<Exit> {
    let version = env!("CARGO_PKG_VERSION");
    match output {
        Output::Text => terminal::out(&format!("usher {version}\n"))?,
        Output::Json => terminal::json(&Version {
            api_version: API_VERSION,
            kind: "Version",
            version,
            rule_api_versions: [format!("{}/{}", crate::api::GROUP, crate::api::VERSION)],
        })?,
    }
    Ok(Exit::Clean)
}
