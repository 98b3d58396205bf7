use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};

use super::kept::Written;
use super::path::Outcome;
use crate::rules::registration::Hook;
use crate::telemetry::registered;

/// What is counted about registration, on the replica that leads.
#[derive(Clone, Debug)]
pub struct RegistrationMetrics {
    armed: IntGaugeVec,
    probes: IntCounterVec,
    writes: IntCounterVec,
}

impl RegistrationMetrics {
    /// # Errors
    /// When the registry has metrics of these names.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let armed = Opts::new(
            "usher_webhook_armed",
            "Whether calls of a path that fail refuse requests (1), as this replica has arranged it.",
        );
        let probes =
            Opts::new("usher_webhook_probes_total", "Probes through the API server by what came of them.");
        let writes = Opts::new(
            "usher_webhook_configuration_writes_total",
            "Attempts to write a webhook configuration.",
        );
        let this = Self {
            armed: registered(registry, IntGaugeVec::new(armed, &["path"])?)?,
            probes: registered(registry, IntCounterVec::new(probes, &["path", "result"])?)?,
            writes: registered(registry, IntCounterVec::new(writes, &["result"])?)?,
        };
        for hook in Hook::ALL {
            this.probes.with_label_values(&[label(hook), "answered"]);
        }
        for result in ["success", "conflict", "failure"] {
            this.writes.with_label_values(&[result]);
        }
        Ok(this)
    }

    pub(super) fn armed(&self, hook: Hook, is_armed: bool) {
        self.armed.with_label_values(&[label(hook)]).set(i64::from(is_armed));
    }

    pub(super) fn probed(&self, hook: Hook, outcome: &Outcome) {
        let result = match outcome {
            Outcome::Answered => "answered",
            Outcome::NotAsked => "not_asked",
            Outcome::Unreachable(_) => "unreachable",
            Outcome::Refused(_) => "refused",
            Outcome::Silence(_) => "silence",
        };
        self.probes.with_label_values(&[label(hook), result]).inc();
    }

    pub(super) fn wrote(&self, result: Written) {
        let label = match result {
            Written::Success => "success",
            Written::Conflict => "conflict",
            Written::Failure => "failure",
        };
        self.writes.with_label_values(&[label]).inc();
    }

    /// Another replica knows better from now on.
    pub(super) fn forget(&self) {
        self.armed.reset();
    }
}

/// As the metrics of the server name it.
fn label(hook: Hook) -> &'static str {
    hook.path().trim_start_matches('/')
}
