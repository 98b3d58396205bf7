//! The server as a process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{directory, text};

/// A server whose log lines are read.
struct Server {
    child: Child,
    lines: Receiver<Value>,
    admin: String,
}

impl Server {
    fn start(rules: &Path, certificates: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_usher"))
            .args(["serve", "--bind=127.0.0.1:0", "--admin-bind=127.0.0.1:0", "--drain-window=0s"])
            .args([Path::new("--rules"), rules, Path::new("--tls-self-signed"), certificates])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let (tx, lines) = channel();
        std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                let _ = tx.send(serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}")));
            }
        });
        let mut server = Self { child, lines, admin: String::new() };
        server.admin = server.wait_for("listening")["admin"].as_str().unwrap().to_owned();
        server.wait_for("rules loaded");
        server
    }

    /// The next log line with a message.
    fn wait_for(&self, message: &str) -> Value {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let line = self.lines.recv_timeout(end.saturating_duration_since(Instant::now()));
            let line = line.unwrap_or_else(|_| panic!("no line {message:?} in time"));
            if line["message"] == message {
                return line;
            }
        }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.admin).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn metric(&self, series: &str) -> String {
        let answer = self.get("/metrics");
        let value = answer.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no {series} in {answer}")).to_owned()
    }

    fn terminate(mut self) -> (Option<i32>, String) {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let mut stdout = Vec::new();
        self.child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        (self.child.wait().unwrap().code(), text(&stdout))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_broken_rule_is_told_of_and_changes_nothing_until_it_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules");
    std::fs::create_dir(&rules).unwrap();
    for file in ["images.yaml", "defaults.yaml"] {
        std::fs::copy(directory().join("rules").join(file), rules.join(file)).unwrap();
    }
    let server = Server::start(&rules, &folder.path().join("certificates"));
    assert!(server.get("/readyz").contains("200 OK"));
    assert_eq!(server.metric("usher_rule_set_rules"), "2");
    assert_eq!(server.metric("usher_policies{status=\"accepted\"}"), "2");

    let file = rules.join("images.yaml");
    let good = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, good.replace("predicate: \"'break-glass'", "predicat: \"'break-glass'")).unwrap();
    let told = server.wait_for("unknown field `predicat`");
    assert_eq!((&told["level"], &told["code"]), (&"ERROR".into(), &"U0203".into()));
    assert_eq!((&told["file"], told["line"].as_u64()), (&file.to_str().unwrap().into(), Some(26)));
    server.wait_for("rules reloaded");
    assert_eq!(server.metric("usher_config_last_reload_successful"), "0");
    assert_eq!(server.metric("usher_config_reloads_total{result=\"failure\"}"), "1");
    assert_eq!(server.metric("usher_policies{status=\"rejected\"}"), "1");
    assert_eq!(server.metric("usher_rule_set_rules"), "2", "the last good one answers");
    assert!(server.get("/readyz").contains("200 OK"));

    std::fs::write(rules.join("more.yaml"), "spec: [").unwrap();
    server.wait_for("rules reloaded");
    assert_eq!(server.metric("usher_config_broken_files"), "1");
    std::fs::remove_file(rules.join("more.yaml")).unwrap();
    server.wait_for("rules reloaded");

    let repaired = Instant::now();
    std::fs::write(&file, good).unwrap();
    server.wait_for("rules reloaded");
    assert!(repaired.elapsed() < Duration::from_secs(1), "{:?}", repaired.elapsed());
    assert_eq!(server.metric("usher_config_last_reload_successful"), "1");
    assert_eq!(server.metric("usher_config_diagnostics{severity=\"error\"}"), "0");

    assert_eq!(server.terminate(), (Some(0), String::new()));
}

#[test]
fn a_directory_without_rules_is_served_and_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules");
    std::fs::create_dir(&rules).unwrap();
    let server = Server::start(&rules, &folder.path().join("certificates"));
    assert_eq!(server.metric("usher_rule_set_rules"), "0");
    std::fs::copy(directory().join("rules/defaults.yaml"), rules.join("defaults.yaml")).unwrap();
    server.wait_for("rules reloaded");
    assert_eq!(server.metric("usher_rule_set_rules"), "1");
    assert_eq!(server.terminate().0, Some(0));
}
