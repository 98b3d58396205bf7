//! Methods, paths, headers, framing.

use std::time::Duration;

use rstest::rstest;

use super::client::review;
use super::server::{Server, Settings, allow};
use usher::telemetry::Gate;

#[rstest]
#[case("GET", "/mutate", 405)]
#[case("PUT", "/validate/fail", 405)]
#[case("DELETE", "/validate", 405)]
#[case("POST", "/", 404)]
#[case("POST", "/mutate/", 404)]
#[case("POST", "/mutate/never", 404)]
#[case("GET", "/metrics", 404)]
#[tokio::test]
async fn only_posts_to_known_paths_are_reviews(
    #[case] method: &str,
    #[case] path: &str,
    #[case] status: u16,
) {
    let server = Server::start(allow()).await;
    let mut client = server.connect().await;
    // A body is announced and never sent: nobody may wait for it.
    let head = format!("{method} {path} HTTP/1.1\r\nHost: usher\r\nContent-Length: 100\r\n\r\n");
    let answer = client.exchange(head).await;
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.header("connection"), Some("close"), "the body was not read");
    if status == 405 {
        assert_eq!(answer.header("allow"), Some("POST"));
    }
    drop(client);
    server.stop().await;
}

#[rstest]
#[case::none("", 200)]
#[case::json("Content-Type: application/json\r\n", 200)]
#[case::charset("Content-Type: application/json; charset=utf-8\r\n", 200)]
#[case::other("Content-Type: text/plain\r\n", 200)]
#[case::no_type("Content-Type: json\r\n", 415)]
#[case::empty("Content-Type:\r\n", 415)]
#[case::odd("Content-Type: a b/c\r\n", 415)]
#[tokio::test]
async fn any_media_type_will_do_but_it_must_be_one(#[case] header: &str, #[case] status: u16) {
    let server = Server::start(allow()).await;
    let mut client = server.connect().await;
    let body = review("u");
    let length = body.len();
    let answer = client
        .exchange(format!(
            "POST /mutate HTTP/1.1\r\nHost: usher\r\n{header}Content-Length: {length}\r\n\r\n{body}"
        ))
        .await;
    assert_eq!(answer.status, status, "{}", answer.text());
    drop(client);
    server.stop().await;
}

