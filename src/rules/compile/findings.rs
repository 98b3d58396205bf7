//! Everything that is wrong with one object.

use std::collections::HashMap;
use std::fmt::Display;

use crate::diagnostic::{Code, Diagnostic, Severity};

/// Errors of one object that are kept; nobody reads on behind them.
const MAX_ERRORS: usize = 100;

/// Collects findings, so that a user sees all of them at once.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Diagnostic>,
    errors: usize,
}

impl Findings {
    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
            if self.errors > MAX_ERRORS {
                return;
            }
        }
        self.list.push(diagnostic);
    }

    pub(crate) fn add_all(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        diagnostics.into_iter().for_each(|diagnostic| self.add(diagnostic));
    }

    pub(crate) fn error(
        &mut self,
        code: Code,
        field: impl Into<String>,
        message: impl Into<String>,
        help: &str,
    ) {
        self.add(with_help(Diagnostic::error(code, message).at(field), help));
    }

    pub(crate) fn warning(
        &mut self,
        code: Code,
        field: impl Into<String>,
        message: impl Into<String>,
        help: &str,
    ) {
        self.add(with_help(Diagnostic::warning(code, message).at(field), help));
    }

    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// The warnings, or everything if there is an error among them.
    pub(crate) fn finish(mut self) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        if let Some(more) = self.errors.checked_sub(MAX_ERRORS + 1) {
            let message = format!("{} more errors are not shown", more + 1);
            self.list.push(Diagnostic::error(Code::OutOfBounds, message));
        }
        if self.has_errors() { Err(self.list) } else { Ok(self.list) }
    }

    /// Names that must be unique in a list.
    pub(crate) fn unique<'n>(&mut self, list: &str, key: &str, names: impl Iterator<Item = &'n str>) {
        let mut first: HashMap<&str, usize> = HashMap::new();
        for (index, name) in names.enumerate() {
            let before = *first.entry(name).or_insert(index);
            if before != index {
                self.error(
                    Code::DuplicateItem,
                    format!("{list}[{index}].{key}"),
                    format!("`{name}` is already the {key} of {list}[{before}]"),
                    "give each its own",
                );
            }
        }
    }

    /// A list that must not be longer than `most`.
    pub(crate) fn at_most(&mut self, field: &str, length: usize, most: usize) {
        if length > most {
            self.error(Code::OutOfBounds, field, format!("{length} items; at most {most} are allowed"), "");
        }
    }

    /// A text that must not be longer than `most`, in the unit that is named.
    pub(crate) fn text_at_most(&mut self, field: &str, length: usize, most: usize, unit: impl Display) {
        if length > most {
            self.error(Code::OutOfBounds, field, format!("{length} {unit}; at most {most} are allowed"), "");
        }
    }
}

fn with_help(diagnostic: Diagnostic, help: &str) -> Diagnostic {
    if help.is_empty() { diagnostic } else { diagnostic.help(help) }
}
