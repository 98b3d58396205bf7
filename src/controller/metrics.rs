//! What is counted about leading and writing.

use kube::api::DynamicObject;
use prometheus::{IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use crate::api::{RoutingRuleStatus, condition_types};
use crate::telemetry::registered;

/// The metrics of a controller.
#[derive(Clone, Debug)]
pub struct ControllerMetrics {
    pub(super) leader: IntGauge,
    writes: IntCounterVec,
    conditions: IntGaugeVec,
}

/// How an attempt to write a status ended.
#[derive(Debug)]
pub(super) enum Written {
    /// With the rule as it is now.
    Success(Box<DynamicObject>),
    /// The rule has changed meanwhile, or somebody else owns a field.
    Conflict,
    Failure,
}

impl ControllerMetrics {
    /// # Errors
    /// When the registry has metrics of these names.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let leader = IntGauge::new("usher_leader", "Whether this replica writes the status of rules.")?;
        let writes = Opts::new("usher_status_writes_total", "Attempts to write the status of a rule.");
        let conditions = Opts::new(
            "usher_rule_condition",
            "Conditions of rules as this replica has written them: 1 true, 0 false.",
        );
        let this = Self {
            leader: registered(registry, leader)?,
            writes: registered(registry, IntCounterVec::new(writes, &["result"])?)?,
            conditions: registered(registry, IntGaugeVec::new(conditions, &["rule", "type"])?)?,
        };
        for result in ["success", "conflict", "failure"] {
            this.writes.with_label_values(&[result]);
        }
        Ok(this)
    }

    pub(super) fn wrote(&self, result: &Written) {
        let label = match result {
            Written::Success(_) => "success",
            Written::Conflict => "conflict",
            Written::Failure => "failure",
        };
        self.writes.with_label_values(&[label]).inc();
    }

    pub(super) fn condition(&self, rule: &str, status: &RoutingRuleStatus) {
        for condition in &status.conditions {
            let is_true = i64::from(condition.status == "True");
            self.conditions.with_label_values(&[rule, &condition.type_]).set(is_true);
        }
    }

    /// The rule is gone.
    pub(super) fn forget_conditions_of(&self, rule: &str) {
        for type_ in condition_types::OURS {
            // It may never have been written.
            let _ = self.conditions.remove_label_values(&[rule, type_]);
        }
    }

    /// Another replica knows better from now on.
    pub(super) fn forget_conditions(&self) {
        self.conditions.reset();
    }
}

#[cfg(test)]
mod tests {
    use crate::api::Condition;

    use super::*;

    #[test]
    fn a_rule_that_is_gone_has_no_conditions() {
        let registry = Registry::new();
        let metrics = ControllerMetrics::register(&registry).unwrap();
        let ready: Condition = serde_json::from_value(serde_json::json!({
            "type": condition_types::READY, "status": "True", "reason": "InForce", "message": "",
            "lastTransitionTime": "2030-01-01T00:00:00Z",
        }))
        .unwrap();
        let status = RoutingRuleStatus { conditions: vec![ready], ..RoutingRuleStatus::default() };
        let series = || {
            let families = registry.gather();
            let conditions = families.iter().find(|family| family.name() == "usher_rule_condition");
            conditions.map_or(0, |family| family.get_metric().len())
        };
        metrics.condition("a", &status);
        metrics.condition("b", &status);
        assert_eq!(series(), 2);
        metrics.forget_conditions_of("a");
        metrics.forget_conditions_of("never-written");
        assert_eq!(series(), 1);
    }
}
