//! Findings as JSON, and how many of them there are.

use serde::Serialize;

use super::terminal::{Fault, chain};
use crate::diagnostic::{Diagnostic, Severity};

/// A finding in the JSON of the commands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// Path of the field in the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    field: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Line and column in the file, from 1, the column in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
}

impl Finding {
    pub(super) fn of(diagnostic: &Diagnostic) -> Self {
        let place = diagnostic.place.as_ref();
        Self {
            severity: match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            code: Some(diagnostic.code.as_str()),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            field: diagnostic.field.clone(),
            file: place.map(|place| place.file.to_string()),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
        }
    }

    /// Why a command could not run.
    pub(super) fn of_error(error: &anyhow::Error) -> Self {
        match error.downcast_ref::<Fault>() {
            Some(Fault(diagnostic)) => Self::of(diagnostic),
            None => Self {
                severity: "error",
                code: None,
                message: chain(error),
                help: None,
                field: String::new(),
                file: None,
                line: None,
                column: None,
            },
        }
    }

    pub(super) fn all(diagnostics: &[Diagnostic]) -> Vec<Self> {
        diagnostics.iter().map(Self::of).collect()
    }
}

/// Errors and warnings among findings.
pub(super) fn counts(diagnostics: &[Diagnostic]) -> (usize, usize) {
    let errors = diagnostics.iter().filter(|finding| finding.severity == Severity::Error).count();
    (errors, diagnostics.len() - errors)
}
