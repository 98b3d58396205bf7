//! A process that runs out of file descriptors.

use std::process::Command;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::child::{RULE, Server};
use super::client::{Client, config, connect_with, review};

fn limit_descriptors(server: &Server, count: usize) {
    let limit = format!("--nofile={count}:");
    let id = server.id().to_string();
    assert!(Command::new("prlimit").args(["--pid", &id, &limit]).status().unwrap().success());
}

/// Processor time that the process has had, in the kernel's ticks of 10 ms.
fn ticks(server: &Server) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.id())).unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

async fn metric(admin: &mut Client<TcpStream>, name: &str) -> f64 {
    let answer = admin.exchange("GET /metrics HTTP/1.1\r\nHost: admin\r\n\r\n").await.text();
    let value = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

async fn connect(server: &Server) -> std::io::Result<Client<TlsStream<TcpStream>>> {
    Ok(Client::new(connect_with(server.webhook, config(server.authority.clone())).await?))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_file_descriptors_it_waits_without_spinning_and_recovers() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), RULE, &[]);
    let mut admin = Client::new(TcpStream::connect(server.admin).await.unwrap());
    let mut healthy = connect(&server).await.unwrap();
    assert_eq!(healthy.post("/validate", review("u")).await.unwrap().response()["allowed"], true);
    assert_eq!(metric(&mut admin, "usher_webhook_accept_errors_total").await, 0.0);

    let open = std::fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count();
    limit_descriptors(&server, open + 3);
    let mut peers = Vec::new();
    for _ in 0..20 {
        peers.push(TcpStream::connect(server.webhook).await.unwrap());
    }
    let end = Instant::now() + Duration::from_secs(10);
    while metric(&mut admin, "usher_webhook_accept_errors_total").await < 2.0 {
        assert!(Instant::now() < end, "it never ran out");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let before = ticks(&server);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(ticks(&server) - before < 50, "it spins");
    assert!(metric(&mut admin, "usher_webhook_accept_errors_total").await < 40.0);
    assert_eq!(healthy.post("/validate", review("u")).await.unwrap().response()["allowed"], true);

    drop(peers);
    limit_descriptors(&server, open + 200);
    let end = Instant::now() + Duration::from_secs(10);
    let mut fresh = loop {
        match connect(&server).await {
            Ok(fresh) => break fresh,
            Err(error) => assert!(Instant::now() < end, "it did not recover: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(fresh.post("/validate", review("v")).await.unwrap().response()["uid"], "v");
}
