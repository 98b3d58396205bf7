//! How the watches of the API server are doing.

use std::time::UNIX_EPOCH;

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Gauge, GaugeVec, IntCounterVec, IntGaugeVec, Opts};

use crate::source::WatchHealth;

/// Asks the watches when somebody scrapes.
#[derive(Debug)]
pub(super) struct WatchMetrics {
    health: WatchHealth,
    synced: IntGaugeVec,
    errors: IntCounterVec,
    last_event: GaugeVec,
    stale: Gauge,
}

impl WatchMetrics {
    pub(super) fn of(health: WatchHealth) -> prometheus::Result<Self> {
        let opts = Opts::new;
        Ok(Self {
            health,
            synced: IntGaugeVec::new(
                opts("usher_watch_synced", "Whether a list is complete and no error has come since."),
                &["resource"],
            )?,
            errors: IntCounterVec::new(
                opts("usher_watch_errors_total", "Lists and watches that failed."),
                &["resource"],
            )?,
            last_event: GaugeVec::new(
                opts("usher_watch_last_event_timestamp_seconds", "When a watch has seen something last."),
                &["resource"],
            )?,
            stale: Gauge::new(
                "usher_rules_stale_seconds",
                "How long the API server has not been heard; 0 while rules follow it.",
            )?,
        })
    }
}

impl Collector for WatchMetrics {
    fn desc(&self) -> Vec<&Desc> {
        [self.synced.desc(), self.errors.desc(), self.last_event.desc(), self.stale.desc()].concat()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        for (resource, health) in self.health.read() {
            let label = &[resource.as_str()];
            self.synced.with_label_values(label).set(i64::from(health.synced));
            let errors = self.errors.with_label_values(label);
            errors.inc_by(health.errors.saturating_sub(errors.get()));
            if let Some(at) = health.last_event.and_then(|at| at.duration_since(UNIX_EPOCH).ok()) {
                self.last_event.with_label_values(label).set(at.as_secs_f64());
            }
        }
        self.stale.set(self.health.stale().as_secs_f64());
        [self.synced.collect(), self.errors.collect(), self.last_event.collect(), self.stale.collect()]
            .concat()
    }
}
