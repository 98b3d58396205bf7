//! The commands. What goes wrong here is told to a person, and ends in an exit code.
//!
//! Results go to standard output and nothing else does. Exit codes are the same for all commands, see [`Exit`].

mod args;
mod findings;
mod load;
mod terminal;

mod cel;
mod check;
mod completions;
mod crd;
mod eval;
mod explain;
mod ping;
pub mod serve;
mod uninstall;
mod version;
mod webhook_config;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use args::{Args, Command};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// Nothing to complain about.
    Clean = 0,
    /// Denied, invalid: the command did its work and found something.
    Findings = 1,
    /// The command could not do its work.
    Failed = 2,
}

/// Runs the command that the arguments name; the first of them is the program's own name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let exit = match args::parse(&arguments) {
        Ok(Args { command, color }) => {
            terminal::set_color(color);
            run(command)
        }
        Err(error) => args::explain(&error, &arguments),
    };
    ExitCode::from(exit as u8)
}

fn run(command: Command) -> Exit {
    let ended = match command {
        Command::Eval(args) => eval::run(args),
        Command::Check(args) => check::run(args),
        Command::Serve(args) => serve::run(*args),
        Command::Crd(args) => crd::run(args),
        Command::WebhookConfig(args) => webhook_config::run(args),
        Command::Ping(args) => ping::run(args),
        Command::Uninstall(args) => uninstall::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Version(args) => version::run(args),
        Command::Completions(args) => completions::run(args),
    };
    ended.unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            // Whoever read has seen enough.
            return Exit::Clean;
        }
        terminal::error(&error);
        Exit::Failed
    })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
