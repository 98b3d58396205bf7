//! Peers by the thousand who hold connections and say nothing, or hardly anything.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rstest::rstest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::rustls::ClientConfig;

use super::client::{config, connect_with, review};
use super::server::{Server, allow};

const PEERS: usize = 3_000;
/// No connection of such a peer lives longer: 5 s for the handshake, which a loaded machine may take, and 10 s for what comes after it.
/// Another 5 s are the peers' own, who share two threads with the server.
const LIMIT: Duration = Duration::from_secs(5 + 10 + 5);
/// Between two peers. The kernel holds 1,024 connections for the server to accept; what comes on top of them is connected in the eyes of the peer only.
const APART: Duration = Duration::from_micros(500);

#[derive(Clone, Copy, Debug)]
enum Peer {
    /// Connects and says nothing.
    Silent,
    /// Says nothing after the handshake.
    SilentInTls,
    /// Begins a head and says no more.
    PartialHead,
    /// A head, a byte at a time.
    Dripping,
    /// Announces a body and sends its beginning.
    PartialBody,
}

impl Peer {
    /// Plays its part until the server ends it.
    async fn play(self, address: std::net::SocketAddr, config: ClientConfig) -> std::io::Result<()> {
        let mut sink = Vec::new();
        if let Self::Silent = self {
            let mut tcp = TcpStream::connect(address).await?;
            tcp.read_to_end(&mut sink).await?;
            return Ok(());
        }
        let mut tls = connect_with(address, config).await?;
        let said: &[u8] = match self {
            Self::Silent | Self::SilentInTls => b"",
            Self::PartialHead | Self::Dripping => b"POST /mutate HTTP/1.1\r\nHost:",
            Self::PartialBody => b"POST /mutate HTTP/1.1\r\nContent-Length: 100\r\n\r\n{",
        };
        tls.write_all(said).await?;
        tls.flush().await?;
        let (mut read, mut write) = tokio::io::split(tls);
        let drip = async {
            while let Self::Dripping = self {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if write.write_all(b"u").await.is_err() || write.flush().await.is_err() {
                    break;
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = drip => {}
            end = read.read_to_end(&mut sink) => { end?; }
        }
        Ok(())
    }
}

#[rstest]
#[case(Peer::Silent)]
#[case(Peer::SilentInTls)]
#[case(Peer::PartialHead)]
#[case(Peer::Dripping)]
#[case(Peer::PartialBody)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_who_hold_connections_are_closed_while_others_are_served(#[case] peer: Peer) {
    let server = Server::start(allow()).await;
    let mut healthy = server.connect().await;
    healthy.post("/mutate", review("before")).await.unwrap();
    let mut peers = JoinSet::new();
    for number in 0..PEERS {
        let (address, config) = (server.address, config(server.authority()));
        peers.spawn(async move {
            tokio::time::sleep(APART * u32::try_from(number).unwrap()).await;
            let start = Instant::now();
            // Refused, cut or answered: all that counts is that it is over.
            let _ = peer.play(address, config).await;
            start.elapsed()
        });
    }
    let mut took = Vec::new();
    while !peers.is_empty() {
        let start = Instant::now();
        let answer = healthy.post("/mutate", review("u")).await.unwrap();
        assert_eq!(answer.response()["allowed"], true);
        took.push(start.elapsed());
        let pause = tokio::time::sleep(Duration::from_millis(10));
        tokio::pin!(pause);
        loop {
            tokio::select! {
                () = &mut pause => break,
                Some(ended) = peers.join_next() => {
                    let elapsed = ended.unwrap();
                    assert!(elapsed < LIMIT, "{peer:?}: {elapsed:?}");
                }
                else => break,
            }
        }
    }
    took.sort();
    println!("{peer:?}: {} healthy requests, 99% within {:?}", took.len(), took[took.len() * 99 / 100]);
    // And a new one finds a place again.
    let fresh = Arc::new(server);
    assert_eq!(fresh.post("/mutate", review("after")).await.response()["allowed"], true);
    assert!(fresh.metric("usher_webhook_connections_refused_total", &[]) > 0.0, "the cap was not reached");
    assert_eq!(fresh.metric("usher_webhook_connection_panics_total", &[]), 0.0);
    drop(healthy);
    Arc::into_inner(fresh).unwrap().stop().await;
}
