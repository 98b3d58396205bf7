use std::collections::BTreeMap;
use std::sync::Arc;

use super::item::ItemKind;
use super::writer::{Report, RuleWriter};
use crate::diagnostic::{Code, Diagnostic};

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

    /// Says of a rule of the API server that it is not served, because another source has one of the same name.
    #[must_use]
    pub fn without(mut self, rule: &str) -> Self {
        let message = "a file of this server defines a rule of this name, and what the file says counts";
        let finding = Diagnostic::error(Code::DuplicateObject, message).at("metadata.name");
        let finding = finding.help("give one of them another name");
        if let Some(report) = Arc::make_mut(&mut self.reports).get_mut(rule) {
            *report = Report {
                accepted: false,
                generation: 0,
                served_generation: None,
                diagnostics: vec![finding],
            };
        }
        self
    }
}
