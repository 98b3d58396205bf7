//! Text to syntax tree: lexer, precedence parser, macros.
//!
//! The language is that of cel-go 0.29 (`parser/gen/CEL.g4`, `parser/parser.go`) with the macros that Kubernetes enables. All
//! operators, selections and calls of a chain are parsed in loops; only brackets within brackets take stack, and they are limited.
//! Time and memory grow linearly with the text.

mod brackets;
mod builder;
mod expression;
mod lexer;
mod literal;
mod macros;
mod operand;
mod parser;
mod token;

use crate::ast::{Ast, Span};
use crate::issue::{Collector, Issue, Issues};
use crate::version::KubernetesVersion;

pub(crate) use macros::since as macro_since;

/// Longest expression in code points, as in cel-go.
pub const MAX_CODE_POINTS: usize = 100_000;

/// How deep expressions, and within them comparisons and arithmetic, may stand in each other, as in cel-go.
pub const MAX_NESTING: u32 = 250;

/// Parses an expression and expands its macros.
///
/// Where the text is longer or nests deeper than Kubernetes allows, it is refused with cel-go's message. The same holds for chains
/// of more than [`MAX_NESTING`] selections, member calls, indexes, comparisons or arithmetic operators; `&&` and `||` are not limited.
///
/// # Errors
/// Everything that is wrong with the text, as far as one error does not hide the next.
pub fn parse(source: &str) -> Result<Ast, Issues> {
    parse_for(source, KubernetesVersion::NEWEST)
}

/// As [`parse`], with the syntax and the macros of one version of Kubernetes.
///
/// # Errors
/// As [`parse`].
pub fn parse_for(source: &str, version: KubernetesVersion) -> Result<Ast, Issues> {
    let code_points = source.chars().count();
    if code_points > MAX_CODE_POINTS {
        let message =
            format!("expression code point size exceeds limit: size: {code_points}, limit {MAX_CODE_POINTS}");
        let help = Some("split the expression: use variables, or several rules".to_owned());
        // The text itself is left out of the messages.
        return Err(Issues::new("", vec![Issue { span: Span::default(), caret: 0, message, help }]));
    }
    let mut issues = Collector::default();
    let tokens = lexer::tokenize(source, &mut issues);
    parser::Parser::new(source, tokens, issues, version).run()
}

#[cfg(test)]
mod tests;
