//! What is counted about reviews. Handles are resolved here, once; a request only adds to them.

use std::time::Duration;

use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry, Result,
};

use super::endpoint::Endpoint;
use super::review::Verdict;
use crate::engine::{Decision, Finding, Operation};
use crate::telemetry::registered;

/// From the 25 µs of a decision without candidates to the 10 s of Kubernetes' default timeout.
const DURATION_BUCKETS: &[f64] = &[
    25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3,
    1.0, 2.5, 5.0, 10.0,
];
/// 1 KiB to 4 MiB.
const SIZE_BUCKETS: &[f64] = &[1024.0, 4096.0, 16384.0, 65536.0, 262_144.0, 1_048_576.0, 4_194_304.0];

/// What became of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecisionLabel {
    Allow,
    /// A route said no.
    Deny,
    /// Something could not be evaluated, read or finished.
    Error,
    /// Sent away to come back.
    Shed,
}

impl DecisionLabel {
    const ALL: [Self; 4] = [Self::Allow, Self::Deny, Self::Error, Self::Shed];

    pub(super) fn of(decision: &Decision) -> Self {
        match decision.rejections.first() {
            None => Self::Allow,
            Some(first) if first.error.is_some() => Self::Error,
            Some(_) => Self::Deny,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Error => "error",
            Self::Shed => "shed",
        }
    }
}

/// Why a request was sent away to come back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shed {
    NotReady,
    Memory,
    /// It would not have been evaluated in time.
    Deadline,
}

/// Why an evaluation left the accept threads.
#[derive(Clone, Copy, Debug)]
pub(super) enum SlowReason {
    /// Of the review.
    Size,
    /// That it took.
    Time,
    /// A rule is compiled, and its tests run.
    Rule,
}

/// Why a review was refused before any rule saw it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refused {
    Malformed,
    ContentType,
    TooLarge,
    BodyTimeout,
    Broken,
    Panic,
    TransferCoding,
}

impl Refused {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Malformed, "malformed"),
        (Self::ContentType, "content_type"),
        (Self::TooLarge, "too_large"),
        (Self::BodyTimeout, "body_timeout"),
        (Self::Broken, "broken"),
        (Self::Panic, "panic"),
        (Self::TransferCoding, "transfer_coding"),
    ];
}

/// Metrics of reviews.
#[derive(Clone, Debug)]
pub struct AdmissionMetrics {
    webhooks: Vec<OfWebhook>,
    in_flight: IntGauge,
    in_flight_bytes: IntGauge,
    shed: [IntCounter; 3],
    slow: [IntCounter; 3],
    refused: Vec<IntCounter>,
    panics: IntCounter,
    route_matches: IntCounterVec,
    evaluation_errors: IntCounterVec,
}

/// Handles for one endpoint.
#[derive(Clone, Debug)]
struct OfWebhook {
    /// By operation (the last: unknown), then by decision.
    requests: Vec<[IntCounter; 4]>,
    /// By decision.
    duration: [Histogram; 4],
    request_bytes: Histogram,
    deadline_exceeded: IntCounter,
    cancelled: IntCounter,
    patched: IntCounter,
    patches_withheld: IntCounter,
    warnings: IntCounter,
    unmatched: IntCounter,
}

impl AdmissionMetrics {
    /// # Errors
    /// When the registry has metrics of these names.
    pub fn register(registry: &Registry) -> Result<Self> {
        let counters = |name: &str, help: &str, labels: &[&str]| {
            registered(registry, IntCounterVec::new(Opts::new(name, help), labels)?)
        };
        let requests = counters(
            "usher_admission_requests_total",
            "Admission requests by what became of them.",
            &["webhook", "operation", "decision"],
        )?;
        let duration = registered(
            registry,
            HistogramVec::new(
                HistogramOpts::new(
                    "usher_admission_duration_seconds",
                    "Time from the end of a request's head to its answer.",
                )
                .buckets(DURATION_BUCKETS.to_vec()),
                &["webhook", "decision"],
            )?,
        )?;
        let bytes = registered(
            registry,
            HistogramVec::new(
                HistogramOpts::new("usher_admission_request_bytes", "Size of admission reviews.")
                    .buckets(SIZE_BUCKETS.to_vec()),
                &["webhook"],
            )?,
        )?;
        let deadline = counters(
            "usher_admission_deadline_exceeded_total",
            "Decisions that ran out of the time that the caller gave.",
            &["webhook"],
        )?;
        let cancelled = counters(
            "usher_admission_cancelled_total",
            "Requests whose caller went away before the answer.",
            &["webhook"],
        )?;
        let patched = counters("usher_admission_patched_total", "Answers with a patch.", &["webhook"])?;
        let withheld = counters(
            "usher_admission_patches_withheld_total",
            "Patches that were not sent because the API server would have failed the request for them.",
            &["webhook"],
        )?;
        let warnings = counters("usher_admission_warnings_total", "Warnings sent.", &["webhook"])?;
        let unmatched =
            counters("usher_route_unmatched_total", "Requests on which no route acted.", &["webhook"])?;
        let shed =
            counters("usher_admission_shed_total", "Requests sent away with Retry-After.", &["reason"])?;
        let slow = counters(
            "usher_admission_slow_total",
            "Evaluations that left the accept threads, for the size of the review, for the time that they took, or to try a new rule.",
            &["reason"],
        )?;
        let refused = counters(
            "usher_admission_refused_total",
            "Reviews refused before any rule saw them.",
            &["reason"],
        )?;

        let webhooks = Endpoint::ALL.map(Endpoint::as_str).map(|webhook| {
            let operations = Operation::ALL.map(Operation::as_str);
            OfWebhook {
                requests: operations
                    .into_iter()
                    .chain(["unknown"])
                    .map(|operation| {
                        DecisionLabel::ALL
                            .map(|label| requests.with_label_values(&[webhook, operation, label.as_str()]))
                    })
                    .collect(),
                duration: DecisionLabel::ALL
                    .map(|label| duration.with_label_values(&[webhook, label.as_str()])),
                request_bytes: bytes.with_label_values(&[webhook]),
                cancelled: cancelled.with_label_values(&[webhook]),
                deadline_exceeded: deadline.with_label_values(&[webhook]),
                patched: patched.with_label_values(&[webhook]),
                patches_withheld: withheld.with_label_values(&[webhook]),
                warnings: warnings.with_label_values(&[webhook]),
                unmatched: unmatched.with_label_values(&[webhook]),
            }
        });
        Ok(Self {
            webhooks: webhooks.into(),
            in_flight: registered(
                registry,
                IntGauge::new("usher_admission_in_flight", "Requests whose answer is not written yet.")?,
            )?,
            in_flight_bytes: registered(
                registry,
                IntGauge::new(
                    "usher_admission_in_flight_bytes",
                    "Bytes of the reviews that are being read or decided.",
                )?,
            )?,
            slow: ["size", "time", "rule"].map(|reason| slow.with_label_values(&[reason])),
            shed: ["not_ready", "memory", "deadline"].map(|reason| shed.with_label_values(&[reason])),
            refused: Refused::ALL.iter().map(|(_, reason)| refused.with_label_values(&[reason])).collect(),
            panics: registered(
                registry,
                IntCounter::new("usher_webhook_panics_total", "Panics caught while answering reviews.")?,
            )?,
            route_matches: counters(
                "usher_route_matches_total",
                "Requests on which a route acted.",
                &["rule", "route", "handler"],
            )?,
            evaluation_errors: counters(
                "usher_route_evaluation_errors_total",
                "Expressions that had no value.",
                &["rule", "route", "reason"],
            )?,
        })
    }

