//! What is answered to good and bad reviews.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rstest::rstest;
use usher::engine::{Decision, FailurePolicy, Phase, Query, Rejection, Request};
use usher::webhook::BodyLimits;

use super::client::{review, review_with};
use super::server::{Decide, Server, Settings, allow, bodies};

fn rejection(message: &str) -> Rejection {
    Rejection {
        rule: Arc::from("images"),
        route: Some(Arc::from("no-latest")),
        message: message.to_owned(),
        reason: "Invalid",
        code: 422,
        error: None,
    }
}

#[rstest]
#[case::empty("")]
#[case::null("null")]
#[case::list("[]")]
#[case::not_json("hello")]
#[case::no_request(r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}"#)]
#[case::no_uid(
    r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"operation":"CREATE"}}"#
)]
#[case::cut_in_the_uid(r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7"#)]
#[tokio::test]
async fn without_a_uid_the_answer_is_400_and_says_why(#[case] body: &str) {
    let server = Server::start(allow()).await;
    let answer = server.post("/validate", body).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text().starts_with("the AdmissionReview cannot be read: "), "{}", answer.text());
    server.stop().await;
}

#[rstest]
#[case::truncated(r#""operation":"CREATE","object":{"a":[1,2"#)]
#[case::not_a_number(r#""operation":"CREATE","object":{"a":NaN}}}"#)]
#[case::two_objects(r#""operation":"CREATE","object":{},"object":{}}}"#)]
#[case::operation(r#""operation":"PATCH","object":{}}}"#)]
#[case::no_operation(r#""object":{}}}"#)]
#[case::control_character("\"operation\":\"CREATE\",\"name\":\"a\nb\"}}")]
#[case::trailing(r#""operation":"CREATE"}} x"#)]
#[tokio::test]
async fn what_cannot_be_read_to_its_end_is_denied_with_its_uid(#[case] rest: &str) {
    let server = Server::start(allow()).await;
    let body = format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u-1",{rest}"#
    );
    let response = server.post("/validate", body).await.assert_denied("u-1", 400);
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("the AdmissionReview cannot be read: "), "{message}");
    assert_eq!(server.metric("usher_admission_refused_total", &["malformed"]), 1.0);
    server.stop().await;
}

