//! The operating system's requests to stop.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Each SIGTERM and SIGINT, by its name. From here on they no longer end the process by themselves; the returned future has to be run.
/// A SIGHUP, with which other servers are told to read their files again, does nothing: here they are read when they change.
///
/// # Errors
/// When the signals cannot be caught.
pub fn termination_signals() -> io::Result<(mpsc::Receiver<&'static str>, impl Future<Output = ()> + Send)> {
    let (tx, rx) = mpsc::channel(2);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let forward = async move {
        loop {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
                _ = hangup.recv() => {
                    tracing::info!("SIGHUP does nothing: rules and certificates are read again when they change");
                    continue;
                }
            };
            // The first starts the drain and the second ends it; there is nothing left for a third to do.
            let _ = tx.try_send(name);
        }
    };
    Ok((rx, forward))
}
