//! A process with little memory, and reviews that want much.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinSet;
use tokio_rustls::rustls::pki_types::CertificateDer;

use super::child::Server;
use super::client::{Answer, Client, config, connect_with, review_with};

const MIB: usize = 1 << 20;
const LIMIT: usize = 128 * MIB;
const AT_A_TIME: usize = 64;

/// Looks into every object, so that each is read into a document.
const RULE: &str = "
apiVersion: usher.dev/v1alpha1
kind: RoutingRule
metadata: {name: items}
spec:
  match:
    resourceRules: [{apiGroups: [\"\"], apiVersions: [v1], resources: [configmaps], operations: [\"*\"]}]
  routes:
  - {name: many, predicate: \"object.items.size() > 1000\", reject: {message: too many}}
";

/// Sends the review and reads the answer at the same time, as the API server does: it comes early when there is no room for the review.
async fn post(address: SocketAddr, authority: CertificateDer<'static>, body: String) -> Answer {
    let (read, mut write) = tokio::io::split(connect_with(address, config(authority)).await.unwrap());
    let head = format!(
        "POST /validate?timeout=20s HTTP/1.1\r\nHost: usher\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let writing = tokio::spawn(async move {
        let _ = write.write_all(head.as_bytes()).await;
        let _ = write.write_all(body.as_bytes()).await;
        let _ = write.flush().await;
        write
    });
    let answer = Client::new(tokio::io::join(read, tokio::io::sink())).answer().await.unwrap();
    writing.abort();
    answer
}

/// A review of a ConfigMap of 3 MiB whose `items` are what is repeated.
fn hostile(item: &str) -> String {
    let count = 3 * MIB / (item.len() + 1) - 40;
    let items = vec![item; count].join(",");
    review_with(
        "hostile",
        &format!(
            r#""operation":"CREATE","resource":{{"group":"","version":"v1","resource":"configmaps"}},"object":{{"items":[{items}]}}"#
        ),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_hostile_reviews_of_3_mib_at_a_time_fit_into_128_mib() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), RULE, &["--memory-limit=128Mi"]);
    let idle = server.peak();
    for (item, code) in [
        (r#""a string of thirty characters.""#, 403),
        // 41 and 75 MB as documents: more than one review gets here, and the answer says so.
        (r#"{"a":0}"#, 422),
        ("0", 422),
    ] {
        let body = hostile(item);
        let (mut answered, mut sent_away) = (0, 0);
        let mut calls = JoinSet::new();
        for _ in 0..AT_A_TIME {
            let (address, authority, body) = (server.webhook, server.authority.clone(), body.clone());
            calls.spawn(async move {
                // As the API server does: again, when it is told to.
                let mut sent_away = 0;
                let end = Instant::now() + Duration::from_secs(120);
                loop {
                    let answer = post(address, authority.clone(), body.clone()).await;
                    if answer.status != 429 {
                        return (answer, sent_away);
                    }
                    assert!(matches!(answer.header("retry-after"), Some("1" | "2")));
                    assert!(Instant::now() < end, "never answered");
                    sent_away += 1;
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            });
        }
        while let Some(ended) = calls.join_next().await {
            let (answer, times) = ended.unwrap();
            let response = answer.assert_denied("hostile", code);
            let message = response["status"]["message"].as_str().unwrap();
            let expected =
                if code == 403 { "too many" } else { "needs more memory than one request may use" };
            assert!(message.contains(expected), "{message}");
            answered += 1;
            sent_away += times;
        }
        println!(
            "{item}: {answered} answered, {sent_away} sent away; peak {} MiB, idle {} MiB",
            server.peak() / MIB,
            idle / MIB
        );
        assert_eq!(answered, AT_A_TIME);
        assert!(sent_away > 0, "the budget was never used up");
    }
    assert!(server.peak() < LIMIT, "{} MiB", server.peak() / MIB);
    let mut probe = Client::new(tokio::net::TcpStream::connect(server.admin).await.unwrap());
    assert_eq!(probe.exchange("GET /livez HTTP/1.1\r\nHost: admin\r\n\r\n").await.status, 200);
}
