use std::collections::BTreeMap;
use std::sync::Arc;

use super::item::ItemKind;
use super::writer::{Report, RuleWriter};

/// What has become of the `RoutingRule`s in this process, for whoever writes their status. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// Resource version of the API server up to which changes of rules are in force here; 0 before the first list.
    pub version: u64,
    /// By name of the rule.
    pub reports: Arc<BTreeMap<Box<str>, Report>>,
}

impl Served {
    /// As of the last publication.
    pub fn of(writer: &RuleWriter, version: u64) -> Self {
        let rules = writer.reports().filter(|(key, _)| key.kind == ItemKind::RoutingRule);
        let reports = rules.map(|(key, report)| (key.name.clone(), report.clone())).collect();
        Self { version, reports: Arc::new(reports) }
    }
}
