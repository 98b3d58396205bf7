//! The server as a process of its own, where what a test takes away from it is missing to nobody else.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

/// For a server that need not decide anything.
pub(super) const RULE: &str = "
apiVersion: usher.dev/v1alpha1
kind: RoutingRule
metadata: {name: nothing}
spec:
  match: {resourceRules: [{apiGroups: [\"\"], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}
  routes: [{name: never, predicate: \"request.name == 'never'\", reject: {message: never}}]
";

pub(super) struct Server {
    child: Child,
    pub(super) webhook: SocketAddr,
    pub(super) admin: SocketAddr,
    pub(super) authority: CertificateDer<'static>,
}

impl Server {
    /// Starts the binary, and waits until it has its rules.
    pub(super) fn start(directory: &Path, text: &str, more: &[&str]) -> Self {
        let rules = directory.join("rules.yaml");
        std::fs::write(&rules, text).unwrap();
        let certificates = directory.join("certificates");
        let mut child = Command::new(env!("CARGO_BIN_EXE_usher"))
            .args(["serve", "--bind=127.0.0.1:0", "--admin-bind=127.0.0.1:0"])
            .args(more)
            .args([Path::new("--rules"), &rules, Path::new("--tls-self-signed"), &certificates])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let (mut webhook, mut admin) = (None, None);
        for line in lines.by_ref() {
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["message"] == "listening" {
                webhook = line["webhook"].as_str().map(|address| address.parse().unwrap());
                admin = line["admin"].as_str().map(|address| address.parse().unwrap());
            }
            if line["message"] == "rules loaded" {
                break;
            }
        }
        std::thread::spawn(move || lines.for_each(drop));
        let authority = CertificateDer::from_pem_file(certificates.join("ca.crt")).unwrap();
        Self { child, webhook: webhook.unwrap(), admin: admin.unwrap(), authority }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The most memory that it ever held, in bytes.
    pub(super) fn peak(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
