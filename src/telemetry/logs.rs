//! Log lines: JSON for machines or text for people, on standard error, never in the way.

use std::io;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
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
    let filter = filter(level)?;
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

/// A single word must be a level. The library takes any other one for the name of a module, and `warning` would then silence all the rest.
fn filter(level: &str) -> Result<EnvFilter, LogsError> {
    let wrong = || LogsError::Filter(level.to_owned());
    let mut words = level.split(',').filter(|part| !part.contains(['=', '[', ']']));
    if words.any(|word| !word.is_empty() && word.parse::<LevelFilter>().is_err()) {
        return Err(wrong());
    }
    EnvFilter::try_new(level).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("info")]
    #[case("WARN")]
    #[case("off")]
    #[case("info,usher=debug")]
    #[case("warn,hyper[request]=trace")]
    fn levels_and_directives_are_filters(#[case] level: &str) {
        assert!(filter(level).is_ok());
    }

    #[rstest]
    #[case("warning")]
    #[case("verbose")]
    #[case("info,usher")]
    #[case("usher=loud")]
    fn a_word_that_is_no_level_is_refused_and_not_taken_for_a_module(#[case] level: &str) {
        assert!(filter(level).unwrap_err().to_string().contains(level));
    }
}
