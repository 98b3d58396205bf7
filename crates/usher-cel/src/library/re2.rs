//! Regular expressions in Go's syntax (RE2 with Perl classes), on the crates `regex-syntax` and `regex-automata`.
//!
//! They match as Go does but read another language: `\d`, `\w`, `\s`, `\b` mean all of Unicode there, classes nest and have operators, a brace
//! that begins no repetition is an error. So an expression is translated before they read it.

mod size;
mod translate;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use regex_automata::meta;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use translate::{Fault, Translated, translate};

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub struct Regex(meta::Regex);

/// How much the regular expressions of one rule may still take while they are compiled, in bytes.
///
/// Go compiles a class such as `\pL` to one instruction, the crate to thousands of states, so that a short text can make it work for
/// seconds. One expression may take all of the budget.
#[derive(Clone, Debug)]
pub struct RegexBudget(Arc<AtomicUsize>);

/// What is given to all expressions of a rule.
const BUDGET: usize = 4 << 20;

/// What the smallest expression takes, and each byte of its text while it is read.
const LEAST: usize = 4 << 10;
const TEXT_BYTE: usize = 96;

/// Parentheses inside of each other; Go's `maxHeight`.
const MAX_DEPTH: u32 = 1000;

/// Above what is estimated before, so that it only counts where the estimate is wrong.
const SIZE_LIMIT: usize = 4 * BUDGET;

/// Compiles an expression of Go's syntax. Groups do not capture.
///
/// # Errors
/// Go's text, `error parsing regexp: missing closing ]: `, or that the budget does not allow it.
pub(super) fn compile(pattern: &str, budget: &RegexBudget) -> Result<Regex, String> {
    let hir = parse(pattern, budget)?;
    budget.take(size::of_automaton(&hir))?;
    let config = meta::Config::new().nfa_size_limit(Some(SIZE_LIMIT)).which_captures(WhichCaptures::Implicit);
    let built = meta::Builder::new().configure(config).build_from_hir(&hir);
    built.map(Regex).map_err(|_| TOO_LARGE.to_owned())
}

/// Whether a text is a regular expression.
///
/// # Errors
/// As [`compile`].
pub(super) fn check(pattern: &str, budget: &RegexBudget) -> Result<(), String> {
    let hir = parse(pattern, budget)?;
    if size::of_automaton(&hir) > BUDGET { Err(TOO_LARGE.to_owned()) } else { Ok(()) }
}

const TOO_LARGE: &str = "error parsing regexp: expression too large";

fn parse(pattern: &str, budget: &RegexBudget) -> Result<Hir, String> {
    let Translated { text, class_bytes } = translate(pattern).map_err(|Fault { what, text }| match text {
        Some(text) => format!("error parsing regexp: {what}: `{text}`"),
        None => format!("error parsing regexp: {what}"),
    })?;
    budget.take((LEAST + class_bytes).saturating_add(pattern.len().saturating_mul(TEXT_BYTE)))?;
    ParserBuilder::new().nest_limit(MAX_DEPTH).build().parse(&text).map_err(|error| match error {
        regex_syntax::Error::Parse(error)
            if matches!(error.kind(), regex_syntax::ast::ErrorKind::NestLimitExceeded(_)) =>
        {
            format!("error parsing regexp: expression nests too deeply: `{pattern}`")
        }
        // The last line says what is wrong, those above draw the translated expression.
        other => {
            let text = other.to_string();
            let reason = text.lines().last().unwrap_or_default();
            format!("error parsing regexp: {}: `{pattern}`", reason.trim_start_matches("error: "))
        }
    })
}

impl Regex {
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The leftmost match.
    pub(super) fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.0.find(text).map(|found| &text[found.range()])
    }

    /// All matches that do not overlap, from the left.
    pub(super) fn find_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.0.find_iter(text).map(|found| &text[found.range()])
    }
}

impl Default for RegexBudget {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(BUDGET)))
    }
}

impl RegexBudget {
    fn take(&self, bytes: usize) -> Result<(), String> {
        if bytes > BUDGET {
            return Err(TOO_LARGE.to_owned());
        }
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map(|_| ()).map_err(|_| {
            "error parsing regexp: expression too large beside the other regular expressions of the rule"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests;
