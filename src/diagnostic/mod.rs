//! What is wrong with something that a user wrote, and where: one type for all findings, from a YAML fault to a CEL
//! type error, with its code, its place in the file and the way to mend it.
//!
//! Who finds a fault knows the field and, inside an expression, the characters. Who read the file knows where that field
//! stands: [`SourceMap::locate`] brings the two together. A finding without a file (an object that came from the API
//! server) shows the expression itself.

mod code;
mod excerpt;
mod place;
mod render;
mod scalar;
mod source_map;

pub use code::Code;
pub use excerpt::Excerpt;
pub use place::{Place, SourceText};
pub use render::render;
pub use scalar::ScalarStyle;
pub use source_map::{Key, Node, NodeKind, SourceMap};

use std::fmt;
use std::ops::Range;

/// Whether a finding keeps an object from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The object is not used as it is.
    Error,
    /// The object is used, but hardly does what its author wants.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// One finding. `Display` gives the one-line form for logs; [`render`] the form with source and caret.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Whether the object can be used.
    pub severity: Severity,
    /// The kind of fault.
    pub code: Code,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// How to mend it.
    pub help: Option<String>,
    /// Path of the field, such as `spec.routes[0].predicate`; empty for the object or file as a whole.
    pub field: String,
    /// The part of the field's text that is meant, where the field is an expression.
    pub text: Option<TextSpan>,
    /// Where it stands in a file, once known.
    pub place: Option<Place>,
    /// The lines to show.
    pub excerpt: Option<Excerpt>,
    /// Word beside the caret.
    pub label: Option<String>,
}

/// A part of the text of one field, such as a sub-expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSpan {
    /// Line in the field's text, from 1.
    pub line: usize,
    /// Column in the line, in characters, from 1.
    pub column: usize,
    /// Bytes of the field's text.
    pub span: Range<usize>,
}

impl Diagnostic {
    /// A finding that keeps the object from being used.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// A finding that does not.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    fn new(severity: Severity, code: Code, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            message: message.into(),
            help: None,
            field: String::new(),
            text: None,
            place: None,
            excerpt: None,
            label: None,
        }
    }

    /// Names the field.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }

    /// Says which bytes of the field's `text` are meant. Without a file the text itself is shown.
    #[must_use]
    pub fn within(self, text: &str, span: Range<usize>) -> Self {
        self.within_source(&SourceText::new("", text), span)
    }

    /// As [`Self::within`], for who has many findings about one text.
    #[must_use]
    pub fn within_source(mut self, source: &SourceText, span: Range<usize>) -> Self {
        let (line, column) = source.line_column(span.start);
        self.excerpt = Some(Excerpt::of(source, span.clone()));
        self.text = Some(TextSpan { line, column, span });
        self
    }

    /// Says how to mend it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Puts a word beside the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Says where it stands: bytes of a file.
    #[must_use]
    pub fn in_file(mut self, source: &SourceText, span: Range<usize>) -> Self {
        self.excerpt = Some(Excerpt::of(source, span.clone()));
        self.place = Some(source.place(span));
        self
    }

    /// Says in which file it is, where there is no text to show.
    #[must_use]
    pub fn in_file_named(mut self, file: &str) -> Self {
        self.place = Some(SourceText::new(file, "").place(0..0));
        self
    }
}

impl fmt::Display for Diagnostic {
    /// `file:line:column: error[U0203]: field: message (help)`, always one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}[{}]: ", self.severity, self.code)?;
        if !self.field.is_empty() {
            write!(f, "{}", self.field)?;
            if let (None, Some(text)) = (&self.place, &self.text) {
                write!(f, ":{}:{}", text.line, text.column)?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&one_line(&self.message))?;
        if let Some(help) = &self.help {
            write!(f, " ({})", one_line(help))?;
        }
        Ok(())
    }
}

/// Control characters would let the text of an object forge log lines.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests;