#[rstest]
#[case::gzip("Transfer-Encoding: gzip, chunked\r\n")]
#[case::two_lines("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n")]
#[case::twice("Transfer-Encoding: chunked, chunked\r\n")]
#[tokio::test]
async fn transfer_codings_other_than_chunked_are_not_implemented(#[case] header: &str) {
    let server = Server::start(allow()).await;
    let mut client = server.connect().await;
    let head = format!("POST /mutate HTTP/1.1\r\nHost: usher\r\n{header}\r\n");
    let answer = client.exchange(format!("{head}3\r\n\u{1f}x!\r\n0\r\n\r\n")).await;
    assert_eq!((answer.status, answer.header("connection")), (501, Some("close")), "{}", answer.text());
    assert_eq!(server.metric("usher_admission_refused_total", &["transfer_coding"]), 1.0);
    assert_eq!(server.post("/mutate", review("u")).await.response()["allowed"], true);
    drop(client);
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_asks_before_it_sends_is_told_to_go_on() {
    let server = Server::start(allow()).await;
    let mut client = server.connect().await;
    let body = review("u");
    let length = body.len();
    let go_on = client
        .exchange(format!(
            "POST /mutate HTTP/1.1\r\nHost: usher\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
        ))
        .await;
    assert_eq!(go_on.status, 100);
    assert_eq!(client.exchange(body).await.response()["uid"], "u");
    drop(client);
    server.stop().await;
}

#[tokio::test]
async fn a_chunked_review_is_answered_and_ends_its_connection() {
    let server = Server::start(allow()).await;
    let mut client = server.connect().await;
    let body = review("u");
    let (a, b) = body.split_at(40);
    let head = "POST /mutate HTTP/1.1\r\nHost: usher\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer =
        client.exchange(format!("{head}{:x}\r\n{a}\r\n{:x}\r\n{b}\r\n0\r\n\r\n", a.len(), b.len())).await;
    assert_eq!(answer.response()["uid"], "u");
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(client.is_closed_within(Duration::from_secs(2)).await);
    server.stop().await;
}

#[rstest]
#[case::two_lengths("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400)]
#[case::length_list("Content-Length: 5, 6\r\n\r\nhello", 400)]
#[case::negative_length("Content-Length: -5\r\n\r\nhello", 400)]
#[case::unknown_coding("Transfer-Encoding: gzip\r\n\r\nhello", 400)]
#[case::coding_after_chunked("Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 400)]
#[case::bad_chunk("Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400)]
#[case::bad_header("a b: c\r\n\r\n", 400)]
#[tokio::test]
async fn what_could_be_framed_in_two_ways_is_refused_and_the_connection_closed(
    #[case] rest: &str,
    #[case] status: u16,
) {
    let server = Server::start(allow()).await;
    let mut client = server.connect().await;
    let answer = client.exchange(format!("POST /mutate HTTP/1.1\r\nHost: usher\r\n{rest}")).await;
    assert_eq!(answer.status, status);
    assert!(client.is_closed_within(Duration::from_secs(3)).await);
    drop(client);
    server.stop().await;
}

#[tokio::test]
async fn a_length_beside_chunks_cannot_smuggle_a_second_request() {
    let server = Server::start(allow()).await;
    let body = review("u");
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: usher\r\n\r\n";
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n{smuggled}", body.len());
    for headers in [
        format!("Transfer-Encoding: chunked\r\nContent-Length: {}\r\n", chunks.len()),
        format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", chunks.len()),
    ] {
        let mut client = server.connect().await;
        let answer =
            client.exchange(format!("POST /mutate HTTP/1.1\r\nHost: usher\r\n{headers}\r\n{chunks}")).await;
        assert_eq!(answer.header("connection"), Some("close"), "{}", answer.text());
        assert!(client.is_closed_within(Duration::from_secs(3)).await);
    }
    server.stop().await;
}

#[rstest]
#[case::many(&"X-A: b\r\n".repeat(101))]
#[case::long(&format!("X-A: {}\r\n", "b".repeat(64 * 1024)))]
#[tokio::test]
async fn heads_are_bounded(#[case] headers: &str) {
    let server = Server::start(allow()).await;
    let mut client = server.connect().await;
    let answer = client.exchange(format!("POST /mutate HTTP/1.1\r\n{headers}\r\n")).await;
    assert_eq!(answer.status, 431);
    assert!(client.is_closed_within(Duration::from_secs(3)).await);
    server.stop().await;
}

#[tokio::test]
async fn ninety_headers_and_a_32_kib_token_are_no_problem() {
    let server = Server::start(allow()).await;
    let mut client = server.connect().await;
    let headers = format!("{}Authorization: Bearer {}\r\n", "X-A: b\r\n".repeat(90), "t".repeat(32 * 1024));
    let body = review("u");
    let length = body.len();
    let answer = client
        .exchange(format!("POST /mutate HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n{body}"))
        .await;
    assert_eq!(answer.response()["allowed"], true);
    drop(client);
    server.stop().await;
}

#[tokio::test]
async fn callers_who_come_before_the_rules_are_asked_to_come_back() {
    let rules = Gate::default();
    let settings = Settings { rules: Some(rules.clone()), ..Settings::default() };
    let server = Server::with(allow(), settings).await;
    let answer = server.post("/validate", review("u")).await;
    assert_eq!(answer.status, 503);
    assert!(matches!(answer.header("retry-after"), Some("1" | "2")));
    rules.open();
    assert_eq!(server.post("/validate", review("u")).await.response()["allowed"], true);
    assert_eq!(server.metric("usher_admission_shed_total", &["not_ready"]), 1.0);
    server.stop().await;
}
