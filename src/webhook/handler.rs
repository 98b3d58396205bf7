//! From a POST to its answer.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bumpalo::Bump;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, TRANSFER_ENCODING};
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use tokio::time::Instant;

use super::body::{self, BodyFault, MemoryBudget, WholeBody};
use super::budget::budget;
use super::endpoint::Endpoint;
use super::memory::{EvaluationLimits, ReviewLimits};
use super::metrics::{AdmissionMetrics, DecisionLabel, Refused, Shed, SlowReason};
use super::review::{self, Denial, Refusal, Review, ReviewVersion};
use super::slow_lane::{Late, SlowLane};
use crate::engine::{Decision, Query, Request as AdmissionRequest};
use crate::rules::registration::probe;
use crate::telemetry::Gate;

/// Whoever decides about reviews.
pub trait Admit: Send + Sync + 'static {
    /// Decides, within the query's interrupt and memory. Runs on a worker thread of the server: it must not block. What the interrupt cuts short
    /// may be asked again, so that deciding must have no effect but its result.
    fn admit(&self, request: &AdmissionRequest<'_>, query: &Query<'_>) -> Decision;

    /// Decides whether a version of one of Usher's own objects may be stored. Runs on a thread of the slow lane, where it may take the time that a rule
    /// and its tests may take.
    fn admit_rule(&self, request: &AdmissionRequest<'_>) -> Decision;
}

impl<A: Admit> Admit for Arc<A> {
    fn admit(&self, request: &AdmissionRequest<'_>, query: &Query<'_>) -> Decision {
        A::admit(self, request, query)
    }

    fn admit_rule(&self, request: &AdmissionRequest<'_>) -> Decision {
        A::admit_rule(self, request)
    }
}

/// Answers reviews.
#[derive(Debug)]
pub struct Handler<A> {
    admit: A,
    limits: ReviewLimits,
    memory: MemoryBudget,
    slow_lane: SlowLane,
    /// Open once there are rules to decide by.
    rules: Gate,
    metrics: AdmissionMetrics,
}

type Answered = Response<Full<Bytes>>;

impl<A: Admit> Handler<A> {
    /// Until `rules` is open, callers are asked to come back.
    pub fn new(admit: A, limits: ReviewLimits, rules: Gate, metrics: AdmissionMetrics) -> Self {
        let memory = MemoryBudget::new(limits.bodies.max_total_bytes, metrics.in_flight_bytes());
        let slow_lane = SlowLane::new(limits.evaluation.slow_lane);
        Self { admit, memory, slow_lane, limits, rules, metrics }
    }

