//! One program of the control plane.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A program that runs for as long as this is kept. It holds the other end of the program's standard input, so that the program ends
/// with this process too, however that ends.
pub(crate) struct Program {
    binary: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
    running: Option<(Child, ChildStdin)>,
}

impl Program {
    pub(super) fn start(binary: &Path, arguments: Vec<String>, log: PathBuf) -> Self {
        let mut program = Self { binary: binary.to_owned(), arguments, log, running: None };
        program.restart();
        program
    }

    /// Starts it again with the same arguments; its log goes on.
    pub(crate) fn restart(&mut self) {
        self.kill();
        let log =
            OpenOptions::new().create(true).append(true).open(&self.log).expect("the log can be written");
        let mut child = Command::new(&self.binary)
            .args(&self.arguments)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a second handle of the log"))
            .stderr(log)
            .spawn()
            .expect("the program starts");
        let stdin = child.stdin.take().expect("a pipe");
        self.running = Some((child, stdin));
    }

    /// SIGKILL. Does nothing if it does not run.
    pub(crate) fn kill(&mut self) {
        if let Some((mut child, _stdin)) = self.running.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// SIGSTOP: it stays, but does nothing any more.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    /// SIGCONT.
    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, name: &str) {
        let (child, _) = self.running.as_ref().expect("the program runs");
        let sent = Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success(), "kill {name} failed");
    }

    /// Whether it ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        self.running.as_mut().is_none_or(|(child, _)| child.try_wait().is_ok_and(|ended| ended.is_some()))
    }

    /// The end of its log.
    pub(super) fn last_lines(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}
