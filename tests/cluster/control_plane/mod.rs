//! A real etcd and a real kube-apiserver on loopback ports, without a cluster.
//!
//! There is no controller manager: namespaces are never deleted, nothing makes Pods of Deployments, nothing collects garbage.

mod binary;
mod certificates;
mod process;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};

use certificates::Certificates;
pub(crate) use process::Program;

/// From the start of the programs to an API server that answers: 4 s alone, more beside other tests.
const START: Duration = Duration::from_secs(90);

/// The programs with their files. They end when this is dropped, or this process does.
pub(crate) struct ControlPlane {
    pub(crate) etcd: Program,
    pub(crate) api_server: Program,
    directory: PathBuf,
}

impl ControlPlane {
    /// Starts both programs with their files below `directory` and waits until the API server is ready.
    pub(crate) async fn start(directory: PathBuf) -> Self {
        let plane = tokio::task::spawn_blocking(move || Self::spawn(directory)).await.expect("the start");
        plane.until_ready().await
    }

    fn spawn(directory: PathBuf) -> Self {
        let binary = binary::build();
        std::fs::create_dir_all(&directory).expect("a directory for the control plane");
        let certificates = Certificates::write(&directory);
        let [client, peer, secure] = free_ports();
        let etcd = etcd_arguments(&directory, client, peer);
        let api_server = api_server_arguments(&directory, &certificates, client, secure);
        write(&directory.join("kubeconfig"), &kubeconfig(&certificates, secure));
        Self {
            etcd: Program::start(&binary, etcd, directory.join("etcd.log")),
            api_server: Program::start(&binary, api_server, directory.join("apiserver.log")),
            directory,
        }
    }

    /// Waits until the API server is ready and has made its first namespaces.
    pub(crate) async fn until_ready(mut self) -> Self {
        let end = Instant::now() + START;
        let client = self.client().await;
        loop {
            let request =
                http::Request::get("/api/v1/namespaces/default").body(Vec::new()).expect("a request");
            let error = match client.request_text(request).await {
                Ok(_) => return self,
                Err(error) => error,
            };
            let ended = self.etcd.has_ended() || self.api_server.has_ended();
            if ended || Instant::now() > end {
                panic!(
                    "the control plane is not ready: {error}\netcd: {}\nAPI server: {}",
                    self.etcd.last_lines(),
                    self.api_server.last_lines()
                );
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// A kubeconfig of an administrator.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    /// What the API server was asked so far: audit events, one a line.
    pub(crate) fn audit_log(&self) -> String {
        std::fs::read_to_string(self.directory.join("audit.log")).unwrap_or_default()
    }

    /// A client of an administrator, for the runtime that this is called on.
    pub(crate) async fn client(&self) -> Client {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig()).expect("a kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        Client::try_from(config.expect("a configuration")).expect("a client")
    }
}

fn etcd_arguments(directory: &Path, client: u16, peer: u16) -> Vec<String> {
    let (client, peer) = (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
    vec![
        "etcd".to_owned(),
        format!("--data-dir={}", directory.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        "--unsafe-no-fsync=true".to_owned(),
    ]
}

fn api_server_arguments(
    directory: &Path,
    certificates: &Certificates,
    etcd: u16,
    secure: u16,
) -> Vec<String> {
    let path = |path: &Path| path.display().to_string();
    let policy = directory.join("audit-policy.yaml");
    write(
        &policy,
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n",
    );
    vec![
        "apiserver".to_owned(),
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        // Without it a machine without a default route is refused, and with it there is nothing to reconcile.
        "--advertise-address=127.0.0.1".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--secure-port={secure}"),
        format!("--tls-cert-file={}", path(&certificates.server.certificate)),
        format!("--tls-private-key-file={}", path(&certificates.server.key)),
        format!("--client-ca-file={}", path(&certificates.authority)),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        format!("--service-account-issuer=https://127.0.0.1:{secure}/"),
        format!("--service-account-key-file={}", path(&certificates.accounts.1)),
        format!("--service-account-signing-key-file={}", path(&certificates.accounts.0)),
        "--authorization-mode=RBAC".to_owned(),
        // Nobody makes the account `default` that it asks for.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--allow-privileged=true".to_owned(),
        "--enable-priority-and-fairness=false".to_owned(),
        "--profiling=false".to_owned(),
        format!("--audit-policy-file={}", path(&policy)),
        format!("--audit-log-path={}", path(&directory.join("audit.log"))),
        "--audit-log-mode=blocking".to_owned(),
        "-v=1".to_owned(),
    ]
}

fn kubeconfig(certificates: &Certificates, port: u16) -> String {
    let admin = &certificates.admin;
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: plane\n\
         clusters: [{{name: plane, cluster: {{server: \"https://127.0.0.1:{port}\", certificate-authority: {}}}}}]\n\
         users: [{{name: admin, user: {{client-certificate: {}, client-key: {}}}}}]\n\
         contexts: [{{name: plane, context: {{cluster: plane, user: admin}}}}]\n",
        certificates.authority.display(),
        admin.certificate.display(),
        admin.key.display(),
    )
}

/// Ports that nobody listens on now. All are held until the last is found, so that no two are the same.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners: [TcpListener; N] =
        std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("an address").port())
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[cfg(test)]
mod tests;