    pub(super) async fn answer<B>(self: &Arc<Self>, endpoint: Endpoint, request: Request<B>) -> Answered
    where
        B: Body<Data = Bytes>,
        B::Error: std::fmt::Display,
    {
        let start = Instant::now();
        if !self.rules.is_open() {
            self.metrics.shed(endpoint, Shed::NotReady);
            return closing(come_back(StatusCode::SERVICE_UNAVAILABLE, "the rules are not loaded yet"));
        }
        if !has_legal_content_type(request.headers()) {
            self.metrics.refused(endpoint, Refused::ContentType, start.elapsed());
            let text = "the Content-Type header is not a media type; send application/json";
            return closing(plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        }
        if !has_known_transfer_coding(request.headers()) {
            self.metrics.refused(endpoint, Refused::TransferCoding, start.elapsed());
            let text = "the body has a transfer coding other than chunked; send it as it is";
            return closing(plain(StatusCode::NOT_IMPLEMENTED, text));
        }
        let in_flight = self.metrics.enter(endpoint);
        let deadline = start + budget(request.uri().query());
        let body_deadline = deadline.min(start + self.limits.bodies.timeout);
        let read =
            body::read(request.into_body(), &self.limits.bodies, &self.memory, body_deadline, |prefix| {
                review::parse(prefix, &Bump::new()).is_err_and(|refusal| refusal.uid.is_some())
            });
        let answered = match read.await {
            Ok(body) => {
                self.metrics.request_bytes(endpoint, body.bytes.len());
                self.decide(Exchange { handler: Arc::clone(self), endpoint, start, deadline, body }).await
            }
            Err(fault) => self.without_body(endpoint, &fault, start),
        };
        in_flight.done();
        answered
    }

    /// Answers on this thread if that is quick, else in the slow lane.
    async fn decide(&self, exchange: Exchange<A>) -> Answered {
        let EvaluationLimits { most_inline_bytes, slice, .. } = self.limits.evaluation;
        let Exchange { endpoint, deadline, .. } = exchange;
        let why = if endpoint == Endpoint::ValidateRules {
            SlowReason::Rule
        } else if exchange.body.bytes.len() > most_inline_bytes {
            SlowReason::Size
        } else {
            match exchange.within(Instant::now() + slice) {
                Some(answered) => return answered,
                None => SlowReason::Time,
            }
        };
        self.metrics.slow(why);
        match self.slow_lane.run(deadline, move |gone| exchange.unless(gone)).await {
            Ok(answered) => answered,
            Err(Late) => {
                self.metrics.shed(endpoint, Shed::Deadline);
                come_back(
                    StatusCode::TOO_MANY_REQUESTS,
                    "no evaluation in time; too many that take long are under way",
                )
            }
        }
    }

    /// Answers a request whose body was not read to its end. The connection cannot be used again.
    fn without_body(&self, endpoint: Endpoint, fault: &BodyFault, start: Instant) -> Answered {
        let (prefix, refused, denial) = match fault {
            BodyFault::NoMemory => {
                self.metrics.shed(endpoint, Shed::Memory);
                let text = "too many bytes of reviews are in flight";
                return closing(come_back(StatusCode::TOO_MANY_REQUESTS, text));
            }
            BodyFault::Broken(error) => {
                self.metrics.refused(endpoint, Refused::Broken, start.elapsed());
                return closing(plain(StatusCode::BAD_REQUEST, &format!("cannot read the body: {error}")));
            }
            BodyFault::TooLarge { prefix } => {
                let message = format!(
                    "the review is larger than {} bytes (--max-body-bytes)",
                    self.limits.bodies.max_bytes
                );
                (prefix, Refused::TooLarge, (StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message))
            }
            BodyFault::TimedOut { prefix } => {
                let message = "the review did not arrive in time".to_owned();
                (prefix, Refused::BodyTimeout, (StatusCode::REQUEST_TIMEOUT, "Timeout", message))
            }
        };
        let (status, reason, message) = denial;
        self.metrics.refused(endpoint, refused, start.elapsed());
        let memory = Bump::new();
        let (version, uid) = match review::parse(prefix, &memory) {
            Ok(review) => (review.version, Some(review.request.uid)),
            Err(refusal) => (refusal.version, refusal.uid),
        };
        tracing::warn!(
            webhook = endpoint.as_str(),
            uid,
            decision = "error",
            code = status.as_u16(),
            reason,
            received_bytes = prefix.len(),
            elapsed_us = micros(start.elapsed()),
            "review refused: {message}"
        );
        closing(match uid {
            Some(uid) => json(review::write_denial(
                version,
                uid,
                Denial { code: status.as_u16(), reason, message: &message },
            )),
            None => plain(status, &message),
        })
    }
}

/// One review that has arrived.
struct Exchange<A> {
    handler: Arc<Handler<A>>,
    endpoint: Endpoint,
    start: Instant,
    deadline: Instant,
    body: WholeBody,
}

impl<A: Admit> Exchange<A> {
    /// Answers if that takes no longer than until `end`.
    fn within(&self, end: Instant) -> Option<Answered> {
        let is_cut = Cell::new(false);
        let interrupt = || {
            let now = Instant::now();
            is_cut.set(is_cut.get() || (now >= end && end < self.deadline));
            is_cut.get() || now >= self.deadline
        };
        self.guarded(&interrupt, &is_cut)
    }

