//! `usher check`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use usher_cel::KubernetesVersion;

use super::Exit;
use super::args::API_VERSION;
use super::cel::CelArgs;
use super::findings::{Finding, counts};
use super::load::{Rules, in_order, load};
use super::terminal::{self, count};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::engine::Protected;
use crate::rules::type_check;
use crate::schemas::Schemas;
use crate::source::Snapshot;

/// Read and compile rules and say what is wrong with them.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Exit codes: 0 no errors (there may be warnings), 1 errors, 2 could not run.")]
pub(super) struct CheckArgs {
    /// Files, or directories with .yaml, .yml and .json files: rules, policies, and the objects that they refer to.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// How findings are written.
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_enum)]
    output: Output,

    #[command(flatten)]
    cel: CelArgs,

    /// Take what does not go with the schemas of the kinds (U0107) for an error.
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// With source lines and carets.
    Text,
    /// One JSON document.
    Json,
    /// Annotations of GitHub Actions.
    Github,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckResult {
    api_version: &'static str,
    kind: &'static str,
    summary: Summary,
    diagnostics: Vec<Finding>,
    /// Why the command could not run.
    errors: Vec<Finding>,
}

#[derive(Default, Serialize)]
struct Summary {
    files: usize,
    rules: usize,
    errors: usize,
    warnings: usize,
}

pub(super) fn run(CheckArgs { paths, output, cel, strict }: CheckArgs) -> anyhow::Result<Exit> {
    let rules = match load(&paths, None, Protected::default(), cel.version) {
        Ok(rules) => rules,
        Err(error) => {
            if output == Output::Json {
                terminal::json(&CheckResult::new(Summary::default(), &[], vec![Finding::of_error(&error)]))?;
            }
            return Err(error);
        }
    };
    let Rules { mut diagnostics, snapshot, found, .. } = rules;
    diagnostics.extend(against_schemas(&snapshot, cel.version, strict));
    in_order(&mut diagnostics);
    let (errors, warnings) = counts(&diagnostics);
    match output {
        Output::Text => terminal::out(&text(&diagnostics))?,
        Output::Json => {
            let summary = Summary { files: snapshot.files, rules: found, errors, warnings };
            terminal::json(&CheckResult::new(summary, &diagnostics, Vec::new()))?;
        }
        Output::Github => terminal::out(&github(&diagnostics))?,
    }
    terminal::tell(format_args!(
        "checked {}, {}: {}, {}",
        count(snapshot.files, "file"),
        count(found, "rule"),
        count(errors, "error"),
        count(warnings, "warning")
    ));
    Ok(if errors > 0 { Exit::Findings } else { Exit::Clean })
}

/// Holds expressions against the built-in kinds and those that are defined beside the rules.
fn against_schemas(snapshot: &Snapshot, version: KubernetesVersion, strict: bool) -> Vec<Diagnostic> {
    let mut schemas = Schemas::built_in();
    for stored in snapshot.store.iter().filter(|stored| &*stored.key().kind == "CustomResourceDefinition") {
        if let Ok(definition) = serde_json::from_str(stored.json()) {
            schemas.learn(&definition);
        }
    }
    let mut found = Vec::new();
    for object in &snapshot.objects {
        let Some(item) = object.item() else { continue };
        for mut finding in type_check(&item, &schemas, version) {
            if strict && finding.code == Code::SchemaMismatch {
                finding.severity = Severity::Error;
            }
            found.push(match object.map() {
                Some(map) => map.locate(finding),
                None => finding,
            });
        }
    }
    found
}

impl CheckResult {
    fn new(summary: Summary, diagnostics: &[Diagnostic], errors: Vec<Finding>) -> Self {
        let diagnostics = Finding::all(diagnostics);
        Self { api_version: API_VERSION, kind: "CheckResult", summary, diagnostics, errors }
    }
}

fn text(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|finding| format!("{}\n\n", terminal::rendered(finding))).collect()
}

/// <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>
fn github(diagnostics: &[Diagnostic]) -> String {
    let mut lines = String::new();
    for finding in diagnostics {
        let command = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut message = match &*finding.field {
            "" => finding.message.clone(),
            field => format!("{field}: {}", finding.message),
        };
        if let Some(help) = &finding.help {
            let _ = write!(message, "\nhelp: {help}");
        }
        let mut place = String::new();
        if let Some(at) = &finding.place {
            let file = escaped(&at.file).replace(':', "%3A").replace(',', "%2C");
            let _ = write!(place, "file={file},line={},col={},", at.line, at.column);
        }
        let _ = writeln!(lines, "::{command} {place}title={}::{}", finding.code, escaped(&message));
    }
    lines
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}
