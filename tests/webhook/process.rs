//! The whole of what `usher serve` runs, in this process.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use prometheus::Registry;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use usher::cli::serve::{Addresses, Deciding, Process};
use usher::engine::{Decision, Query, Request};
use usher::telemetry::Gate;
use usher::webhook::{Admit, ServerArgs};

use super::client::{Answer, Client, config, connect_with, review};
use super::server::{Decide, allow};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    server: ServerArgs,
}

struct Running {
    addresses: Addresses,
    authority: CertificateDer<'static>,
    rules: Gate,
    signals: mpsc::Sender<&'static str>,
    ended: JoinHandle<Result<(), String>>,
}

fn args(directory: &Path, more: &[&str]) -> ServerArgs {
    let directory = directory.to_str().unwrap();
    let fixed = [
        "usher",
        "--bind=127.0.0.1:0",
        "--admin-bind=127.0.0.1:0",
        "--drain-window=1s",
        "--tls-self-signed",
        directory,
    ];
    Command::try_parse_from(fixed.iter().chain(more)).unwrap().server
}

async fn start(directory: &Path, admit: impl Admit) -> Running {
    let rules = Gate::default();
    let follow = std::future::pending::<()>();
    let deciding = Deciding { admit, rules: rules.clone(), follow };
    let process = Process::prepare(args(directory, &[]), Registry::new(), deciding).unwrap();
    let (signals, received) = mpsc::channel(2);
    let (bound, addresses) = oneshot::channel();
    let ended = tokio::spawn(async move {
        let forward = std::future::pending::<()>();
        let served = process.serve(received, forward, |addresses| bound.send(addresses).unwrap()).await;
        served.map_err(|error| format!("{error:#}"))
    });
    let authority = CertificateDer::from_pem_file(directory.join("ca.crt")).unwrap();
    Running { addresses: addresses.await.unwrap(), authority, rules, signals, ended }
}

async fn get(address: SocketAddr, path: &str) -> Answer {
    let mut client = Client::new(TcpStream::connect(address).await.unwrap());
    client.exchange(format!("GET {path} HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n")).await
}

impl Running {
    async fn admin(&self, path: &str) -> Answer {
        get(self.addresses.admin, path).await
    }