    /// Answers, and gives up when nobody waits for it any more.
    fn unless(&self, gone: &dyn Fn() -> bool) -> Answered {
        let interrupt = || Instant::now() >= self.deadline || gone();
        self.guarded(&interrupt, &Cell::new(false)).unwrap_or_else(|| self.after_panic())
    }

    /// Answers, also when the answering panics. `None` when it was cut.
    fn guarded(&self, interrupt: &dyn Fn() -> bool, is_cut: &Cell<bool>) -> Option<Answered> {
        catch_unwind(AssertUnwindSafe(|| self.answer(interrupt, is_cut)))
            .unwrap_or_else(|_| Some(self.after_panic()))
    }

    fn answer(&self, interrupt: &dyn Fn() -> bool, is_cut: &Cell<bool>) -> Option<Answered> {
        let memory = Bump::new();
        match review::parse(&self.body.bytes, &memory) {
            Ok(review) => self.decide(&review, interrupt, is_cut),
            Err(refusal) => Some(self.refuse(&refusal)),
        }
    }

    fn decide(
        &self,
        review: &Review<'_>,
        interrupt: &dyn Fn() -> bool,
        is_cut: &Cell<bool>,
    ) -> Option<Answered> {
        if let Some(message) = probe::answer(&review.request, self.endpoint.path()) {
            // No decision about anything: it is neither counted nor told as one.
            tracing::debug!(webhook = self.endpoint.as_str(), uid = review.request.uid, "probe answered");
            // Not 403: in an audit log this must not look like missing rights.
            let denial = Denial { code: 422, reason: "Invalid", message: &message };
            return Some(json(review::write_denial(review.version, review.request.uid, denial)));
        }
        let query = Query {
            class: self.endpoint.class(),
            interrupt,
            memory: self.handler.limits.evaluation.memory,
            ..Query::new(self.endpoint.phase())
        };
        let admit = &self.handler.admit;
        let decision = match self.endpoint {
            Endpoint::ValidateRules => admit.admit_rule(&review.request),
            _ => admit.admit(&review.request, &query),
        };
        if is_cut.get() {
            return None;
        }
        let (bytes, verdict) = review::write_answer(review, self.endpoint.phase(), &decision);
        let elapsed = self.start.elapsed();
        let label = DecisionLabel::of(&decision);
        let metrics = &self.handler.metrics;
        metrics.decided(self.endpoint, review.request.operation, label, elapsed);
        metrics.details(self.endpoint, &decision, verdict);
        if verdict.patch_withheld {
            tracing::warn!(
                webhook = self.endpoint.as_str(),
                uid = review.request.uid,
                "a patch was not sent because the API server would fail the request for it"
            );
        }
        if !verdict.allowed {
            log_denial(self.endpoint, review, &decision, label, elapsed);
        }
        Some(json(bytes))
    }

    fn refuse(&self, refusal: &Refusal<'_>) -> Answered {
        let elapsed = self.start.elapsed();
        self.handler.metrics.refused(self.endpoint, Refused::Malformed, elapsed);
        let Refusal { version, uid, message } = refusal;
        tracing::warn!(
            webhook = self.endpoint.as_str(),
            uid,
            decision = "error",
            code = 400,
            reason = "BadRequest",
            error = message,
            elapsed_us = micros(elapsed),
            "review refused: it cannot be read"
        );
        let message = format!("the AdmissionReview cannot be read: {message}");
        match uid {
            Some(uid) => {
                let denial = Denial { code: 400, reason: "BadRequest", message: &message };
                json(review::write_denial(*version, uid, denial))
            }
            None => plain(StatusCode::BAD_REQUEST, &message),
        }
    }

