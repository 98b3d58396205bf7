//! Paths of the admin port.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use prometheus::{Registry, TextEncoder};

use crate::telemetry::Readiness;

/// `/livez`, `/readyz`, `/healthz`, `/metrics`, `/version`.
///
/// `/livez` only says that the process turns, so that nothing outside can get it restarted. `/readyz` asks every check; `?verbose` tells what
/// each said, as the API server's own does. `/healthz` is an alias of `/livez`.
pub fn router(readiness: Readiness, registry: Registry) -> Router {
    Router::new()
        .route("/livez", get(async || "ok"))
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(readyz).with_state(Arc::new(readiness)))
        .route("/metrics", get(metrics).with_state(registry))
        .route("/version", get(version))
        .fallback(async || {
            (
                StatusCode::NOT_FOUND,
                "no such path; there are /livez, /readyz, /healthz, /metrics and /version\n",
            )
        })
}

async fn readyz(State(readiness): State<Arc<Readiness>>, RawQuery(query): RawQuery) -> Response {
    let results = readiness.results();
    let is_ready = results.iter().all(|(_, result)| result.is_ok());
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let is_verbose =
        query.is_some_and(|query| query.split('&').any(|pair| pair.split('=').next() == Some("verbose")));
    if is_ready && !is_verbose {
        return (status, "ok").into_response();
    }
    let mut text = String::new();
    for (name, result) in results {
        let _ = match result {
            Ok(()) => writeln!(text, "[+]{name} ok"),
            Err(missing) => writeln!(text, "[-]{name} failed: {missing}"),
        };
    }
    text.push_str(if is_ready { "readyz check passed\n" } else { "readyz check failed\n" });
    (status, text).into_response()
}

async fn metrics(State(registry): State<Registry>) -> Response {
    match TextEncoder::new().encode_to_string(&registry.gather()) {
        Ok(text) => ([(CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("cannot encode metrics: {error}\n")).into_response()
        }
    }
}

async fn version() -> Response {
    let text = format!("{{\"version\":\"{}\"}}\n", env!("CARGO_PKG_VERSION"));
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;
    use crate::telemetry::{Gate, ProcessMetrics};

    async fn get(router: &Router, path: &str) -> (StatusCode, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn readiness_names_what_is_missing() {
        let rules = Gate::default();
        let readiness = Readiness::default().with("certificate", || Ok(())).with_gate(
            "rules",
            rules.clone(),
            "not loaded yet",
        );
        let router = router(readiness, Registry::new());
        let (status, text) = get(&router, "/readyz").await;
        assert_eq!(status, 503);
        assert_eq!(text, "[+]certificate ok\n[-]rules failed: not loaded yet\nreadyz check failed\n");
        assert_eq!(get(&router, "/livez").await, (StatusCode::OK, "ok".to_owned()));

        rules.open();
        assert_eq!(get(&router, "/readyz").await, (StatusCode::OK, "ok".to_owned()));
        let (status, text) = get(&router, "/readyz?verbose").await;
        assert_eq!((status.as_u16(), &*text), (200, "[+]certificate ok\n[+]rules ok\nreadyz check passed\n"));
    }

    #[tokio::test]
    async fn metrics_and_version_are_shown() {
        let registry = Registry::new();
        ProcessMetrics::register(&registry).unwrap();
        let router = router(Readiness::default(), registry);
        let (status, text) = get(&router, "/metrics").await;
        assert_eq!(status, 200);
        assert!(text.contains("usher_build_info{version="), "{text}");
        assert!(text.contains("process_resident_memory_bytes"), "{text}");
        assert!(get(&router, "/version").await.1.contains(env!("CARGO_PKG_VERSION")));
        assert_eq!(get(&router, "/").await.0, 404);
    }
}
