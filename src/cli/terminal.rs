//! Writing for people and for programs.

use std::fmt;
use std::io::{self, Write};

use annotate_snippets::Renderer;
use anstream::ColorChoice;
use clap::ValueEnum;
use clap::builder::styling::{AnsiColor, Effects, Style};
use serde::Serialize;

use crate::diagnostic::{Diagnostic, render};

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

pub(super) const RED: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
pub(super) const GREEN: Style = AnsiColor::Green.on_default().effects(Effects::BOLD);
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
pub(super) const ADDED: Style = AnsiColor::Green.on_default();
pub(super) const REMOVED: Style = AnsiColor::Red.on_default();
pub(super) const FAINT: Style = Style::new().effects(Effects::DIMMED);
pub(super) const BOLD: Style = Style::new().effects(Effects::BOLD);

/// Decides about colours for the rest of the run.
pub(super) fn set_color(color: Color) {
    match color {
        // Looks at NO_COLOR, CLICOLOR and the terminal by itself.
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    }
    .write_global();
}

/// Writes to standard output. Escapes for colours are taken out where they are not wanted.
pub(super) fn out(text: &str) -> io::Result<()> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes one JSON document to standard output.
pub(super) fn json(document: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(document).map_err(io::Error::other)?;
    text.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Tells people something that is not the result.
pub(super) fn tell(text: impl fmt::Display) {
    let mut stderr = anstream::stderr().lock();
    // There is nobody to tell about a standard error that cannot be written.
    let _ = writeln!(stderr, "{text}");
}

/// Tells people something that they may want to know about the result.
pub(super) fn note(text: impl fmt::Display) {
    tell(format_args!("{BOLD}note{BOLD:#}: {text}"));
}

/// Tells people why the command could not run.
pub(super) fn error(error: &anyhow::Error) {
    match error.downcast_ref::<Fault>() {
        Some(Fault(diagnostic)) => tell(rendered(diagnostic)),
        None => tell(format_args!("{RED}error{RED:#}: {}", chain(error))),
    }
}

/// An error with its causes, each said once: some errors repeat theirs.
pub(super) fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// A finding with its source lines and caret.
pub(super) fn rendered(diagnostic: &Diagnostic) -> String {
    render(diagnostic, &Renderer::styled())
}

/// A finding that keeps a command from running.
#[derive(Debug)]
pub(super) struct Fault(pub(super) Box<Diagnostic>);

impl Fault {
    /// A finding about a path that a flag named.
    pub(super) fn of_flag(mut diagnostic: Diagnostic, flag: Option<&str>) -> Self {
        if let Some(flag) = flag {
            diagnostic.message = format!("{flag}: {}", diagnostic.message);
        }
        Self(Box::new(diagnostic))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Fault {}

/// Text that came from outside, without what would reach the terminal: control characters are escaped, line breaks stay.
pub(super) fn plain(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => clean.push(character),
            control if control.is_control() => clean.extend(control.escape_default()),
            other => clean.push(other),
        }
    }
    clean
}

/// `1 rule`, `2 rules`.
pub(super) fn count(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}
