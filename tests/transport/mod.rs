//! Replicas under load from the API server's own client code, which `main.go` drives.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use usher::engine::{Decision, Query, Request};
use usher::telemetry::Gate;
use usher::webhook::tls::{CertFiles, self_signed};
use usher::webhook::{Admit, BodyLimits, DrainSettings};

use crate::webhook::server::{Decide, Server, Settings, allow, bodies};

/// How long the load goes on to a replica after it was told to end: what Endpoints take to get around.
const LAG: Duration = Duration::from_millis(200);
const RESTARTS: usize = 40;
const REQUESTS: usize = 50_000;

/// Builds the client if it is not there, and says where it is.
fn binary() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transport/build.sh");
    let built = Command::new(&script).stderr(Stdio::inherit()).output().unwrap();
    assert!(built.status.success(), "{} failed: {}", script.display(), built.status);
    PathBuf::from(String::from_utf8(built.stdout).unwrap().trim_end())
}

/// What became of all requests.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    outcomes: BTreeMap<String, u64>,
    examples: BTreeMap<String, String>,
    slowest_millis: u64,
    late: u64,
}

impl Summary {
    fn count(&self, outcome: &str) -> u64 {
        self.outcomes.get(outcome).copied().unwrap_or(0)
    }

    /// Every request has got the answer of this kind.
    #[track_caller]
    fn assert_only(&self, outcome: &str) {
        assert!(self.examples.is_empty(), "{self:?}");
        assert_eq!(self.outcomes.keys().collect::<Vec<_>>(), [outcome], "{self:?}");
    }
}

/// The load.
struct Load {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Load {
    fn start(authority: &Path, more: &[&str]) -> Self {
        let mut child = tokio::process::Command::new(binary())
            .arg("-ca")
            .arg(authority)
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, output }
    }

    /// New connections go to these.
    async fn endpoints(&mut self, addresses: impl IntoIterator<Item = SocketAddr>) {
        let line: Vec<_> = addresses.into_iter().map(|address| address.to_string()).collect();
        self.input.write_all(format!("{}\n", line.join(" ")).as_bytes()).await.unwrap();
    }

    /// Waits until the requests that were asked for are made.
    async fn enough(&mut self) {
        assert_eq!(self.output.next_line().await.unwrap().as_deref(), Some("enough"));
    }

    async fn stop(mut self) -> Summary {
        self.input.write_all(b"stop\n").await.unwrap();
        let mut last = String::new();
        while let Some(line) = self.output.next_line().await.unwrap() {
            last = line;
        }
        assert!(self.child.wait().await.unwrap().success());
        serde_json::from_str(&last).unwrap()
    }
}

/// Replicas with one certificate.
struct Replicas {
    directory: tempfile::TempDir,
    files: CertFiles,
}

impl Replicas {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let files = self_signed(directory.path()).unwrap();
        Self { directory, files }
    }

    fn authority(&self) -> PathBuf {
        self.directory.path().join("ca.crt")
    }

    async fn start(&self, admit: impl Admit, settings: Settings) -> Server {
        Server::with(admit, Settings { files: Some(self.files.clone()), ..settings }).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_rolling_restarts_fail_none_of_fifty_thousand_requests() {
    let replicas = Replicas::new();
    let mut serving = VecDeque::new();
    for _ in 0..3 {
        serving.push_back(replicas.start(allow(), Settings::default()).await);
    }
    let least = REQUESTS.to_string();
    let mut load = Load::start(&replicas.authority(), &["-workers=24", "-pause=4ms", "-least", &least]);
    load.endpoints(serving.iter().map(|server| server.address)).await;
    let settings = DrainSettings { window: LAG * 2, grace: Duration::from_secs(20) };
    let mut ending = JoinSet::new();
    for _ in 0..RESTARTS {
        // The new one is ready before the old one is told to go; who is sent where follows later.
        serving.push_back(replicas.start(allow(), Settings::default()).await);
        load.endpoints(serving.iter().map(|server| server.address)).await;
        let old = serving.pop_front().unwrap();
        let (signals, received) = mpsc::channel(1);
        let switch = Arc::clone(&old.switch);
        tokio::spawn(async move { switch.conduct(received, settings).await });
        signals.send("SIGTERM").await.unwrap();
        tokio::time::sleep(LAG).await;
        load.endpoints(serving.iter().map(|server| server.address)).await;
        ending.spawn(async move {
            let cut = old.ended().await;
            drop(signals);
            cut
        });
        // In a real roll, each replica serves for a while before its turn comes.
        tokio::time::sleep(LAG * 2).await;
    }
    load.enough().await;
    let summary = load.stop().await;
    println!("{RESTARTS} restarts: {summary:?}");
    summary.assert_only("allowed");
    assert!(summary.count("allowed") >= REQUESTS as u64);
    while let Some(cut) = ending.join_next().await {
        assert_eq!(cut.unwrap(), 0);
    }
    for server in serving {
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_away_for_want_of_rules_or_memory_is_retried_until_it_is_answered() {
    let replicas = Replicas::new();
    let rules = Gate::default();
    // Room for two of these reviews at a time, for eight callers.
    let tight = bodies(BodyLimits { max_bytes: 200_000, max_total_bytes: 300_000, ..BodyLimits::default() });
    let settings = Settings { rules: Some(rules.clone()), reviews: tight, ..Settings::default() };
    let server = replicas.start(allow(), settings).await;
    let object = replicas.directory.path().join("pod.json");
    let annotation = "x".repeat(90_000);
    let pod = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web","annotations":{{"a":"{annotation}"}}}}}}"#
    );
    std::fs::write(&object, pod).unwrap();
    let object = object.to_str().unwrap();
    let mut load = Load::start(
        &replicas.authority(),
        &["-workers=8", "-pause=1ms", "-timeout=30s", "-least=400", "-object", object],
    );
    load.endpoints([server.address]).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    rules.open();
    load.enough().await;
    let summary = load.stop().await;
    println!("{summary:?}");
    summary.assert_only("allowed");
    assert!(summary.late >= 8, "every caller waited at least once: {summary:?}");
    assert!(server.metric("usher_admission_shed_total", &["not_ready"]) >= 8.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_servers_own_checks_take_every_answer() {
    let replicas = Replicas::new();
    let server = replicas
        .start(
            Decide(|_: &Request<'_>, _: &Query<'_>| -> Decision { panic!("a defect") }),
            Settings::default(),
        )
        .await;
    for path in ["/validate", "/mutate"] {
        let more = ["-workers=2", "-least=50", "-path", path];
        let mut load = Load::start(&replicas.authority(), &more);
        load.endpoints([server.address]).await;
        load.enough().await;
        load.stop().await.assert_only("denied");
    }
    // A loopback URL, for which the API server offers HTTP/2: HTTP/1.1 is what they agree on.
    let url = format!("https://localhost:{}/validate/fail", server.address.port());
    let mut load = Load::start(&replicas.authority(), &["-workers=2", "-least=50", "-url", &url]);
    load.endpoints([]).await;
    load.enough().await;
    let summary = load.stop().await;
    summary.assert_only("denied");
    assert!(summary.slowest_millis < 10_000);
    server.stop().await;
}