#[tokio::test]
async fn broken_text_in_the_object_is_denied_with_the_uid() {
    let server = Server::start(allow()).await;
    let body = review_with("u", r#""operation":"CREATE","object":{"a":"X"}"#);
    let mut invalid = body.clone().into_bytes();
    let at = body.find('X').unwrap();
    invalid[at] = 0xff;
    server.post("/mutate", invalid).await.assert_denied("u", 400);
    server.post("/mutate", format!("\u{feff}{body}")).await.assert_denied("u", 400);
    // Half of a surrogate pair is legal JSON, and Go reads it too.
    let lone = body.replace('X', r"\ud800");
    assert_eq!(server.post("/mutate", lone).await.response()["allowed"], true);
    server.stop().await;
}

#[tokio::test]
async fn uids_come_back_as_they_were_sent() {
    let server = Server::start(allow()).await;
    for uid in ["705ab4f5-6393-11e8-b7cc-42010a800002", r#"a"b\c"#, "é\u{1f980}\u{1}", &"u".repeat(10 * 1024)]
    {
        assert_eq!(server.post("/mutate", review(uid)).await.response()["uid"], uid);
    }
    server.stop().await;
}

#[tokio::test]
async fn the_older_version_is_answered_in_kind_and_unknown_ones_are_named() {
    let server = Server::start(allow()).await;
    let beta = review("u").replace("admission.k8s.io/v1", "admission.k8s.io/v1beta1");
    let answer = server.post("/mutate", beta).await;
    assert_eq!(answer.response()["allowed"], true);
    assert!(answer.text().contains(r#""apiVersion":"admission.k8s.io/v1beta1""#));

    let newer = review("u").replace("admission.k8s.io/v1", "admission.k8s.io/v2");
    let response = server.post("/mutate", newer).await.assert_denied("u", 400);
    assert!(response["status"]["message"].as_str().unwrap().contains("admission.k8s.io/v2"));

    let sent_back = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":true}}"#;
    server.post("/mutate", sent_back).await.assert_denied("u", 400);
    let other_kind = review("u").replace("AdmissionReview", "ConversionReview");
    server.post("/mutate", other_kind).await.assert_denied("u", 400);
    server.stop().await;
}

#[tokio::test]
async fn large_reviews_are_decided_up_to_the_cap() {
    let server = Server::with(
        Decide(|request: &Request<'_>, _: &Query<'_>| {
            let length = request.object.map_or(0, str::len);
            Decision { warnings: vec![length.to_string()], ..Decision::default() }
        }),
        Settings::default(),
    )
    .await;
    let mut client = server.connect().await;
    for mebibytes in [3, 7, 27] {
        let filler = r"\u003c".repeat(mebibytes * 1024 * 1024 / 6);
        let object = format!(r#"{{"a":"{filler}"}}"#);
        let body = review_with("u", &format!(r#""operation":"CREATE","object":{object}"#));
        let response = client.post("/mutate", body).await.unwrap().response();
        assert_eq!(response["warnings"][0], object.len().to_string());
    }
    drop(client);
    server.stop().await;
}

#[tokio::test]
async fn a_review_over_the_cap_is_denied_with_its_uid_while_it_is_being_sent() {
    let server = Server::start(allow()).await;
    let mut client = server.connect().await;
    let length = 100 * 1024 * 1024;
    let head = format!("POST /validate HTTP/1.1\r\nHost: usher\r\nContent-Length: {length}\r\n\r\n");
    let begin =
        review_with("big", r#""operation":"CREATE","object":{"a":""#).trim_end_matches('}').to_owned();
    client.send(format!("{head}{begin}")).await.unwrap();
    // Pushed in pieces as a client would, reading at the same time; far less than all of it can be needed.
    let (mut read, mut write) = tokio::io::split(client.stream);
    let push = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt as _;
        let piece = vec![b'x'; 64 * 1024];
        let mut sent = 0;
        while sent < length && write.write_all(&piece).await.is_ok() {
            sent += piece.len();
        }
        sent
    });
    let mut received = Vec::new();
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut read, &mut received).await;
    let text = String::from_utf8(received).unwrap();
    let body = text.split_once("\r\n\r\n").unwrap().1;
    let review: serde_json::Value = serde_json::from_str(body).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK") && text.contains("connection: close"), "{text}");
    assert_eq!(review["response"]["uid"], "big");
    assert_eq!(review["response"]["status"]["code"], 413);
    drop(read);
    push.await.unwrap();
    assert_eq!(server.metric("usher_admission_refused_total", &["too_large"]), 1.0);
    server.stop().await;
}

#[tokio::test]
async fn chunks_are_counted_against_the_cap_too() {
    let reviews = bodies(BodyLimits { max_bytes: 10_000, ..BodyLimits::default() });
    let server = Server::with(allow(), Settings { reviews, ..Settings::default() }).await;
    let mut client = server.connect().await;
    let body =
        review_with("u", &format!(r#""operation":"CREATE","object":{{"a":"{}"}}"#, "x".repeat(10_000)));
    let head = "POST /mutate HTTP/1.1\r\nHost: usher\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer = client.exchange(format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len())).await;
    answer.assert_denied("u", 413);
    drop(client);
    server.stop().await;
}

#[tokio::test]
async fn bytes_in_flight_are_bounded_and_the_excess_comes_back_later() {
    let reviews =
        bodies(BodyLimits { max_bytes: 100_000, max_total_bytes: 150_000, ..BodyLimits::default() });
    let server = Server::with(allow(), Settings { reviews, ..Settings::default() }).await;
    let body =
        review_with("u", &format!(r#""operation":"CREATE","object":{{"a":"{}"}}"#, "x".repeat(90_000)));
    let length = body.len();
    let head = format!("POST /mutate HTTP/1.1\r\nHost: usher\r\nContent-Length: {length}\r\n\r\n");
    let (most, last) = body.split_at(length - 1);
    let mut holder = server.connect().await;
    holder.send(format!("{head}{most}")).await.unwrap();
    // The holder first: whoever comes second is asked to come back.
    let deadline = Instant::now() + Duration::from_secs(10);
    while server.metric("usher_admission_in_flight_bytes", &[]) < (length - 1) as f64 {
        assert!(Instant::now() < deadline, "the holder's review is not being read");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut shed = None;
    for _ in 0..100 {
        let answer = server.post("/mutate", &body).await;
        if answer.status == 429 {
            shed = Some(answer);
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(matches!(shed.unwrap().header("retry-after"), Some("1" | "2")));
    assert_eq!(holder.exchange(last).await.response()["allowed"], true);
    drop(holder);
    assert_eq!(server.post("/mutate", &body).await.response()["allowed"], true);
    server.stop().await;
}

#[tokio::test]
async fn deep_objects_are_decided_and_deeper_ones_denied() {
    let server = Server::start(allow()).await;
    for (levels, allowed) in
        [(127, true), (129, true), (1_000, true), (10_000, true), (10_001, false), (1_000_000, false)]
    {
        let object = format!(r#"{{"a":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
        let body = review_with("u", &format!(r#""operation":"CREATE","object":{object}"#));
        let response = server.post("/mutate", body).await.response();
        assert_eq!((&response["uid"], &response["allowed"]), (&"u".into(), &allowed.into()), "{levels}");
    }
    server.stop().await;
}

#[tokio::test]
async fn objects_may_be_missing_in_any_operation() {
    let server = Server::with(
        Decide(|request: &Request<'_>, _: &Query<'_>| {
            let seen = format!(
                "{:?} {} {}",
                request.operation,
                request.object.is_some(),
                request.old_object.is_some()
            );
            Decision { warnings: vec![seen], ..Decision::default() }
        }),
        Settings::default(),
    )
    .await;
    for operation in ["CREATE", "UPDATE", "DELETE", "CONNECT"] {
        let members = format!(r#""operation":"{operation}","object":null,"oldObject":null,"options":null"#);
        let response = server.post("/mutate", review_with("u", &members)).await.response();
        let seen = response["warnings"][0].as_str().unwrap().to_uppercase();
        assert_eq!(seen, format!("{operation} FALSE FALSE"));
    }
    server.stop().await;
}

#[tokio::test]
async fn the_same_review_gets_the_same_bytes() {
    let server = Server::start(Decide(|_: &Request<'_>, _: &Query<'_>| Decision {
        patch: Some(br#"[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]"#.to_vec()),
        warnings: vec!["w".to_owned()],
        audit_annotations: vec![("b".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())],
        ..Decision::default()
    }))
    .await;
    let first = server.post("/mutate", review("u")).await;
    assert!(first.response()["patch"].is_string());
    let again = server.post("/mutate", review("u")).await;
    assert_eq!(first.body, again.body);
    assert_eq!(server.metric("usher_admission_patched_total", &["mutate"]), 2.0);
    server.stop().await;
}

#[tokio::test]
async fn each_path_asks_for_its_phase_and_class() {
    let server = Server::start(Decide(|_: &Request<'_>, query: &Query<'_>| Decision {
        warnings: vec![format!("{:?} {:?}", query.phase, query.class)],
        ..Decision::default()
    }))
    .await;
    for (path, phase, class) in [
        ("/mutate", Phase::Mutating, None),
        ("/mutate/fail", Phase::Mutating, Some(FailurePolicy::Fail)),
        ("/mutate/ignore", Phase::Mutating, Some(FailurePolicy::Ignore)),
        ("/validate", Phase::Validating, None),
        ("/validate/fail", Phase::Validating, Some(FailurePolicy::Fail)),
        ("/validate/ignore", Phase::Validating, Some(FailurePolicy::Ignore)),
    ] {
        let response = server.post(path, review("u")).await.response();
        assert_eq!(response["warnings"][0], format!("{phase:?} {class:?}"));
        let label = &path[1..];
        assert_eq!(server.metric("usher_admission_requests_total", &[label, "CREATE", "allow"]), 1.0);
    }
    server.stop().await;
}

#[rstest]
#[case("?timeout=1s", 600)]
#[case("?timeout=2s", 1_000)]
#[tokio::test(flavor = "multi_thread")]
async fn the_callers_time_limit_interrupts_the_decision(#[case] query: &str, #[case] millis: u64) {
    let server = Server::start(Decide(|_: &Request<'_>, query: &Query<'_>| {
        while !(query.interrupt)() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Decision { rejections: vec![rejection("out of time")], ..Decision::default() }
    }))
    .await;
    let start = Instant::now();
    server.post(&format!("/validate{query}"), review("u")).await.assert_denied("u", 422);
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(millis), "{elapsed:?}");
    assert!(elapsed < Duration::from_millis(millis + 400), "{elapsed:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_panic_is_answered_counted_and_survived() {
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let server = Server::start(Decide(move |_: &Request<'_>, _: &Query<'_>| {
        assert!(seen.fetch_add(1, Relaxed) > 0, "the first call fails");
        Decision::default()
    }))
    .await;
    assert_eq!(server.metric("usher_webhook_panics_total", &[]), 0.0);
    let mut client = server.connect().await;
    let answer = client.post("/validate", review("u")).await.unwrap();
    let response = answer.assert_denied("u", 500);
    assert_eq!(response["status"]["reason"], "InternalError");
    assert_eq!(answer.header("retry-after"), None);
    assert!(!answer.text().contains("the first call fails"));
    // The same connection goes on.
    assert_eq!(client.post("/validate", review("v")).await.unwrap().response()["allowed"], true);
    assert_eq!(server.metric("usher_webhook_panics_total", &[]), 1.0);
    drop(client);
    server.stop().await;
}

#[tokio::test]
async fn warnings_fit_into_what_the_api_server_passes_on() {
    let server = Server::start(Decide(|_: &Request<'_>, _: &Query<'_>| {
        let mut warnings = vec!["two\nlines".to_owned(), "🦀".repeat(10_000)];
        warnings.extend((0..50).map(|n| format!("{n} {}", "x".repeat(200))));
        Decision { warnings, ..Decision::default() }
    }))
    .await;
    let response = server.post("/validate", review("u")).await.response();
    let warnings: Vec<_> =
        response["warnings"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert_eq!(warnings[0], "two lines");
    assert!(warnings.iter().all(|warning| warning.chars().count() <= 256));
    assert!(warnings.iter().map(|warning| warning.chars().count()).sum::<usize>() <= 4096);
    assert!(warnings.last().unwrap().ends_with(" more warnings"));
    server.stop().await;
}

#[tokio::test]
async fn a_rejection_names_rule_route_code_and_reason() {
    let server = Server::start(Decide(|_: &Request<'_>, _: &Query<'_>| Decision {
        rejections: vec![rejection("use a fixed tag"), Rejection { route: None, ..rejection("no value") }],
        ..Decision::default()
    }))
    .await;
    let response = server.post("/validate", review("u")).await.assert_denied("u", 422);
    assert_eq!(response["status"]["reason"], "Invalid");
    assert_eq!(response["status"]["message"], "[images/no-latest] use a fixed tag\n[images] no value");
    assert_eq!(response["status"]["details"]["causes"][1]["message"], "[images] no value");
    assert_eq!(server.metric("usher_admission_requests_total", &["validate", "CREATE", "deny"]), 1.0);
    server.stop().await;
}
