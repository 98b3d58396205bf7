//! The result for people: one block per resource.

use std::fmt::Write as _;

use serde_json::Value;
use similar::TextDiff;

use super::evaluate::Evaluated;
use super::explain;
use super::subject::Subject;
use crate::cli::terminal::{ADDED, FAINT, GREEN, RED, REMOVED, YELLOW, plain};
use crate::engine::{Decision, Phase, Request};

/// How a patch is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum PatchFormat {
    /// As a unified diff of the YAML.
    Diff,
    /// As the JSON Patch that is sent.
    Json,
}

/// The block of one resource.
pub(super) fn block(
    subject: &Subject,
    request: &Request<'_>,
    evaluated: &Evaluated,
    patches: PatchFormat,
    rules: usize,
) -> String {
    let mut out = heading(subject, request, evaluated);
    let mut told = Vec::new();
    for (phase, decision) in &evaluated.phases {
        if let Some(trace) = &decision.trace {
            let _ = writeln!(out, "  {} phase", phase.as_str());
            out.push_str(&explain::text(trace, rules));
        }
        found(&mut out, *phase, decision, &mut told);
        if let (PatchFormat::Json, Some(patch)) = (patches, &decision.patch) {
            operations(&mut out, patch);
        }
    }
    if evaluated.protected() {
        out.push_str("  never intercepted, so that a cluster can always be mended: no rule was asked\n");
    }
    if patches == PatchFormat::Diff && evaluated.patched.is_some() {
        diff(&mut out, subject, evaluated);
    }
    out
}

fn heading(subject: &Subject, request: &Request<'_>, evaluated: &Evaluated) -> String {
    let decision = match (evaluated.allowed(), evaluated.patched.is_some()) {
        (false, _) => format!("{RED}DENY{RED:#} "),
        (true, false) => format!("{GREEN}ALLOW{GREEN:#}"),
        (true, true) => format!("{GREEN}PATCH{GREEN:#}"),
    };
    let name = match (request.namespace, request.name) {
        (_, "") => "(no name yet)".to_owned(),
        ("", name) => name.to_owned(),
        (namespace, name) if request.kind.kind == "Namespace" && namespace == name => name.to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    };
    let subresource = match request.sub_resource {
        "" => String::new(),
        subresource => format!(" ({subresource})"),
    };
    let place = subject.place();
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{decision} {} {} {}{}  {FAINT}{}:{}{FAINT:#}",
        request.operation.as_str(),
        plain(request.kind.kind),
        plain(&name),
        plain(&subresource),
        plain(&place.file),
        place.line
    );
    out
}

/// What a phase found. What both phases say is told once.
fn found(out: &mut String, phase: Phase, decision: &Decision, told: &mut Vec<String>) {
    for rejection in &decision.rejections {
        let by = match &rejection.route {
            Some(route) => format!("{}/{route}", rejection.rule),
            None => rejection.rule.to_string(),
        };
        let error = if rejection.error.is_some() { ", evaluation error" } else { "" };
        let phase = if phase == Phase::Mutating { ", mutating phase" } else { "" };
        let _ = writeln!(
            out,
            "  {RED}rejected{RED:#} by {} ({} {}{error}{phase}): {}",
            plain(&by),
            rejection.code,
            rejection.reason,
            indented(&rejection.message)
        );
    }
    let mut lines = Vec::new();
    for warning in &decision.warnings {
        lines.push(format!("  {YELLOW}warning{YELLOW:#}: {}\n", indented(warning)));
    }
    for outcome in &decision.outcomes {
        if let Some(warning) = &outcome.warning {
            let rule = plain(&outcome.rule);
            lines.push(format!("  {YELLOW}hint{YELLOW:#} for {rule}: {}\n", indented(warning)));
        }
    }
    for (key, value) in &decision.audit_annotations {
        lines.push(format!("  audit annotation {}: {}\n", plain(key), indented(value)));
    }
    for line in lines {
        if !told.contains(&line) {
            out.push_str(&line);
            told.push(line);
        }
    }
}

fn operations(out: &mut String, patch: &[u8]) {
    let Ok(Value::Array(operations)) = serde_json::from_slice(patch) else { return };
    out.push_str("  patch:\n");
    for operation in operations {
        let _ = writeln!(out, "    {}", plain(&operation.to_string()));
    }
}

/// The object before and after, as YAML.
fn diff(out: &mut String, subject: &Subject, evaluated: &Evaluated) {
    let yaml = |json: Option<&str>| {
        let value: Value = json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        serde_saphyr::to_string(&value).unwrap_or_default()
    };
    let (before, after) = (yaml(evaluated.object.as_deref()), yaml(evaluated.patched.as_deref()));
    let diff = TextDiff::from_lines(&before, &after);
    let file = plain(&subject.place().file);
    let text = diff.unified_diff().context_radius(3).header(&file, "patched").to_string();
    for line in text.lines() {
        let line = plain(line);
        let _ = match line.as_bytes().first() {
            Some(b'+') => writeln!(out, "  {ADDED}{line}{ADDED:#}"),
            Some(b'-') => writeln!(out, "  {REMOVED}{line}{REMOVED:#}"),
            _ => writeln!(out, "  {line}"),
        };
    }
}

/// Further lines of a text under the first.
fn indented(text: &str) -> String {
    plain(text.trim_end()).replace('\n', "\n    ")
}
