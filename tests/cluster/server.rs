//! Usher as a process beside the API server.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use super::world::{World, until};
use crate::webhook::client::{Client, config, connect_with, review_with};

/// A server whose log lines are kept.
pub(super) struct Usher {
    child: Child,
    log: Arc<Mutex<Vec<Value>>>,
    pub(super) url: String,
    admin: String,
    certificates: tempfile::TempDir,
}

impl Usher {
    /// Starts a server that takes the rules of the world, and waits until it listens.
    pub(super) async fn start(world: &World, more: &[&str]) -> Self {
        Self::start_with(&world.kubeconfig(), more).await
    }

    pub(super) async fn start_with(kubeconfig: &Path, more: &[&str]) -> Self {
        Self::start_on(0, kubeconfig, more).await
    }

    /// Starts a server on a port, 0 for any, with a certificate of its own unless the flags name one.
    pub(super) async fn start_on(port: u16, kubeconfig: &Path, more: &[&str]) -> Self {
        let certificates = tempfile::tempdir().unwrap();
        let own = format!("--tls-self-signed={}", certificates.path().display());
        let has_one = more.iter().any(|flag| flag.starts_with("--tls-"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_usher"))
            .args(["serve", "--admin-bind=127.0.0.1:0", "--drain-window=0s"])
            .args(["--log-format=json", "--log-level=info,usher=debug", "--kubeconfig"])
            .arg(kubeconfig)
            .arg(format!("--bind=127.0.0.1:{port}"))
            .args((!has_one).then_some(own))
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
                kept.lock().unwrap().push(line);
            }
        });
        let mut usher = Self { child, log, url: String::new(), admin: String::new(), certificates };
        let listening = usher.until_logged("listening").await;
        usher.admin = listening["admin"].as_str().unwrap().to_owned();
        usher.url = format!("https://{}/validate", listening["webhook"].as_str().unwrap());
        usher
    }

    /// As [`Self::start`]; the API server asks it, once it is ready.
    pub(super) async fn serving(world: &World, more: &[&str]) -> Self {
        let usher = Self::start(world, more).await;
        usher.until_ready().await;
        world.register(&usher.url, &usher.authority()).await;
        usher
    }

    pub(super) fn authority(&self) -> Vec<u8> {
        std::fs::read(self.certificates.path().join("ca.crt")).unwrap()
    }

    /// Waits for a line of the log that was or will be written, and gives back the last such.
    pub(super) async fn until_logged(&self, message: &str) -> Value {
        let found = async || {
            let log = self.log.lock().unwrap();
            log.iter()
                .rev()
                .find(|line| line["message"].as_str().is_some_and(|m| m.contains(message)))
                .cloned()
        };
        until(&format!("the log has {message:?}: {}", self.log_text()), found).await
    }

    pub(super) fn log_text(&self) -> String {
        let log = self.log.lock().unwrap();
        log.iter().rev().take(30).map(Value::to_string).collect::<Vec<_>>().join("\n")
    }

    /// Status code and body of the admin port.
    pub(super) async fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.admin).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (code, answer)
    }

    pub(super) async fn is_ready(&self) -> bool {
        self.get("/readyz").await.0 == 200
    }

    pub(super) async fn until_ready(&self) {
        until("the server is ready", async || self.is_ready().await.then_some(())).await;
    }

    pub(super) async fn metric(&self, series: &str) -> f64 {
        let (_, answer) = self.get("/metrics").await;
        let value = answer.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no {series} in {answer}")).parse().unwrap()
    }

    /// What it says of a request that does not come from the API server.
    pub(super) async fn ask(&self, request: &str) -> Value {
        let authority = CertificateDer::from_pem_slice(&self.authority()).unwrap();
        let address = self.url.trim_start_matches("https://").trim_end_matches("/validate").parse().unwrap();
        let mut client = Client::new(connect_with(address, config(authority)).await.unwrap());
        client.post("/validate", review_with("u", request)).await.unwrap().response()
    }

    /// Sends a signal by name.
    pub(super) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// SIGTERM, and waits for the end.
    pub(super) fn terminate(mut self) -> Option<i32> {
        self.signal("-TERM");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Usher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the last lines of usher, newest first:\n{}", self.log_text());
        }
    }
}

/// A kubeconfig for a port on which nobody listens.
pub(super) fn kubeconfig_to_nobody(directory: &Path) -> PathBuf {
    let path = directory.join("nobody");
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: \
                \"http://127.0.0.1:1\"}}]\nusers: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n";
    std::fs::write(&path, text).unwrap();
    path
}
