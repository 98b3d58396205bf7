//! A thread with a runtime of its own.

use std::io;
use std::thread::JoinHandle;

/// Runs `main` to its end on a new thread with a small runtime.
///
/// # Errors
/// When there can be no thread or no runtime.
pub fn spawn<F>(main: F) -> io::Result<AdminThread>
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread =
        std::thread::Builder::new().name("admin".to_owned()).spawn(move || runtime.block_on(main))?;
    Ok(AdminThread { thread })
}

/// The running thread.
#[derive(Debug)]
pub struct AdminThread {
    thread: JoinHandle<()>,
}

impl AdminThread {
    /// Waits for its end. False when it ended by a panic.
    pub fn join(self) -> bool {
        self.thread.join().is_ok()
    }
}
