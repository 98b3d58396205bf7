//! Peers that are slow, silent, many, or speak something else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rstest::rstest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::rustls::{self, ClientConfig};
use usher::webhook::{BodyLimits, ConnectionLimits};

use super::client::{Client, config, connect_with, review};
use super::server::{Server, Settings, allow, bodies};

/// The server's deadlines, short enough to be waited for.
fn impatient() -> Settings {
    Settings {
        connections: ConnectionLimits {
            handshake_timeout: Duration::from_millis(500),
            head_timeout: Duration::from_millis(600),
            idle_timeout: Duration::from_secs(3),
            ..ConnectionLimits::default()
        },
        reviews: bodies(BodyLimits { timeout: Duration::from_millis(700), ..BodyLimits::default() }),
        ..Settings::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_and_slow_peers_are_closed_while_others_are_served() {
    let server = Arc::new(Server::with(allow(), impatient()).await);
    let mut peers = JoinSet::new();
    for n in 0..60 {
        let server = Arc::clone(&server);
        peers.spawn(async move {
            let start = Instant::now();
            let mut sink = Vec::new();
            match n % 5 {
                // Says nothing at all.
                0 => {
                    let mut tcp = TcpStream::connect(server.address).await.unwrap();
                    let _ = tcp.read_to_end(&mut sink).await;
                }
                // Begins a handshake.
                1 => {
                    let mut tcp = TcpStream::connect(server.address).await.unwrap();
                    tcp.write_all(&[0x16, 3, 1, 2, 0, 1, 0]).await.unwrap();
                    let _ = tcp.read_to_end(&mut sink).await;
                }
                // Says nothing after the handshake.
                2 => {
                    let mut client = server.connect().await;
                    let _ = client.stream.read_to_end(&mut sink).await;
                }
                // Says its head a byte at a time.
                3 => {
                    let client = server.connect().await;
                    let (mut read, mut write) = tokio::io::split(client.stream);
                    let drip = async {
                        for byte in b"POST /mutate HTTP/1.1\r\nHost: usher\r\n" {
                            if write.write_all(&[*byte]).await.is_err() || write.flush().await.is_err() {
                                break;
                            }
                            tokio::time::sleep(Duration::from_millis(100)).await;
                        }
                    };
                    tokio::select! {
                        () = drip => panic!("the head was never cut"),
                        _ = read.read_to_end(&mut sink) => {}
                    }
                }
                // Stops in the middle of its body.
                _ => {
                    let mut client = server.connect().await;
                    client.send("POST /mutate HTTP/1.1\r\nContent-Length: 100\r\n\r\n{").await.unwrap();
                    let answer = client.answer().await.unwrap();
                    assert_eq!(answer.status, 408);
                    assert_eq!(answer.header("connection"), Some("close"));
                    let _ = client.stream.read_to_end(&mut sink).await;
                }
            }
            start.elapsed()
        });
    }
    // Meanwhile, a patient client is served again and again.
    let mut healthy = server.connect().await;
    while !peers.is_empty() {
        assert_eq!(healthy.post("/mutate", review("u")).await.unwrap().response()["allowed"], true);
        tokio::select! {
            Some(ended) = peers.join_next() => {
                let elapsed = ended.unwrap();
                assert!(elapsed < Duration::from_millis(2_500), "{elapsed:?}");
            }
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
    }
    drop(healthy);
    assert_eq!(server.metric("usher_tls_handshakes_total", &["timeout"]), 24.0);
    assert_eq!(server.metric("usher_webhook_connections_ended_total", &["head_timeout"]), 24.0);
    assert_eq!(server.metric("usher_admission_refused_total", &["body_timeout"]), 12.0);
    Arc::into_inner(server).unwrap().stop().await;
}

#[tokio::test]
async fn a_slow_body_with_a_uid_is_denied_with_it() {
    let server = Server::with(allow(), impatient()).await;
    let mut client = server.connect().await;
    let body = review("slow");
    let head = format!("POST /mutate HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len() + 10);
    let answer = client.exchange(format!("{head}{body}")).await;
    answer.assert_denied("slow", 408);
    assert_eq!(answer.header("connection"), Some("close"));
    server.stop().await;
}

#[tokio::test]
async fn a_connection_is_kept_while_idle_for_longer_than_a_head_may_take() {
    let server = Server::with(allow(), impatient()).await;
    let mut client = server.connect().await;
    for _ in 0..2 {
        assert_eq!(client.post("/mutate", review("u")).await.unwrap().response()["uid"], "u");
        tokio::time::sleep(Duration::from_millis(1_500)).await;
    }
    // The next head gets its full time: the deadline counts from its first byte.
    client.send("POST /mutate HTTP/1.1\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let body = review("late");
    let answer = client.exchange(format!("Content-Length: {}\r\n\r\n{body}", body.len())).await;
    assert_eq!(answer.response()["uid"], "late");
    assert!(!client.is_closed_within(Duration::from_millis(2_500)).await);
    assert!(client.is_closed_within(Duration::from_secs(2)).await);
    drop(client);
    let counted = async {
        while server.metric("usher_webhook_connections_ended_total", &["idle_timeout"]) == 0.0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), counted).await.unwrap();
    server.stop().await;
}

#[test]
fn idle_connections_outlive_those_of_the_api_server() {
    assert!(ConnectionLimits::default().idle_timeout >= Duration::from_secs(120));
    assert!(ConnectionLimits::default().handshake_timeout <= Duration::from_secs(5));
}

#[rstest]
#[case::plain_http(b"GET / HTTP/1.1\r\nHost: usher\r\n\r\n".to_vec(), "not_tls")]
#[case::sslv2(vec![0x80, 0x2e, 0x01, 0x00, 0x02, 0x00, 0x15, 0x00, 0x00, 0x00, 0x10, 0x01, 0x00, 0x80], "not_tls")]
#[case::zeros(vec![0; 100], "not_tls")]
#[case::endless_hello([&[0x16, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff][..], &vec![7; 0x4000]].concat(), "not_tls")]
#[tokio::test]
async fn what_is_no_tls_is_closed_and_counted(#[case] bytes: Vec<u8>, #[case] result: &str) {
    let server = Server::with(allow(), impatient()).await;
    let mut tcp = TcpStream::connect(server.address).await.unwrap();
    let _ = tcp.write_all(&bytes).await;
    let mut sink = Vec::new();
    let _ = tcp.read_to_end(&mut sink).await;
    drop(tcp);
    let counted = server.metric("usher_tls_handshakes_total", &[result])
        + server.metric("usher_tls_handshakes_total", &["protocol"])
        + server.metric("usher_tls_handshakes_total", &["timeout"]);
    assert_eq!(counted, 1.0);
    assert_eq!(server.post("/mutate", review("u")).await.response()["allowed"], true);
    assert_eq!(server.metric("usher_webhook_connection_panics_total", &[]), 0.0);
    server.stop().await;
}

#[tokio::test]
async fn a_hello_in_pieces_is_put_together() {
    let server = Server::start(allow()).await;
    // A transport that sends single bytes makes each TLS record arrive in pieces.
    let tcp = TcpStream::connect(server.address).await.unwrap();
    tcp.set_nodelay(true).unwrap();
    let (near, mut far) = tokio::io::duplex(1);
    let relay = tokio::spawn(async move {
        let mut tcp = tcp;
        let _ = tokio::io::copy_bidirectional_with_sizes(&mut far, &mut tcp, 1, 1).await;
    });
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config(server.authority())));
    let mut client = Client::new(connector.connect(name, near).await.unwrap());
    assert_eq!(client.post("/mutate", review("u")).await.unwrap().response()["uid"], "u");
    drop(client);
    relay.await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn tls_1_2_and_1_3_are_spoken_and_nothing_but_http_1_1() {
    let server = Server::start(allow()).await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(server.authority()).unwrap();
        let mut config = ClientConfig::builder_with_protocol_versions(&[version])
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let stream = connect_with(server.address, config).await.unwrap();
        let (_, session) = stream.get_ref();
        assert_eq!(session.protocol_version(), Some(version.version));
        assert_eq!(session.alpn_protocol(), Some(&b"http/1.1"[..]));
        let mut client = Client::new(stream);
        assert_eq!(client.post("/mutate", review("u")).await.unwrap().response()["uid"], "u");
    }
    let mut only_h2 = config(server.authority());
    only_h2.alpn_protocols = vec![b"h2".to_vec()];
    assert!(connect_with(server.address, only_h2).await.is_err());
    assert_eq!(server.metric("usher_tls_handshakes_total", &["incompatible"]), 1.0);
    server.stop().await;
}

#[tokio::test]
async fn connections_over_the_cap_are_refused_and_places_come_back() {
    let connections = ConnectionLimits { max_connections: 2, ..ConnectionLimits::default() };
    let server = Server::with(allow(), Settings { connections, ..Settings::default() }).await;
    let mut first = server.connect().await;
    let second = server.connect().await;
    assert!(connect_with(server.address, config(server.authority())).await.is_err());
    assert_eq!(server.metric("usher_webhook_connections_refused_total", &[]), 1.0);
    assert_eq!(first.post("/mutate", review("u")).await.unwrap().response()["allowed"], true);
    drop(second);
    let again = async {
        while connect_with(server.address, config(server.authority())).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), again).await.unwrap();
    drop(first);
    server.stop().await;
}

#[tokio::test]
async fn requests_that_come_at_once_are_answered_in_order() {
    let server = Server::start(allow()).await;
    let mut client = server.connect().await;
    let requests: String = ["a", "b", "c"]
        .iter()
        .map(|uid| {
            let body = review(uid);
            format!("POST /mutate HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        })
        .collect();
    client.send(requests).await.unwrap();
    for uid in ["a", "b", "c"] {
        assert_eq!(client.answer().await.unwrap().response()["uid"], uid);
    }
    drop(client);
    server.stop().await;
}

#[tokio::test]
async fn a_caller_who_goes_away_in_the_middle_leaves_nothing_behind() {
    let server = Server::start(allow()).await;
    let mut client = server.connect().await;
    client.send("POST /mutate HTTP/1.1\r\nContent-Length: 100\r\n\r\n{").await.unwrap();
    while server.metric("usher_admission_in_flight", &[]) == 0.0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(client);
    let gone = async {
        while server.metric("usher_admission_in_flight", &[]) > 0.0
            || server.metric("usher_tls_connections", &[]) > 0.0
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), gone).await.unwrap();
    let counted = server.metric("usher_admission_cancelled_total", &["mutate"])
        + server.metric("usher_admission_refused_total", &["broken"]);
    assert_eq!(counted, 1.0);
    server.stop().await;
}
