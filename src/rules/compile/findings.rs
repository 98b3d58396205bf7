//! Everything that is wrong with one object.

use std::collections::HashMap;
use std::fmt::Display;

use crate::diagnostic::{Code, Diagnostic, Severity};

/// Collects findings, so that a user sees all of them at once.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Diagnostic>,
}

impl Findings {
    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
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

    pub(crate) fn has_errors(&self) -> bool {
        self.list.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// The warnings, or everything if there is an error among them.
    pub(crate) fn finish(self) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
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
