//! What is wrong with an expression, found before it runs: issues with a place, printed as Kubernetes prints them.

use std::fmt;
use std::sync::Arc;

use crate::ast::{Position, Span};

/// One thing that is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    pub span: Span,
    /// The byte that Kubernetes' text points at: in an operation its operator, in a call its bracket.
    pub caret: u32,
    /// What is wrong and what was expected. Kubernetes' text where it has one.
    pub message: String,
    /// How to put it right.
    pub help: Option<String>,
}

/// Everything that is wrong with one expression, in the order of the text; never empty, at most [`Issues::LIMIT`] and one
/// more that counts the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issues(pub Vec<Issue>, Arc<str>);

impl Issues {
    /// How many issues of one expression are kept; cel-go's limit.
    pub const LIMIT: usize = 100;

    /// The issues of `source`, put into order.
    pub fn new(source: impl Into<Arc<str>>, mut issues: Vec<Issue>) -> Self {
        issues.sort_by_key(|issue| issue.caret);
        Self(issues, source.into())
    }

    /// The expression that the issues are about.
    pub fn source(&self) -> &str {
        &self.1
    }
}

/// cel-go's `Errors.ToDisplayString`: for each issue a line `ERROR: <input>:LINE:COLUMN: MESSAGE`, the line of the source and
/// a caret below it.
impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, issue) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write_block(f, issue, &self.1)?;
        }
        Ok(())
    }
}

impl std::error::Error for Issues {}

/// Longest line of source, in bytes, that is repeated in a message; cel-go's limit.
const SNIPPET_LIMIT: usize = 16_384;

fn write_block(f: &mut fmt::Formatter<'_>, issue: &Issue, source: &str) -> fmt::Result {
    let Position { line, column } = Position::of(source, issue.caret);
    write!(f, "ERROR: <input>:{line}:{column}: {}", issue.message)?;
    let Some(snippet) = source.split('\n').nth(line as usize - 1).filter(|text| text.len() <= SNIPPET_LIMIT)
    else {
        return Ok(());
    };
    write!(f, "\n | {}\n | ", snippet.replace('\t', " "))?;
    // Wide characters get wide dots, so that the caret stays below its place.
    let mut chars = snippet.chars();
    for char in chars.by_ref().take(column as usize - 1) {
        f.write_str(if char.is_ascii() { "." } else { "\u{ff0e}" })?;
    }
    f.write_str(if chars.next().is_none_or(|char| char.is_ascii()) { "^" } else { "\u{ff3e}" })
}

/// Collects issues up to [`Issues::LIMIT`] and counts the rest.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    issues: Vec<Issue>,
    dropped: usize,
}

impl Collector {
    pub(crate) fn report(&mut self, span: Span, message: impl Into<String>, help: Option<String>) {
        self.report_at(span, span.start, message, help);
    }

    pub(crate) fn report_at(
        &mut self,
        span: Span,
        caret: u32,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        if self.issues.len() < Issues::LIMIT {
            self.issues.push(Issue { span, caret, message: message.into(), help });
        } else {
            self.dropped += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.issues.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.issues.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.issues.len() >= Issues::LIMIT
    }

    /// The issues, if there are any.
    pub(crate) fn finish(mut self, source: &str) -> Option<Issues> {
        if self.issues.is_empty() {
            return None;
        }
        if self.dropped > 0 {
            let message = format!("{} more errors were truncated", self.dropped);
            let span = Span::new(source.len(), source.len());
            self.issues.push(Issue { span, caret: span.start, message, help: None });
        }
        Some(Issues::new(source, self.issues))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(start: usize, end: usize, message: &str) -> Issue {
        let span = Span::new(start, end);
        Issue { span, caret: span.start, message: message.to_owned(), help: None }
    }

    #[test]
    fn issues_print_as_kubernetes_does_in_the_order_of_the_text() {
        let issues = Issues::new("a +\n\t$ b", vec![issue(5, 6, "second"), issue(0, 1, "first")]);
        assert_eq!(
            issues.to_string(),
            "ERROR: <input>:1:1: first\n | a +\n | ^\nERROR: <input>:2:2: second\n |  $ b\n | .^"
        );
    }

    #[test]
    fn wide_characters_get_wide_dots_and_carets() {
        let issues = Issues::new("'é' ü", vec![issue(5, 7, "no")]);
        assert_eq!(issues.to_string(), "ERROR: <input>:1:5: no\n | 'é' ü\n | .\u{ff0e}..\u{ff3e}");
    }

    #[test]
    fn a_very_long_line_is_not_repeated() {
        let source = "a".repeat(SNIPPET_LIMIT + 1);
        assert_eq!(Issues::new(source, vec![issue(3, 4, "no")]).to_string(), "ERROR: <input>:1:4: no");
    }

    #[test]
    fn issues_beyond_the_limit_are_counted() {
        let mut collector = Collector::default();
        for _ in 0..Issues::LIMIT + 7 {
            collector.report(Span::new(0, 1), "no", None);
        }
        let issues = collector.finish("a").expect("there are issues");
        assert_eq!(issues.0.len(), Issues::LIMIT + 1);
        assert_eq!(issues.0[Issues::LIMIT].message, "7 more errors were truncated");
    }
}
