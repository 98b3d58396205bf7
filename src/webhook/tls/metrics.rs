//! What is known about the certificate in use.

use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry, Result};

use super::pair::{Pair, TlsError};
use crate::telemetry::registered;

/// Metrics of the certificate.
#[derive(Clone, Debug)]
pub struct TlsMetrics {
    not_before: IntGauge,
    not_after: IntGauge,
    reloads: IntCounter,
    failures: IntCounterVec,
}

impl TlsMetrics {
    /// # Errors
    /// When the registry has metrics of these names.
    pub fn register(registry: &Registry) -> Result<Self> {
        let gauge = |name: &str, help: &str| registered(registry, IntGauge::new(name, help)?);
        let results = registered(
            registry,
            IntCounterVec::new(
                Opts::new("usher_tls_reloads_total", "Changes of the certificate files by their result."),
                &["result"],
            )?,
        )?;
        for result in ["read", "parse", "mismatch"] {
            let _ = results.with_label_values(&[result]);
        }
        Ok(Self {
            not_before: gauge(
                "usher_tls_certificate_not_before_timestamp_seconds",
                "When the certificate in use begins to be valid.",
            )?,
            not_after: gauge(
                "usher_tls_certificate_not_after_timestamp_seconds",
                "When the certificate in use expires.",
            )?,
            reloads: results.with_label_values(&["success"]),
            failures: results,
        })
    }

    /// Shows the pair that is in use.
    pub fn show(&self, pair: &Pair) {
        self.not_before.set(pair.not_before());
        self.not_after.set(pair.not_after());
    }

    pub(super) fn reloaded(&self, pair: &Pair) {
        self.reloads.inc();
        self.show(pair);
    }

    pub(super) fn failed(&self, error: &TlsError) {
        self.failures.with_label_values(&[error.reason()]).inc();
    }
}
