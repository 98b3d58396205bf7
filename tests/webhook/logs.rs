//! What the log tells, and what it never does.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing_subscriber::EnvFilter;
use usher::engine::{Decision, Query, Rejection, Request};

use super::client::review_with;
use super::server::{Decide, Server};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Captured {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A rejection that quotes what it should not.
fn telling(request: &Request<'_>, _: &Query<'_>) -> Decision {
    let rejection = Rejection {
        rule: Arc::from("secrets"),
        route: Some(Arc::from("no-tokens")),
        message: format!("found {}", request.object.unwrap_or_default()),
        reason: "Forbidden",
        code: 403,
        error: None,
    };
    assert!(request.name != "panic", "panic about {:?}", request.object);
    Decision { rejections: vec![rejection], ..Decision::default() }
}

const MEMBERS: &str = r#""kind":{"group":"","version":"v1","kind":"Secret"},"namespace":"shop","name":"NAME","operation":"CREATE",
    "userInfo":{"username":"canary-7f3a"},"object":{"data":{"token":"canary-7f3a"}},"oldObject":{"data":"canary-7f3a"}"#;

#[tokio::test]
async fn a_denial_is_one_line_of_names_and_never_of_contents_at_any_level() {
    let captured = Captured::default();
    let out = captured.clone();
    let lines = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(EnvFilter::new("trace"))
        .with_writer(move || out.clone())
        .finish();
    // Holds for this thread, on which the whole test runs.
    let _guard = tracing::subscriber::set_default(lines);
    let server = Server::start(Decide(telling)).await;
    let name = r"a\n{\u001b[31mb";
    server
        .post("/validate", review_with("u-1", &MEMBERS.replace("NAME", name)))
        .await
        .assert_denied("u-1", 403);
    let long = "é".repeat(100_000);
    server
        .post("/validate", review_with("u-5", &MEMBERS.replace("NAME", &long)))
        .await
        .assert_denied("u-5", 403);
    assert!(captured.text().lines().all(|line| line.len() < 4096), "a name of any length fills the log");
    server
        .post("/validate", review_with("u-2", &MEMBERS.replace("NAME", "panic")))
        .await
        .assert_denied("u-2", 500);
    // Cut in the middle of the object, and with a second one.
    let cut = review_with("u-3", MEMBERS);
    let cut = &cut[..cut.find("canary-7f3a\"}},").unwrap() + 8];
    server.post("/validate", cut).await.assert_denied("u-3", 400);
    server
        .post("/validate", review_with("u-4", &format!("{MEMBERS},{MEMBERS}")))
        .await
        .assert_denied("u-4", 400);
    server.stop().await;

    let text = captured.text();
    assert!(!text.contains("canary"), "{}", text.lines().find(|line| line.contains("canary")).unwrap());
    assert!(!text.contains('\u{1b}'));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |uid: &str| {
        let found: Vec<_> = lines.iter().filter(|line| line["uid"] == uid).collect();
        assert_eq!(found.len(), 1, "{uid}");
        found[0].clone()
    };
    let denied = of("u-1");
    for (field, value) in [
        ("webhook", "validate"),
        ("kind", "Secret"),
        ("namespace", "shop"),
        ("name", "a\n{\u{1b}[31mb"),
        ("operation", "CREATE"),
        ("rule", "secrets"),
        ("route", "no-tokens"),
        ("decision", "deny"),
        ("reason", "Forbidden"),
    ] {
        assert_eq!(denied[field], value, "{field}");
    }
    assert_eq!(denied["code"], 403);
    assert!(denied["elapsed_us"].is_u64());
    for (uid, code) in [("u-2", 500), ("u-3", 400), ("u-4", 400)] {
        assert_eq!((&of(uid)["code"], &of(uid)["decision"]), (&code.into(), &"error".into()));
    }
}

#[tokio::test]
async fn names_cannot_break_out_of_a_line_of_text() {
    let captured = Captured::default();
    let out = captured.clone();
    let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(move || out.clone()).finish();
    let _guard = tracing::subscriber::set_default(lines);
    let server = Server::start(Decide(telling)).await;
    let name = r"a\nERROR forged\u001b[31mb";
    server.post("/validate", review_with("u", &MEMBERS.replace("NAME", name))).await.assert_denied("u", 403);
    server.stop().await;
    let text = captured.text();
    let denied: Vec<_> = text.lines().filter(|line| line.contains("review denied")).collect();
    assert_eq!(denied.len(), 1, "{text}");
    assert!(denied[0].contains(r"a\nERROR forged\u{1b}[31mb"), "{text}");
    assert!(!text.contains('\u{1b}'));
}
