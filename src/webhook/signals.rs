//! The operating system's requests to stop.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Each SIGTERM and SIGINT, by its name. From here on they no longer end the process by themselves; the returned future has to be run.
///
/// # Errors
/// When the signals cannot be caught.
pub fn termination_signals() -> io::Result<(mpsc::Receiver<&'static str>, impl Future<Output = ()> + Send)> {
    let (tx, rx) = mpsc::channel(2);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let forward = async move {
        loop {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            // The first starts the drain and the second ends it; there is nothing left for a third to do.
            let _ = tx.try_send(name);
        }
    };
    Ok((rx, forward))
}
