//! The one task that follows the sources of rules and puts changes in force.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;

use super::findings::{Found, found, log};
use super::rule_metrics::{Loaded, RuleMetrics};
use crate::cli::load::{is_rule, nothing_in};
use crate::diagnostic::Severity;
use crate::engine::RuleSet;
use crate::rules::{ItemKind, LiveRules, RuleWriter, Served};
use crate::source::{
    Change, ClusterSource, DirectorySource, Merge, Origin, Snapshot, Told, WatchOptions, feed,
    watch as watch_files,
};
use crate::telemetry::Gate;

/// Changes of files that may wait: each is all that there is, so a newer one makes an older one superfluous.
const FILES: usize = 1;
/// Changes of the cluster that may wait, and are then put in force together: what a storm of 200 a second brings while 10,000 rules are
/// published. The watches wait for room.
const CLUSTER: usize = 256;

/// Where rules come from.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) files: Option<DirectorySource>,
    pub(super) cluster: Option<ClusterSource>,
}

/// Owns the writer of the rules.
#[derive(Debug)]
pub(super) struct Follower {
    writer: RuleWriter,
    live: LiveRules,
    metrics: RuleMetrics,
    /// Opened once the rules of all sources are loaded.
    gate: Gate,
    merge: Merge,
    /// What was found at the last change.
    known: Vec<Found>,
    /// Who wants to know what has become of rules; nobody does without a cluster.
    served: Option<watch::Sender<Served>>,
    /// Resource version up to which the rules of the cluster are taken up.
    version: u64,
}

impl Follower {
    pub(super) fn new(writer: RuleWriter, live: LiveRules, metrics: RuleMetrics, gate: Gate) -> Self {
        let merge = Merge::of(false, false);
        Self { writer, live, metrics, gate, merge, known: Vec::new(), served: None, version: 0 }
    }

    /// Says after each change what has become of the rules.
    pub(super) fn telling(self, served: watch::Sender<Served>) -> Self {
        Self { served: Some(served), ..self }
    }

    /// Follows the sources for as long as they can be read. The end is an error of its own, which the process acts on.
    pub(super) async fn run(mut self, Sources { files, cluster }: Sources) {
        self.merge = Merge::of(files.is_some(), cluster.is_some());
        let roots = files.as_ref().map(|files| files.roots().to_vec()).unwrap_or_default();
        let (files_tx, mut from_files) = mpsc::channel(FILES);
        let (cluster_tx, mut from_cluster) = mpsc::channel(CLUSTER);
        let mut watching_files = Box::pin(async move {
            match files {
                Some(files) => watch_files(files, WatchOptions::default(), files_tx).await.err(),
                None => std::future::pending().await,
            }
        });
        let mut watching_cluster = Box::pin(async move {
            match cluster {
                Some(cluster) => cluster.run(cluster_tx).await,
                None => std::future::pending().await,
            }
        });
        loop {
            let mut told = Vec::new();
            let mut changes = Vec::new();
            tokio::select! {
                error = &mut watching_files => {
                    tracing::error!(?error, "the rules cannot be followed any more");
                    return;
                }
                () = &mut watching_cluster => {
                    tracing::error!("the rules of the cluster cannot be followed any more");
                    return;
                }
                Some(change) = from_files.recv() => changes.push((Origin::Directory, change)),
                _ = from_cluster.recv_many(&mut told, CLUSTER), if !from_cluster.is_closed() => {}
            }
            for Told { change, version } in told {
                changes.extend(change.map(|change| (Origin::Cluster, change)));
                self.version = version;
            }
            warn_of_nothing(&changes, &roots);
            // Thousands of rules take a while to compile; reviews must not wait for it.
            match spawn_blocking(move || self.take_up(changes)).await {
                Ok(this) => self = this,
                Err(error) => {
                    tracing::error!(%error, "the rules could not be taken up");
                    return;
                }
            }
        }
    }

    fn take_up(mut self, changes: Vec<(Origin, Change)>) -> Self {
        let start = Instant::now();
        let mut files = Arc::clone(self.merge.files());
        let mut merged = Vec::new();
        for (origin, change) in changes {
            if let (Origin::Directory, Change::Reset(snapshot)) = (origin, &change) {
                files = Arc::clone(snapshot);
            }
            merged.extend(self.merge.take(origin, change));
        }
        let changed = feed(&merged, &mut self.writer);
        if self.merge.is_complete() {
            self.report(&merged, &files, changed, start);
        }
        self
    }

    /// Tells people, and whoever writes the status; the first time, that there are rules.
    fn report(&mut self, changes: &[Change], files: &Snapshot, changed: bool, start: Instant) {
        if let Some(served) = &self.served {
            let rules = self.merge.hidden().filter(|key| &*key.kind == ItemKind::RoutingRule.as_str());
            let now = Served::of(&self.writer, self.version);
            served.send_replace(rules.fold(now, |now, key| now.without(&key.name)));
        }
        let first = !self.gate.is_open();
        // Other objects come and go all the time.
        if !first && !changes.iter().any(concerns_rules) {
            return;
        }
        let found = found(files, &self.writer);
        if !first && !changed && found == self.known && !is_reset(changes) {
            return;
        }
        let rules = self.live.load();
        let loaded = self.loaded(files, &found, &rules);
        self.metrics.reloaded(&loaded);
        log(found.iter().filter(|finding| !self.known.contains(finding)));
        self.known = found;
        // Who reads that the rules are loaded may ask at once.
        self.gate.open();
        let Loaded { rules: count, rejected, errors, warnings, broken_files, .. } = loaded;
        tracing::info!(
            rules = count,
            rejected,
            errors,
            warnings,
            files = files.files,
            broken_files,
            changed,
            revision = rules.revision(),
            elapsed_ms = start.elapsed().as_millis() as u64,
            "{}",
            if first { "rules loaded" } else { "rules reloaded" }
        );
        if errors > 0 {
            tracing::warn!(
                errors,
                "rules with errors keep their last good version; where there is none, what they match is rejected, or \
                 let through with failurePolicy Ignore"
            );
        }
    }

    fn loaded(&self, files: &Snapshot, found: &[Found], rules: &RuleSet) -> Loaded {
        let errors = found.iter().filter(|found| found.diagnostic.severity == Severity::Error).count();
        let reports = || self.writer.reports().filter(|(key, _)| is_rule(key.kind));
        let accepted = reports().filter(|(_, report)| report.accepted).count();
        Loaded {
            rules: rules.rules().len(),
            accepted,
            rejected: reports().count() - accepted,
            errors,
            warnings: found.len() - errors,
            broken_files: files.broken_files,
        }
    }
}

fn warn_of_nothing(changes: &[(Origin, Change)], roots: &[PathBuf]) {
    let is_empty = |change: &Change| matches!(change, Change::Reset(snapshot) if snapshot.files == 0);
    if changes.iter().any(|(origin, change)| *origin == Origin::Directory && is_empty(change)) {
        tracing::warn!("--rules: no rules: {}", nothing_in(roots, 0));
    }
}

/// A source was read anew, which people want to see even if nothing came of it.
fn is_reset(changes: &[Change]) -> bool {
    changes.iter().any(|change| matches!(change, Change::Reset(_)))
}

/// Whether something may have become of rules.
fn concerns_rules(change: &Change) -> bool {
    use crate::source::Object;
    match change {
        Change::Reset(_) => true,
        Change::Apply(object) => !matches!(object, Object::Other(_)),
        Change::Broken(_) => true,
        Change::Delete(key) => ItemKind::parse(&key.kind).is_some(),
    }
}
