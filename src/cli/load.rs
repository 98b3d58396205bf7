//! From paths to rules that can be asked: by the same reader and writer as in the server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use usher_cel::KubernetesVersion;

use super::terminal::Fault;
use crate::diagnostic::Diagnostic;
use crate::engine::Protected;
use crate::rules::{ItemKind, LiveRules, RuleWriter};
use crate::source::{Change, DirectorySource, Snapshot, feed};

/// The rules of some paths, with what was found in them.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) writer: RuleWriter,
    pub(super) live: LiveRules,
    /// The objects as they were read.
    pub(super) snapshot: Arc<Snapshot>,
    /// All findings, those of the files included, in the order of files and places.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Rules and policies that were found, usable or not.
    pub(super) found: usize,
}

/// Reads, and compiles for a version of Kubernetes.
///
/// # Errors
/// A path that cannot be read, or paths without any rule. The text names the flag that the paths come from, if there is one.
pub(super) fn load(
    paths: &[PathBuf],
    flag: Option<&str>,
    protected: Protected,
    version: KubernetesVersion,
) -> anyhow::Result<Rules> {
    let source =
        DirectorySource::open(paths.iter().cloned()).map_err(|fault| Fault::of_flag(*fault, flag))?;
    let snapshot = Arc::new(source.snapshot());
    let (writer, live) = RuleWriter::new(protected);
    let mut writer = writer.for_version(version);
    feed([&Change::Reset(Arc::clone(&snapshot))], &mut writer);
    let diagnostics = findings(&snapshot, &writer);
    let found = found(&writer);
    if found == 0 && diagnostics.is_empty() {
        let flag = flag.map(|flag| format!("{flag}: ")).unwrap_or_default();
        bail!("{flag}no rules found: {}", nothing_in(paths, snapshot.files));
    }
    Ok(Rules { writer, live, snapshot, diagnostics, found })
}

/// All findings about files and rules, in the order in which one reads.
pub(super) fn findings(snapshot: &Snapshot, writer: &RuleWriter) -> Vec<Diagnostic> {
    let mut all = snapshot.diagnostics.clone();
    for (_, report) in writer.reports() {
        for finding in &report.diagnostics {
            // What could not be read is told by both.
            if !snapshot.broken.iter().any(|broken| broken.diagnostics.contains(finding)) {
                all.push(finding.clone());
            }
        }
    }
    in_order(&mut all);
    all
}

/// Sorts findings by file and place.
pub(super) fn in_order(findings: &mut [Diagnostic]) {
    findings.sort_by(|a, b| {
        let place =
            |d: &Diagnostic| d.place.as_ref().map(|place| (place.file.clone(), place.line, place.column));
        place(a).cmp(&place(b))
    });
}

/// How many rules and policies there are, usable or not.
pub(super) fn found(writer: &RuleWriter) -> usize {
    writer.reports().filter(|(key, _)| is_rule(key.kind)).count()
}

/// Whether objects of the kind are rules by themselves.
pub(super) fn is_rule(kind: ItemKind) -> bool {
    match kind {
        ItemKind::RoutingRule | ItemKind::ValidatingAdmissionPolicy | ItemKind::MutatingAdmissionPolicy => {
            true
        }
        ItemKind::ValidatingAdmissionPolicyBinding | ItemKind::MutatingAdmissionPolicyBinding => false,
    }
}

/// Why paths have no rules.
pub(super) fn nothing_in(paths: &[PathBuf], files: usize) -> String {
    let names: Vec<_> = paths.iter().map(|path| Path::display(path).to_string()).collect();
    let names = names.join(", ");
    match files {
        0 => format!("there are no .yaml, .yml or .json files in {names}"),
        _ => format!(
            "{names} has no object of kind RoutingRule, ValidatingAdmissionPolicy or MutatingAdmissionPolicy"
        ),
    }
}

#[cfg(test)]
mod tests;
