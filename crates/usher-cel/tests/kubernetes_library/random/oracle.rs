//! The oracle as a process: built once for its sources, outside the checkout.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::{Value as Json, json};
use usher_cel::KubernetesVersion;

/// For one answer. The API server gives up an expression at a cost that it reaches within a second; the rest is for a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// The oracles that were asked something: that of the newest version, and that of what was before it.
#[derive(Default)]
pub(crate) struct Oracles {
    newest: Option<Oracle>,
    before: Option<Oracle>,
}

impl Oracles {
    /// The oracle with the code of a version, or the oldest there is that can compile for it.
    pub(crate) fn of(&mut self, version: KubernetesVersion) -> &mut Oracle {
        let (oracle, folder) = match version {
            KubernetesVersion::NEWEST => (&mut self.newest, "oracle"),
            _ => (&mut self.before, "oracle-1.36"),
        };
        oracle.get_or_insert_with(|| Oracle::start(folder))
    }
}

/// A running oracle; ends when it is dropped.
pub(crate) struct Oracle {
    process: Child,
    questions: ChildStdin,
    /// Lines, from a thread of their own: a pipe cannot be read with a deadline. The thread ends when the process does.
    answers: Receiver<String>,
}

impl Oracle {
    fn start(folder: &str) -> Self {
        let mut process = Command::new(binary(folder))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the oracle starts");
        let questions = process.stdin.take().expect("stdin is a pipe");
        let stdout = BufReader::new(process.stdout.take().expect("stdout is a pipe"));
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { process, questions, answers }
    }

    /// What the API server's code says of `expression` with this `object`.
    pub(crate) fn ask(&mut self, expression: &str, object: &Json, version: KubernetesVersion) -> Json {
        let sizes = super::sizes::STATED.iter().copied().collect::<BTreeMap<_, _>>();
        let vars = json!({"object": object});
        let question = json!({"id": expression, "expr": expression, "vars": vars, "sizes": sizes, "version": version.minor()});
        writeln!(self.questions, "{question}").expect("the oracle listens");
        match self.answers.recv_timeout(DEADLINE) {
            Ok(line) => serde_json::from_str(&line).expect("an answer is JSON"),
            Err(RecvTimeoutError::Timeout) => panic!("no answer within {DEADLINE:?} to {question}"),
            Err(RecvTimeoutError::Disconnected) => panic!("the oracle ended at {question}"),
        }
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The oracle for the sources as they are, built when there is none yet.
fn binary(folder: &str) -> PathBuf {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cluster").join(folder).join("build.sh");
    let built =
        Command::new(script).stderr(Stdio::inherit()).output().expect("the script of the oracle runs");
    assert!(built.status.success(), "the oracle does not build");
    PathBuf::from(String::from_utf8(built.stdout).expect("a path is text").trim_end())
}
