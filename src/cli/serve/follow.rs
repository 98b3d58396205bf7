//! The one task that follows the source of rules and puts changes in force.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::rule_metrics::{Loaded, RuleMetrics};
use crate::cli::findings::counts;
use crate::cli::load::{findings, is_rule, nothing_in};
use crate::diagnostic::{Diagnostic, Severity};
use crate::engine::RuleSet;
use crate::rules::{LiveRules, RuleWriter};
use crate::source::{Change, DirectorySource, Snapshot, WatchOptions, feed, watch};
use crate::telemetry::Gate;

/// Changes that may wait: the source sends all that there is, so a newer one makes an older one superfluous.
const QUEUE: usize = 1;
/// Findings that are logged of one change; the rest is counted. A directory of broken files must not flood the log.
const MOST_LOGGED: usize = 100;

/// Owns the writer of the rules.
#[derive(Debug)]
pub(super) struct Follower {
    writer: RuleWriter,
    live: LiveRules,
    metrics: RuleMetrics,
    /// Opened once the rules are loaded.
    gate: Gate,
    /// What was found at the last change.
    known: Vec<Diagnostic>,
}

impl Follower {
    pub(super) fn new(writer: RuleWriter, live: LiveRules, metrics: RuleMetrics, gate: Gate) -> Self {
        Self { writer, live, metrics, gate, known: Vec::new() }
    }

    /// Follows the source for as long as it can be read. The end is an error of its own, which the process acts on.
    pub(super) async fn run(mut self, source: DirectorySource) {
        let roots = source.roots().to_vec();
        let (tx, mut rx) = mpsc::channel(QUEUE);
        let mut watching = Box::pin(watch(source, WatchOptions::default(), tx));
        loop {
            let change = tokio::select! {
                ended = &mut watching => {
                    tracing::error!(error = ?ended.err(), "the rules cannot be followed any more");
                    return;
                }
                Some(change) = rx.recv() => change,
            };
            let Change::Reset(snapshot) = change else { continue };
            if snapshot.files == 0 {
                tracing::warn!("--rules: no rules: {}", nothing_in(&roots, 0));
            }
            // Thousands of rules take a while to compile; reviews must not wait for it.
            match spawn_blocking(move || self.take_up(&snapshot)).await {
                Ok(this) => self = this,
                Err(error) => {
                    tracing::error!(%error, "the rules could not be taken up");
                    return;
                }
            }
        }
    }

    fn take_up(mut self, snapshot: &Arc<Snapshot>) -> Self {
        let start = Instant::now();
        let changed = feed(&Change::Reset(Arc::clone(snapshot)), &mut self.writer);
        let found = findings(snapshot, &self.writer);
        let rules = self.live.load();
        let loaded = self.loaded(snapshot, &found, &rules);
        self.metrics.reloaded(&loaded);
        log(found.iter().filter(|finding| !self.known.contains(finding)));
        self.known = found;
        let first = !self.gate.is_open();
        self.gate.open();
        let Loaded { rules: count, rejected, errors, warnings, broken_files, .. } = loaded;
        tracing::info!(
            rules = count,
            rejected,
            errors,
            warnings,
            files = snapshot.files,
            broken_files,
            changed,
            revision = rules.revision(),
            elapsed_ms = start.elapsed().as_millis() as u64,
            "{}",
            if first { "rules loaded" } else { "rules reloaded" }
        );
        self
    }

    fn loaded(&self, snapshot: &Snapshot, found: &[Diagnostic], rules: &RuleSet) -> Loaded {
        let (errors, warnings) = counts(found);
        let reports = || self.writer.reports().filter(|(key, _)| is_rule(key.kind));
        let accepted = reports().filter(|(_, report)| report.accepted).count();
        Loaded {
            rules: rules.rules().len(),
            accepted,
            rejected: reports().count() - accepted,
            errors,
            warnings,
            broken_files: snapshot.broken_files,
        }
    }
}

/// Findings with their place, each once.
fn log<'f>(findings: impl Iterator<Item = &'f Diagnostic>) {
    let mut left_out = 0_usize;
    for (number, finding) in findings.enumerate() {
        if number >= MOST_LOGGED {
            left_out += 1;
            continue;
        }
        let place = finding.place.as_ref();
        let (file, line) = (place.map(|place| &*place.file), place.map(|place| place.line));
        let (column, code) = (place.map(|place| place.column), finding.code.as_str());
        let (field, help) = (finding.field.as_str(), finding.help.as_deref());
        match finding.severity {
            Severity::Error => tracing::error!(file, line, column, code, field, help, "{}", finding.message),
            Severity::Warning => tracing::warn!(file, line, column, code, field, help, "{}", finding.message),
        }
    }
    if left_out > 0 {
        tracing::warn!(findings = left_out, "more findings were left out; usher check shows them all");
    }
}
