//! Paths and methods.

use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use tower::ServiceExt;

use super::connection::Answer;
use super::endpoint::Endpoint;
use super::handler::{Admit, Handler, closing, plain};

/// The webhook server's paths. Reviews go straight to their handler; everything else goes through a router.
#[derive(Debug)]
pub struct Webhook<A> {
    handler: Arc<Handler<A>>,
    router: Router,
}

impl<A: Admit> Webhook<A> {
    pub fn new(handler: Handler<A>) -> Self {
        let handler = Arc::new(handler);
        let mut router = Router::new();
        for endpoint in Endpoint::ALL {
            let handler = Arc::clone(&handler);
            let answer = move |request: axum::extract::Request| async move {
                handler.answer(endpoint, request).await.map(axum::body::Body::new)
            };
            router = router.route(endpoint.path(), post(answer));
        }
        let router = router
            .method_not_allowed_fallback(async || {
                closing(plain(StatusCode::METHOD_NOT_ALLOWED, "reviews are sent by POST"))
                    .map(axum::body::Body::new)
            })
            .fallback(async || {
                let paths: Vec<_> = Endpoint::ALL.into_iter().map(Endpoint::path).collect();
                let text = format!("no such path; reviews are taken at {}", paths.join(", "));
                closing(plain(StatusCode::NOT_FOUND, &text)).map(axum::body::Body::new)
            });
        Self { handler, router }
    }
}

impl<A: Admit> Answer for Webhook<A> {
    type Body = Either<Full<Bytes>, axum::body::Body>;

    async fn answer(&self, request: Request<Incoming>) -> Response<Self::Body> {
        if request.method() == Method::POST
            && let Some(endpoint) = Endpoint::of_path(request.uri().path())
        {
            return self.handler.answer(endpoint, request).await.map(Either::Left);
        }
        Routed(self.router.clone()).answer(request).await.map(Either::Right)
    }
}

impl<A> Clone for Webhook<A> {
    fn clone(&self) -> Self {
        Self { handler: Arc::clone(&self.handler), router: self.router.clone() }
    }
}

/// A router on our accept loop.
#[derive(Clone, Debug)]
pub struct Routed(pub Router);

impl Answer for Routed {
    type Body = axum::body::Body;

    async fn answer(&self, request: Request<Incoming>) -> Response<Self::Body> {
        match self.0.clone().oneshot(request.map(axum::body::Body::new)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}