    /// For the budget of bytes in flight to count in.
    pub(super) fn in_flight_bytes(&self) -> IntGauge {
        self.in_flight_bytes.clone()
    }

    pub(super) fn enter(&self, endpoint: Endpoint) -> InFlight<'_> {
        self.in_flight.inc();
        InFlight { gauge: &self.in_flight, cancelled: Some(&self.webhooks[endpoint.index()].cancelled) }
    }

    pub(super) fn request_bytes(&self, endpoint: Endpoint, bytes: usize) {
        self.webhooks[endpoint.index()].request_bytes.observe(bytes as f64);
    }

    pub(super) fn decided(
        &self,
        endpoint: Endpoint,
        operation: Operation,
        label: DecisionLabel,
        elapsed: Duration,
    ) {
        self.count(endpoint, operation as usize, label, elapsed);
    }

    /// What a decision found and did, beyond allowing or denying.
    pub(super) fn details(&self, endpoint: Endpoint, decision: &Decision, verdict: Verdict) {
        let webhook = &self.webhooks[endpoint.index()];
        if verdict.patched {
            webhook.patched.inc();
        }
        if verdict.patch_withheld {
            webhook.patches_withheld.inc();
        }
        webhook.warnings.inc_by(verdict.warnings as u64);
        let mut acted = false;
        let mut late = false;
        for outcome in &decision.outcomes {
            let route = outcome.route.as_deref().unwrap_or_default();
            match &outcome.finding {
                Finding::NoMatch => {}
                Finding::Match { handler } => {
                    acted = true;
                    self.route_matches.with_label_values(&[&*outcome.rule, route, handler]).inc();
                }
                Finding::Error { kind, .. } => {
                    late |= *kind == usher_cel::eval::ErrorKind::Deadline;
                    self.evaluation_errors.with_label_values(&[&*outcome.rule, route, kind.as_str()]).inc();
                }
            }
        }
        if !acted && endpoint != Endpoint::ValidateRules {
            webhook.unmatched.inc();
        }
        if late {
            webhook.deadline_exceeded.inc();
        }
    }

    pub(super) fn refused(&self, endpoint: Endpoint, reason: Refused, elapsed: Duration) {
        self.refused[reason as usize].inc();
        self.count(endpoint, Operation::ALL.len(), DecisionLabel::Error, elapsed);
    }

    pub(super) fn panicked(&self, endpoint: Endpoint, elapsed: Duration) {
        self.panics.inc();
        self.refused(endpoint, Refused::Panic, elapsed);
    }

    pub(super) fn slow(&self, reason: SlowReason) {
        self.slow[reason as usize].inc();
    }

    pub(super) fn shed(&self, endpoint: Endpoint, reason: Shed) {
        self.shed[reason as usize].inc();
        self.count(endpoint, Operation::ALL.len(), DecisionLabel::Shed, Duration::ZERO);
    }

    fn count(&self, endpoint: Endpoint, operation: usize, label: DecisionLabel, elapsed: Duration) {
        let webhook = &self.webhooks[endpoint.index()];
        webhook.requests[operation][label as usize].inc();
        webhook.duration[label as usize].observe(elapsed.as_secs_f64());
    }
}

/// Counts a request as in flight until it is dropped, and as cancelled if that happens before [`Self::done`].
#[derive(Debug)]
pub(super) struct InFlight<'m> {
    gauge: &'m IntGauge,
    cancelled: Option<&'m IntCounter>,
}

impl InFlight<'_> {
    pub(super) fn done(mut self) {
        self.cancelled = None;
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.gauge.dec();
        if let Some(cancelled) = self.cancelled {
            cancelled.inc();
        }
    }
}
