//! What the server keeps in memory when nobody asks it anything.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Resident memory, in MiB, of the binary as it serves these rules, once it says that it is ready.
pub(crate) fn idle_with(rules: impl Iterator<Item = Value>) -> f64 {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut text = String::new();
    for rule in rules {
        // Every JSON text is YAML.
        let _ = write!(text, "---\n{rule}\n");
    }
    let file = directory.path().join("rules.yaml");
    std::fs::write(&file, text).expect("a file of rules");
    let admin = free_address();
    let child = Command::new(env!("CARGO_BIN_EXE_usher"))
        .args(["serve", "--bind=127.0.0.1:0", "--admin-bind", &admin, "--rules"])
        .arg(&file)
        .arg("--tls-self-signed")
        .arg(directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut server = Server(child.expect("the server"));
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_ready(&admin) {
        assert!(matches!(server.0.try_wait(), Ok(None)), "the server has ended");
        assert!(Instant::now() < deadline, "the server is not ready after a minute");
        std::thread::sleep(Duration::from_millis(50));
    }
    // What was only needed to start goes back to the system some time later.
    std::thread::sleep(Duration::from_secs(3));
    server.resident()
}

struct Server(Child);

impl Server {
    fn resident(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a resident size");
        let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kib / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

fn is_ready(admin: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(admin) else { return false };
    let mut answer = String::new();
    let asked = stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n");
    asked.and_then(|()| stream.read_to_string(&mut answer)).is_ok() && answer.starts_with("HTTP/1.1 200")
}
