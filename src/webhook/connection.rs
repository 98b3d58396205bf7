//! One connection: deadlines for what the peer must do, HTTP/1.1, and its end.
//!
//! hyper's own header timeout is not used: it also runs while a keep-alive connection is idle, and a client that keeps connections
//! for 90 s (Go, and so the API server) would write requests into connections that are being closed.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, Sleep, sleep_until};

use super::activity::{Activity, Moment};
use super::drain::{Drain, Stage};
use super::listener::ConnectionLimits;
use super::watched::{Transport, Watched};

/// An error of a response body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Request heads larger than this are answered 431. The API server's are below 1 KiB; a bearer token may add a few.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The API server sends about ten.
const MAX_HEADERS: usize = 100;

/// Whoever answers requests on the accept loop.
pub trait Answer: Clone + Send + Sync + 'static {
    type Body: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;

    /// Never fails: what cannot be answered has an answer that says so.
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response<Self::Body>> + Send;
}

/// Why a connection ended; a metric label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectionEnd {
    /// By either side, between requests or after `Connection: close`.
    Closed,
    /// The peer did not finish (or begin) a request head in time.
    HeadTimeout,
    /// Nobody used it for the idle timeout.
    IdleTimeout,
    /// The peer broke HTTP or the connection.
    Error,
}

impl ConnectionEnd {
    pub const ALL: [Self; 4] = [Self::Closed, Self::HeadTimeout, Self::IdleTimeout, Self::Error];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HeadTimeout => "head_timeout",
            Self::IdleTimeout => "idle_timeout",
            Self::Error => "error",
        }
    }
}

/// Serves requests until the connection ends.
pub(super) async fn serve<T, A>(
    transport: T,
    limits: &ConnectionLimits,
    drain: Drain,
    answer: A,
) -> ConnectionEnd
where
    T: Transport,
    A: Answer,
{
    let activity = Arc::new(Activity::new());
    let io = TokioIo::new(Watched::new(transport, Arc::clone(&activity)));
    let mut closing = drain.clone();
    let exchange = Arc::new(Exchange { answer, activity: Arc::clone(&activity), drain });
    let service = service_fn(|request| {
        let exchange = Arc::clone(&exchange);
        async move { Ok::<_, Infallible>(exchange.answer(request).await) }
    });
    let mut conn = pin!(
        http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEADERS)
            .serve_connection(io, service)
    );
    let mut sleep = pin!(sleep_until(Instant::now() + limits.head_timeout));
    let mut is_closing = false;
    let mut end = ConnectionEnd::Closed;
    loop {
        tokio::select! {
            biased;
            result = conn.as_mut() => return if result.is_ok() { end } else { ConnectionEnd::Error },
            moment = poll_fn(|cx| poll_expired(cx, &activity, limits, sleep.as_mut())) => match moment {
                Moment::Idle => {
                    end = ConnectionEnd::IdleTimeout;
                    activity.enter(Moment::Ending);
                    conn.as_mut().graceful_shutdown();
                }
                Moment::Fresh | Moment::Head => return ConnectionEnd::HeadTimeout,
                Moment::Answering | Moment::Ending => return end,
            },
            _ = closing.reached(Stage::Closing), if !is_closing => {
                is_closing = true;
                // A request whose head is on its way or that is being answered closes the connection with its answer.
                if matches!(activity.moment(), Moment::Fresh | Moment::Idle) {
                    activity.enter(Moment::Ending);
                    conn.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// What each request of a connection needs.
struct Exchange<A> {
    answer: A,
    activity: Arc<Activity>,
    drain: Drain,
}

impl<A: Answer> Exchange<A> {
    async fn answer(&self, request: Request<Incoming>) -> Response<A::Body> {
        self.activity.enter(Moment::Answering);
        // A body of unknown length ends its connection, so that no disagreement about where it ended can smuggle a second
        // request.
        let chunked = request.headers().contains_key(TRANSFER_ENCODING);
        let mut response = self.answer.answer(request).await;
        if chunked || self.drain.has_begun() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.activity.enter(Moment::Idle);
        response
    }
}

/// Ready with the moment that took too long. The timer is only touched when the deadline came nearer or the timer went off, so
/// that a request that is read and answered in one go costs none.
fn poll_expired(
    cx: &mut Context<'_>,
    activity: &Activity,
    limits: &ConnectionLimits,
    mut sleep: Pin<&mut Sleep>,
) -> Poll<Moment> {
    loop {
        let (moment, since) = activity.now();
        let deadline = since + limits.allowed(moment);
        if deadline < sleep.deadline() {
            sleep.as_mut().reset(deadline);
        }
        match sleep.as_mut().poll(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(()) if Instant::now() >= deadline => return Poll::Ready(moment),
            Poll::Ready(()) => sleep.as_mut().reset(deadline),
        }
    }
}
