//! The oracle as a process: built once for its sources, outside the checkout.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value as Json, json};

const SOURCES: &[&str] = &["main.go", "go.mod", "go.sum"];

/// A running oracle; ends when it is dropped.
pub(crate) struct Oracle {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Oracle {
    pub(crate) fn start() -> Self {
        let mut process = Command::new(binary())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the oracle starts");
        let questions = process.stdin.take().expect("stdin is a pipe");
        let answers = BufReader::new(process.stdout.take().expect("stdout is a pipe"));
        Self { process, questions, answers }
    }

    /// What the API server's code says of `expression` with this `object`.
    pub(crate) fn ask(&mut self, expression: &str, object: &Json) -> Json {
        let question = json!({"id": expression, "expr": expression, "vars": {"object": object}});
        writeln!(self.questions, "{question}").expect("the oracle listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the oracle answers");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("the oracle ended at {question}"))
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
fn binary() -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cluster/oracle");
    let mut hasher = DefaultHasher::new();
    for file in SOURCES {
        fs::read(sources.join(file)).expect("the oracle's sources are there").hash(&mut hasher);
    }
    let home = || PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".cache");
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    let folder = cache.join(format!("usher/oracle/{:016x}", hasher.finish()));
    let binary = folder.join("oracle");
    if binary.exists() {
        return binary;
    }
    fs::create_dir_all(&folder).expect("the cache can be written");
    // Under a name of its own first, so that a build that is cut off leaves nothing that looks ready.
    let unfinished = folder.join(format!("oracle.{}", std::process::id()));
    let built =
        Command::new("go").args(["build", "-o"]).arg(&unfinished).arg(".").current_dir(sources).status();
    assert!(built.expect("Go is installed").success(), "the oracle does not build");
    fs::rename(&unfinished, &binary).expect("the cache can be written");
    binary
}
