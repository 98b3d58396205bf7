//! The end of a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_rustls::client::TlsStream;
use usher::engine::{Decision, Query, Request};
use usher::webhook::{DrainSettings, Stage};

use super::client::{Client, config, connect_with, review};
use super::server::{Decide, Server, Settings, allow};

const SHORT: DrainSettings =
    DrainSettings { window: Duration::from_millis(600), grace: Duration::from_secs(5) };

/// Has the server drained as by signals, which are sent through the channel.
fn conduct(server: &Server, settings: DrainSettings) -> mpsc::Sender<&'static str> {
    let (tx, rx) = mpsc::channel(2);
    let switch = Arc::clone(&server.switch);
    // Ends with the test's runtime.
    tokio::spawn(async move { switch.conduct(rx, settings).await });
    tx
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_answers_everyone_and_closes_idle_connections_last() {
    let server = Server::start(Decide(|request: &Request<'_>, _: &Query<'_>| {
        if request.uid == "slow" {
            std::thread::sleep(Duration::from_millis(1_500));
        }
        Decision::default()
    }))
    .await;
    let signals = conduct(&server, SHORT);
    let mut idle = server.connect().await;
    let answer = idle.post("/mutate", review("before")).await.unwrap();
    assert_eq!(answer.header("connection"), None);
    let mut busy = server.connect().await;
    busy.post("/mutate", review("before")).await.unwrap();
    let mut slow = server.connect().await;
    let slow = tokio::spawn(async move { slow.post("/mutate", review("slow")).await.unwrap() });
    tokio::time::sleep(Duration::from_millis(100)).await;

    let start = Instant::now();
    signals.send("SIGTERM").await.unwrap();
    let mut drain = server.drain.clone();
    drain.reached(Stage::Draining).await;
    // On an open connection and on a new one: answered, and told to go.
    let answer = busy.post("/mutate", review("u")).await.unwrap();
    assert_eq!((&answer.response()["uid"], answer.header("connection")), (&"u".into(), Some("close")));
    assert!(busy.is_closed_within(Duration::from_secs(1)).await);
    let answer = server.post("/validate", review("v")).await;
    assert_eq!((&answer.response()["uid"], answer.header("connection")), (&"v".into(), Some("close")));
    // Whoever is idle is left alone for the window.
    assert!(!idle.is_closed_within(Duration::from_millis(300)).await);
    assert!(idle.is_closed_within(Duration::from_secs(3)).await);
    assert!(start.elapsed() >= SHORT.window);
    assert!(TcpStream::connect(server.address).await.is_err());
    assert_eq!(slow.await.unwrap().response()["uid"], "slow");
    assert_eq!(server.ended().await, 0);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_server_with_idle_connections_only_ends_a_second_after_the_window() {
    let server = Server::start(allow()).await;
    let signals = conduct(&server, SHORT);
    let mut clients = Vec::new();
    for _ in 0..10 {
        let mut client = server.connect().await;
        client.post("/mutate", review("u")).await.unwrap();
        clients.push(client);
    }
    // Half of them notice the end and close, as clients do; the others never look.
    let watched = clients.split_off(5);
    for mut client in watched {
        tokio::spawn(async move { client.is_closed_within(Duration::from_secs(10)).await });
    }
    let start = Instant::now();
    signals.send("SIGTERM").await.unwrap();
    assert_eq!(server.ended().await, 0);
    assert!(start.elapsed() < SHORT.window + Duration::from_millis(1_900), "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_within_a_second() {
    let server = Server::start(Decide(|request: &Request<'_>, _: &Query<'_>| {
        if request.uid == "slow" {
            std::thread::sleep(Duration::from_millis(500));
        }
        Decision::default()
    }))
    .await;
    let signals = conduct(&server, DrainSettings::default());
    let mut slow = server.connect().await;
    let slow = tokio::spawn(async move { slow.post("/mutate", review("slow")).await.unwrap() });
    let mut stuck = server.connect().await;
    stuck.send("POST /mutate HTTP/1.1\r\nContent-Length: 100\r\n\r\n{").await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let start = Instant::now();
    signals.send("SIGTERM").await.unwrap();
    signals.send("SIGINT").await.unwrap();
    assert_eq!(slow.await.unwrap().response()["uid"], "slow");
    assert_eq!(server.ended().await, 1, "the body that never came");
    assert!(start.elapsed() < Duration::from_millis(1_800), "{:?}", start.elapsed());
}

/// A keep-alive client with the habits of Go's: it keeps a connection until it is told that it ends, and a request that was written
/// is never sent twice.
struct Pool {
    targets: Arc<Targets>,
    connection: Option<Client<TlsStream<TcpStream>>>,
}

/// Who serves now; a load balancer's view, which lags.
struct Targets {
    current: std::sync::Mutex<Vec<(std::net::SocketAddr, tokio_rustls::rustls::ClientConfig)>>,
    next: AtomicUsize,
}

impl Targets {
    fn pick(&self) -> (std::net::SocketAddr, tokio_rustls::rustls::ClientConfig) {
        let current = self.current.lock().unwrap();
        current[self.next.fetch_add(1, Relaxed) % current.len()].clone()
    }
}

impl Pool {
    async fn request(&mut self) -> Result<(), String> {
        let mut client = match self.connection.take() {
            Some(client) => client,
            None => {
                let (address, config) = self.targets.pick();
                Client::new(connect_with(address, config).await.map_err(|error| format!("connect: {error}"))?)
            }
        };
        let answer =
            client.post("/mutate", review("u")).await.map_err(|error| format!("exchange: {error}"))?;
        assert_eq!(answer.response()["allowed"], true);
        if answer.header("connection") != Some("close") {
            self.connection = Some(client);
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rolling_restarts_under_load_fail_no_request() {
    const LAG: Duration = Duration::from_millis(150);
    let settings = DrainSettings { window: LAG * 2, grace: Duration::from_secs(10) };
    let mut servers = std::collections::VecDeque::new();
    for _ in 0..3 {
        servers.push_back(Server::start(allow()).await);
    }
    let target = |server: &Server| (server.address, config(server.authority()));
    let targets = Arc::new(Targets {
        current: std::sync::Mutex::new(servers.iter().map(target).collect()),
        next: AtomicUsize::new(0),
    });
    let stop = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for n in 0..16_u64 {
        let (stop, targets) = (Arc::clone(&stop), Arc::clone(&targets));
        clients.spawn(async move {
            let mut pool = Pool { targets, connection: None };
            let (mut answered, mut failed) = (0, Vec::new());
            while !stop.load(Relaxed) {
                match pool.request().await {
                    Ok(()) => answered += 1,
                    Err(error) => failed.push(error),
                }
                tokio::time::sleep(Duration::from_micros(200 + n * 700)).await;
            }
            (answered, failed)
        });
    }
    for _ in 0..8 {
        // The replacement is ready first; then the old one is told to go, and some time later nobody is sent to it any more.
        let new = Server::with(allow(), Settings::default()).await;
        targets.current.lock().unwrap().push(target(&new));
        servers.push_back(new);
        let old = servers.pop_front().unwrap();
        let signals = conduct(&old, settings);
        signals.send("SIGTERM").await.unwrap();
        tokio::time::sleep(LAG).await;
        targets.current.lock().unwrap().retain(|(address, _)| *address != old.address);
        assert_eq!(old.ended().await, 0);
    }
    stop.store(true, Relaxed);
    let (mut answered, mut failed) = (0, Vec::new());
    while let Some(ended) = clients.join_next().await {
        let (some, errors) = ended.unwrap();
        answered += some;
        failed.extend(errors);
    }
    assert!(answered > 1_000, "{answered}");
    assert!(failed.is_empty(), "{} of {answered} failed: {:?}", failed.len(), &failed[..failed.len().min(5)]);
    for server in servers {
        server.stop().await;
    }
}
