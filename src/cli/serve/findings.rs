//! What was found in files and rules, for the log.

use crate::diagnostic::{Diagnostic, Severity};
use crate::rules::RuleWriter;
use crate::source::Snapshot;

/// Findings that are logged of one change; the rest is counted. A directory of broken files must not flood the log.
const MOST_LOGGED: usize = 100;

/// A finding, with the object that it is about if no file says so.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) object: Option<String>,
    pub(super) diagnostic: Diagnostic,
}

/// All findings about files and rules, in the order in which one reads.
pub(super) fn found(files: &Snapshot, writer: &RuleWriter) -> Vec<Found> {
    let of_file = |diagnostic: &Diagnostic| Found { object: None, diagnostic: diagnostic.clone() };
    let mut all: Vec<Found> = files.diagnostics.iter().map(of_file).collect();
    for (key, report) in writer.reports() {
        for finding in &report.diagnostics {
            // What could not be read is told by both.
            if !files.broken.iter().any(|broken| broken.diagnostics.contains(finding)) {
                let object = finding.place.is_none().then(|| key.to_string());
                all.push(Found { object, diagnostic: finding.clone() });
            }
        }
    }
    all.sort_by_cached_key(|found| {
        let place = found.diagnostic.place.as_ref();
        (found.object.clone(), place.map(|place| (place.file.clone(), place.line, place.column)))
    });
    all
}

/// Findings with their place, each once.
pub(super) fn log<'f>(findings: impl Iterator<Item = &'f Found>) {
    let mut left_out = 0_usize;
    for (number, Found { object, diagnostic: finding }) in findings.enumerate() {
        if number >= MOST_LOGGED {
            left_out += 1;
            continue;
        }
        let (place, text) = (finding.place.as_ref(), finding.text.as_ref());
        let (object, file) = (object.as_deref(), place.map(|place| &*place.file));
        let line = place.map(|place| place.line).or(text.map(|text| text.line));
        let column = place.map(|place| place.column).or(text.map(|text| text.column));
        let code = finding.code.as_str();
        let field = Some(finding.field.as_str()).filter(|field| !field.is_empty());
        let help = finding.help.as_deref();
        match finding.severity {
            Severity::Error => {
                tracing::error!(object, file, line, column, code, field, help, "{}", finding.message);
            }
            Severity::Warning => {
                tracing::warn!(object, file, line, column, code, field, help, "{}", finding.message);
            }
        }
    }
    if left_out > 0 {
        tracing::warn!(findings = left_out, "more findings were left out; usher check shows them all");
    }
}
