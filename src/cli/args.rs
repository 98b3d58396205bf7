//! The command line as a whole.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use serde::Serialize;

use super::terminal::Color;
use super::{
    Exit, check, completions, crd, eval, explain, ping, serve, terminal, uninstall, version, webhook_config,
};

/// Version of the JSON that the commands write.
pub(super) const API_VERSION: &str = "cli.usher.dev/v1alpha1";

/// The admission router for Kubernetes: CEL predicates decide who answers each request.
#[derive(Debug, Parser)]
#[command(
    name = "usher",
    version,
    max_term_width = 100,
    propagate_version = false,
    after_help = "Exit codes: 0 clean, 1 findings (denied, invalid), 2 could not run."
)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Command,

    /// When to use colours. NO_COLOR in the environment switches `auto` off.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", value_enum)]
    pub(super) color: Color,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Serve(Box<serve::ServeArgs>),
    Eval(eval::EvalArgs),
    Check(check::CheckArgs),
    Crd(crd::CrdArgs),
    WebhookConfig(webhook_config::WebhookConfigArgs),
    Ping(ping::PingArgs),
    Uninstall(uninstall::UninstallArgs),
    Explain(explain::ExplainArgs),
    Version(version::VersionArgs),
    Completions(completions::CompletionsArgs),
}

/// Reads the command line.
pub(super) fn parse(arguments: &[OsString]) -> Result<Args, clap::Error> {
    let mut command = command(arguments.first().map(OsString::as_os_str));
    let matches = command.try_get_matches_from_mut(arguments)?;
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The command line's description, under the name by which the program was called: as a plugin of kubectl it is `kubectl usher`.
pub(super) fn command(program: Option<&OsStr>) -> clap::Command {
    let stem = program.and_then(|program| Path::new(program).file_stem());
    let is_plugin = stem.is_some_and(|stem| stem == "kubectl-usher");
    Args::command().bin_name(if is_plugin { "kubectl usher" } else { "usher" })
}

/// What is written when a command could not run at all, for readers of JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure<'a> {
    api_version: &'static str,
    kind: &'static str,
    errors: [Message<'a>; 1],
}

#[derive(Serialize)]
struct Message<'a> {
    message: &'a str,
}

/// Prints help, or what is wrong with the command line.
pub(super) fn explain(error: &clap::Error, arguments: &[OsString]) -> Exit {
    // Nothing is to be done about an output that cannot be written.
    let _ = error.print();
    if !error.use_stderr() {
        return Exit::Clean;
    }
    if wants_json(arguments) {
        let text = error.render().to_string();
        let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let _ = terminal::json(&Failure {
            api_version: API_VERSION,
            kind: "Failure",
            errors: [Message { message }],
        });
    }
    Exit::Failed
}

/// Whether JSON was asked for, on a command line that could not be read.
fn wants_json(arguments: &[OsString]) -> bool {
    let is = |argument: &OsString, texts: &[&str]| texts.iter().any(|text| argument == text);
    arguments.iter().any(|argument| is(argument, &["-ojson", "-o=json", "--output=json"]))
        || arguments.windows(2).any(|pair| is(&pair[0], &["-o", "--output"]) && is(&pair[1], &["json"]))
}
