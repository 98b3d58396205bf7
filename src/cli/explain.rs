//! `usher explain`.

use anyhow::bail;
use clap::Args;

use super::{Exit, terminal};
use crate::diagnostic::Code;

/// Say what the code of a finding means, such as U0203; without a code, all of them.
#[derive(Args, Clone, Debug)]
pub(super) struct ExplainArgs {
    #[arg(value_name = "CODE")]
    codes: Vec<String>,
}

pub(super) fn run(ExplainArgs { codes }: ExplainArgs) -> anyhow::Result<Exit> {
    let mut wanted = Vec::new();
    for text in &codes {
        let code = Code::ALL.iter().find(|code| code.as_str().eq_ignore_ascii_case(text));
        let Some(code) = code else {
            bail!("there is no code {text}; `usher explain` without a code lists them all");
        };
        wanted.push(code);
    }
    if codes.is_empty() {
        wanted.extend(Code::ALL);
    }
    let lines: String = wanted.iter().map(|code| format!("{code}  {}\n", code.meaning())).collect();
    terminal::out(&lines)?;
    Ok(Exit::Clean)
}
