//! Log lines: JSON for machines or text for people, on standard error, never in the way.

use std::io;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use super::writer::{LineWriter, LogGuard};

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line.
    #[default]
    Json,
    /// For people.
    Text,
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum LogsError {
    #[error(
        "--log-level: {0:?} is no filter; use error, warn, info, debug, trace, or directives such as info,usher=debug"
    )]
    Filter(String),
    #[error("cannot start the log thread: {0}")]
    Thread(#[from] io::Error),
    #[error("logs were set up before")]
    Twice,
}

/// Sends all log lines and the places of panics to standard error. What a panic says is left out: it may quote an object.
///
/// # Errors
/// When `level` is no filter, or when logs were set up before.
pub fn init_logs(format: LogFormat, level: &str) -> Result<LogGuard, LogsError> {
    let filter = EnvFilter::try_new(level).map_err(|_| LogsError::Filter(level.to_owned()))?;
    let (writer, guard) = LineWriter::start(io::stderr())?;
    // Values are escaped by both formats, so that what users write into names cannot pose as a line or reach a terminal.
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_span_events(FmtSpan::NONE)
        .with_ansi(false)
        .with_writer(writer);
    let set = match format {
        LogFormat::Json => {
            lines.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init()
        }
        LogFormat::Text => lines.try_init(),
    };
    set.map_err(|_| LogsError::Twice)?;
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let thread = std::thread::current();
        tracing::error!(place, thread = thread.name(), "panic");
    }));
    Ok(guard)
}