    /// The panic is counted and answered. No `Retry-After`: the same review would panic again.
    #[cold]
    fn after_panic(&self) -> Answered {
        let elapsed = self.start.elapsed();
        self.handler.metrics.panicked(self.endpoint, elapsed);
        let memory = Bump::new();
        let known = catch_unwind(AssertUnwindSafe(|| match review::parse(&self.body.bytes, &memory) {
            Ok(review) => (review.version, Some(review.request.uid)),
            Err(refusal) => (refusal.version, refusal.uid),
        }));
        let (version, uid) = known.unwrap_or((ReviewVersion::V1, None));
        tracing::error!(
            webhook = self.endpoint.as_str(),
            uid,
            decision = "error",
            code = 500,
            reason = "InternalError",
            elapsed_us = micros(elapsed),
            "review refused: deciding about it panicked"
        );
        let message = "internal error: the decision was cut short by a defect of Usher; see its log";
        match uid {
            Some(uid) => json(review::write_denial(
                version,
                uid,
                Denial { code: 500, reason: "InternalError", message },
            )),
            None => plain(StatusCode::INTERNAL_SERVER_ERROR, message),
        }
    }
}

/// One line per denied review. Names, never contents: messages may quote the object.
fn log_denial(
    endpoint: Endpoint,
    review: &Review<'_>,
    decision: &Decision,
    label: DecisionLabel,
    elapsed: Duration,
) {
    let Some(first) = decision.rejections.first() else { return };
    let request = &review.request;
    tracing::info!(
        webhook = endpoint.as_str(),
        uid = request.uid,
        kind = short(request.kind.kind),
        namespace = short(request.namespace),
        name = short(request.name),
        operation = request.operation.as_str(),
        rule = &*first.rule,
        route = first.route.as_deref(),
        decision = label.as_str(),
        code = first.code,
        reason = first.reason,
        error = first.error.map(|error| error.as_str()),
        rejections = decision.rejections.len(),
        elapsed_us = micros(elapsed),
        "review denied"
    );
}

/// For the log: longer than any name in a cluster, and bounded whoever asks.
fn short(name: &str) -> &str {
    &name[..name.floor_char_boundary(1024)]
}

/// Whether there is no content type or one that is a media type. Which one does not matter: the API server's own decoder looks at the
/// bytes, and what is not JSON is refused as such.
fn has_legal_content_type(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return true };
    let Ok(value) = value.to_str() else { return false };
    let media_type = value.split(';').next().unwrap_or_default().trim();
    let is_token = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    media_type.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// RFC 9112, 6.1: what has codings that the server does not know is answered 501. hyper takes the last one off and hands on what is still
/// coded.
fn has_known_transfer_coding(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(TRANSFER_ENCODING).iter();
    match (values.next(), values.next()) {
        (None, _) => true,
        (Some(only), None) => only.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}

fn json(body: Vec<u8>) -> Answered {
    answered(StatusCode::OK, HeaderValue::from_static("application/json"), body.into())
}

/// Text for people, where no review can be answered.
pub(super) fn plain(status: StatusCode, text: &str) -> Answered {
    let text = format!("{text}\n");
    answered(status, HeaderValue::from_static("text/plain; charset=utf-8"), text.into())
}

fn answered(status: StatusCode, content_type: HeaderValue, body: Bytes) -> Answered {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// An answer that the API server retries by itself, within the call's timeout (client-go `rest/with_retry.go`): for what will have
/// passed in a moment. One or two seconds, so that those who were sent away together do not come back together.
fn come_back(status: StatusCode, text: &str) -> Answered {
    let mut response = plain(status, text);
    let micros =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.subsec_micros());
    let seconds = if micros.is_multiple_of(2) { "1" } else { "2" };
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(seconds));
    response
}

/// For answers to requests whose body was not read to its end. hyper ends such a connection, but without the header the caller would think that it can
/// be used again.
pub(super) fn closing(mut response: Answered) -> Answered {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn micros(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}
