//! Which rules are evaluated no more.

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntGauge, Opts};

use crate::rules::LiveRules;

/// Looks at the rules in force when somebody scrapes.
#[derive(Debug)]
pub(super) struct QuarantineMetrics {
    rules: LiveRules,
    quarantined: IntGauge,
}

impl QuarantineMetrics {
    pub(super) fn of(rules: LiveRules) -> prometheus::Result<Self> {
        let help = "Rules that this replica evaluates no more because they panicked repeatedly.";
        let quarantined = IntGauge::with_opts(Opts::new("usher_rules_quarantined", help))?;
        Ok(Self { rules, quarantined })
    }
}

impl Collector for QuarantineMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.quarantined.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let rules = self.rules.load();
        let count = rules.rules().iter().filter(|rule| rule.panics.is_quarantined()).count();
        self.quarantined.set(i64::try_from(count).unwrap_or(i64::MAX));
        self.quarantined.collect()
    }
}