    async fn connect(&self) -> Client<TlsStream<TcpStream>> {
        let config = config(self.authority.clone());
        Client::new(connect_with(self.addresses.webhook, config).await.unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_follows_the_life_of_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let running = start(directory.path(), allow()).await;
    assert_eq!(running.admin("/livez").await.status, 200);
    let answer = running.admin("/readyz").await;
    assert_eq!(answer.status, 503);
    assert!(answer.text().contains("[-]rules failed: not loaded yet"), "{}", answer.text());

    running.rules.open();
    assert_eq!(running.admin("/readyz").await.status, 200);
    let mut client = running.connect().await;
    assert_eq!(client.post("/validate", review("u")).await.unwrap().response()["allowed"], true);
    let metrics = running.admin("/metrics").await;
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4"));
    for line in [
        r#"usher_admission_requests_total{decision="allow",operation="CREATE",webhook="validate"} 1"#,
        "usher_webhook_panics_total 0",
        r#"usher_tls_handshakes_total{result="success"} 1"#,
    ] {
        assert!(metrics.text().contains(line), "{line} is not in\n{}", metrics.text());
    }
    let series = metrics.text().lines().filter(|line| !line.starts_with('#')).count();
    assert!(series < 1000, "{series} series before the first rule");

    running.signals.send("SIGTERM").await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let answer = running.admin("/readyz?verbose").await;
    assert_eq!(answer.status, 503);
    assert!(answer.text().contains("[-]shutdown failed: the server is draining"), "{}", answer.text());
    assert_eq!(running.admin("/livez").await.status, 200);
    assert_eq!(client.post("/validate", review("u")).await.unwrap().header("connection"), Some("close"));
    assert_eq!(running.ended.await.unwrap(), Ok(()));
    assert!(TcpStream::connect(running.addresses.admin).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_are_answered_while_every_worker_is_busy() {
    let directory = tempfile::tempdir().unwrap();
    let slow = Decide(|_: &Request<'_>, _: &Query<'_>| {
        std::thread::sleep(Duration::from_millis(1500));
        Decision::default()
    });
    let running = start(directory.path(), slow).await;
    running.rules.open();
    let admin = running.addresses.admin;
    // On a thread of its own: this runtime's workers are those that will be busy.
    let probe = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let start = std::time::Instant::now();
        let status = runtime.block_on(get(admin, "/readyz")).status;
        (status, start.elapsed())
    });
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let mut client = running.connect().await;
        requests.spawn(async move { client.post("/validate", review("u")).await.unwrap().response() });
    }
    while let Some(response) = requests.join_next().await {
        assert_eq!(response.unwrap()["allowed"], true);
    }
    let (status, elapsed) = probe.join().unwrap();
    assert_eq!(status, 200);
    assert!(elapsed < Duration::from_millis(500), "{elapsed:?}");
    running.signals.send("SIGTERM").await.unwrap();
    running.signals.send("SIGTERM").await.unwrap();
    assert_eq!(running.ended.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn what_cannot_be_had_names_its_flag() {
    let directory = tempfile::tempdir().unwrap();
    let deciding =
        || Deciding { admit: allow(), rules: Gate::opened(), follow: std::future::pending::<()>() };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    for flag in ["--bind", "--admin-bind"] {
        let mut args = args(directory.path(), &[]);
        match flag {
            "--bind" => args.bind = address,
            _ => args.admin_bind = address,
        }
        let process = Process::prepare(args, Registry::new(), deciding()).unwrap();
        let (_tx, signals) = mpsc::channel(1);
        let error = process.serve(signals, std::future::pending(), |_| {}).await.unwrap_err();
        assert!(error.to_string().starts_with(&format!("{flag}: cannot listen on {address}")), "{error:#}");
    }
    let mut args = args(directory.path(), &[]);
    args.tls_self_signed = None;
    args.tls_cert = Some(directory.path().join("none.crt"));
    args.tls_key = Some(directory.path().join("none.key"));
    let error = Process::prepare(args, Registry::new(), deciding()).unwrap_err();
    assert!(error.to_string().starts_with("--tls-cert: cannot read "), "{error:#}");
}

#[tokio::test]
async fn the_process_does_not_outlive_what_follows_its_rules() {
    let directory = tempfile::tempdir().unwrap();
    let deciding = Deciding { admit: allow(), rules: Gate::opened(), follow: std::future::ready(()) };
    let process = Process::prepare(args(directory.path(), &[]), Registry::new(), deciding).unwrap();
    let (_tx, signals) = mpsc::channel(1);
    let error = process.serve(signals, std::future::pending(), |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("ended before the server"), "{error:#}");
}

#[tokio::test]
async fn a_rule_whose_variables_nest_as_deep_as_they_may_does_not_end_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let mut variables = vec!["{name: v0, expression: '1'}".to_owned()];
    for i in 1..16 {
        let (open, close) = ("dyn(".repeat(240), ")".repeat(240));
        variables.push(format!("{{name: v{i}, expression: 'dyn({open}variables.v{}{close})'}}", i - 1));
    }
    let rule = format!(
        "apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {{name: deep}}\nspec:\n  match: {{resourceRules: \
         [{{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*']}}]}}\n  variables: [{}]\n  \
         routes: [{{name: r, predicate: 'dyn(variables.v14) == 1', reject: {{message: reached}}}}]\n",
        variables.join(", ")
    );
    let rules = directory.path().join("deep.yaml");
    std::fs::write(&rules, rule).unwrap();
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_usher"))
        .args(["serve", "--bind=127.0.0.1:0", "--admin-bind=127.0.0.1:0", "--log-format=json", "--rules"])
        .args([&rules, &"--tls-self-signed".into(), &directory.path().join("certs")])
        .stderr(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut address = None;
    while let Some(line) = log.next_line().await.unwrap() {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        match line["message"].as_str() {
            Some("listening") => address = Some(line["webhook"].as_str().unwrap().parse().unwrap()),
            Some("rules loaded") => break,
            _ => {}
        }
    }
    let authority = CertificateDer::from_pem_file(directory.path().join("certs/ca.crt")).unwrap();
    let mut client = Client::new(connect_with(address.unwrap(), config(authority)).await.unwrap());
    for _ in 0..2 {
        let response = client.post("/validate", review("u")).await.expect("the process lives");
        assert_eq!(response.assert_denied("u", 403)["status"]["message"], "[deep/r] reached");
    }
}
