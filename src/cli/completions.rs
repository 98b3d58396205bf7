//! `usher completions`.

use clap::Args;
use clap_complete::Shell;

use super::{Exit, args, terminal};

/// Print the completion script of a shell.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: source <(usher completions bash)")]
pub(super) struct CompletionsArgs {
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

pub(super) fn run(CompletionsArgs { shell }: CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(None), "usher", &mut script);
    terminal::out(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Clean)
}
