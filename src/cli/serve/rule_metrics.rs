//! What is counted about rules.

use std::time::{SystemTime, UNIX_EPOCH};

use prometheus::{Gauge, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use crate::telemetry::registered;

/// The metrics of the rules in force and of what was read last.
#[derive(Clone, Debug)]
pub(super) struct RuleMetrics {
    rules: IntGauge,
    policies: IntGaugeVec,
    diagnostics: IntGaugeVec,
    broken_files: IntGauge,
    reloads: IntCounterVec,
    last_successful: IntGauge,
    last_success: Gauge,
}

/// What there is after a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Loaded {
    /// Rules that answer requests.
    pub(super) rules: usize,
    /// Rules and policies whose newest version is in force, and others.
    pub(super) accepted: usize,
    pub(super) rejected: usize,
    pub(super) errors: usize,
    pub(super) warnings: usize,
    pub(super) broken_files: usize,
}

impl RuleMetrics {
    /// # Errors
    /// When the registry has metrics of these names.
    pub(super) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let gauge = |name: &str, help: &str| registered(registry, IntGauge::new(name, help)?);
        let gauges = |name: &str, help: &str, label: &str| {
            registered(registry, IntGaugeVec::new(Opts::new(name, help), &[label])?)
        };
        let this = Self {
            rules: gauge("usher_rule_set_rules", "Rules that answer requests.")?,
            policies: gauges(
                "usher_policies",
                "Rules and policies by whether their newest version is in force.",
                "status",
            )?,
            diagnostics: gauges("usher_config_diagnostics", "Findings about files and rules.", "severity")?,
            broken_files: gauge(
                "usher_config_broken_files",
                "Files and paths that cannot be read as a whole.",
            )?,
            reloads: registered(
                registry,
                IntCounterVec::new(
                    Opts::new("usher_config_reloads_total", "Changes of the rules that were taken up."),
                    &["result"],
                )?,
            )?,
            last_successful: gauge(
                "usher_config_last_reload_successful",
                "Whether everything was in order at the last change (1), or something was not (0).",
            )?,
            last_success: registered(
                registry,
                Gauge::new(
                    "usher_config_last_reload_success_timestamp_seconds",
                    "When everything was in order the last time.",
                )?,
            )?,
        };
        // Series are there before anything happens, so that a rate has a start.
        for result in ["success", "failure"] {
            this.reloads.with_label_values(&[result]);
        }
        Ok(this)
    }

    pub(super) fn reloaded(&self, loaded: &Loaded) {
        let set = |gauge: &IntGauge, count: usize| gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        set(&self.rules, loaded.rules);
        set(&self.policies.with_label_values(&["accepted"]), loaded.accepted);
        set(&self.policies.with_label_values(&["rejected"]), loaded.rejected);
        set(&self.diagnostics.with_label_values(&["error"]), loaded.errors);
        set(&self.diagnostics.with_label_values(&["warning"]), loaded.warnings);
        set(&self.broken_files, loaded.broken_files);
        let succeeded = loaded.errors == 0;
        self.reloads.with_label_values(&[if succeeded { "success" } else { "failure" }]).inc();
        self.last_successful.set(i64::from(succeeded));
        if succeeded && let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) {
            self.last_success.set(now.as_secs_f64());
        }
    }
}
