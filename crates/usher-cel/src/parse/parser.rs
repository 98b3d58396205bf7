//! The parser's state and what all its parts need: the token cursor, errors and recovery, limits.

use super::builder::{Builder, Place};
use super::expression::Operator;
use super::token::{Kind, Token};
use crate::ast::{Ast, ExprId, Literal, Position, Span};
use crate::issue::{Collector, Issues};
use crate::version::KubernetesVersion;

/// How many errors are recovered from; cel-go's limit.
const MAX_RECOVERIES: u32 = 30;

pub(super) struct Parser<'s> {
    pub(super) source: &'s str,
    pub(super) builder: Builder,
    pub(super) issues: Collector,
    /// Operands and operators of the expressions that are being parsed, the innermost on top.
    pub(super) operands: Vec<Operand>,
    pub(super) operators: Vec<Operator>,
    pub(super) nesting: Nesting,
    pub(super) version: KubernetesVersion,
    tokens: Vec<Token>,
    next: usize,
    recoveries: u32,
}

/// A parsed sub-expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub(super) id: ExprId,
    /// The first of the nodes that were made for it; all from here to `id` are its own.
    pub(super) first: ExprId,
    /// With the parentheses around it, which the node's span leaves out.
    pub(super) span: Span,
    /// How many selections, member calls, indexes, comparisons, arithmetic operators and conditionals stand in each other, as
    /// cel-go's visitor counts them.
    pub(super) height: u32,
}

/// How many grammar rules of a kind are open, as cel-go's parse listener counts them. The other rules are never deeper.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Nesting {
    pub(super) expression: u32,
    pub(super) relation: u32,
    pub(super) arithmetic: u32,
}

/// An error has been reported.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failure {
    /// Parsing can go on behind the next comma or closing bracket.
    Local,
    /// A limit is exceeded: nothing more is read.
    Fatal,
}

pub(super) type Parsed<T> = Result<T, Failure>;

impl<'s> Parser<'s> {
    pub(super) fn new(
        source: &'s str,
        tokens: Vec<Token>,
        issues: Collector,
        version: KubernetesVersion,
    ) -> Self {
        Self {
            source,
            // Macros add some nodes; blanks aside, the rest has about one for two tokens.
            builder: Builder::with_capacity(tokens.len() / 2),
            issues,
            operands: Vec::new(),
            operators: Vec::new(),
            nesting: Nesting::default(),
            version,
            tokens,
            next: 0,
            recoveries: 0,
        }
    }

    /// Parses the whole text.
    pub(super) fn run(mut self) -> Result<Ast, Issues> {
        let root = self.expression().and_then(|root| {
            let rest = self.peek();
            if rest.kind == Kind::End { Ok(root) } else { Err(self.unexpected_rest(rest)) }
        });
        match (root, self.issues.finish(self.source)) {
            (Ok(root), None) => {
                Ok(Ast { source: self.source.into(), nodes: self.builder.into_nodes(), root: root.id })
            }
            (_, Some(issues)) => Err(issues),
            // Every failure is reported where it is made.
            (Err(_), None) => Err(Issues::new(self.source, Vec::new())),
        }
    }

    pub(super) fn peek(&self) -> Token {
        self.peek_ahead(0)
    }

    pub(super) fn peek_ahead(&self, ahead: usize) -> Token {
        match self.tokens.get(self.next + ahead) {
            Some(token) => *token,
            // The last token is the end.
            None => self.tokens[self.tokens.len() - 1],
        }
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.peek();
        if token.kind != Kind::End {
            self.next += 1;
        }
        token
    }

    pub(super) fn accept(&mut self, kind: Kind) -> Option<Token> {
        (self.peek().kind == kind).then(|| self.advance())
    }

    /// Reports that something else was expected where `token` stands.
    #[cold]
    pub(super) fn expected(&mut self, what: &str, token: Token, help: Option<String>) -> Failure {
        // What was refused before the token has been reported, and is the likely cause.
        if !token.after_refusal {
            let message = format!("Syntax error: expected {what}, found {}", token.describe(self.source));
            self.issues.report(token.span, message, help);
        }
        Failure::Local
    }

    /// Reports a limit that the text exceeds here.
    #[cold]
    pub(super) fn exceeded(&mut self, message: String, help: &str) -> Failure {
        let span = self.peek().span;
        self.issues.report(span, message, Some(help.to_owned()));
        Failure::Fatal
    }

    /// An operand that stands for one that was refused.
    pub(super) fn refused(&mut self, span: Span, message: String, help: Option<String>) -> ExprId {
        self.issues.report(span, message, help);
        self.builder.literal(Place::of(span), Literal::Null)
    }

    /// How messages name an opening bracket: `` `(` at 1:5 ``.
    pub(super) fn name_opening(&self, opening: Token) -> String {
        let Position { line, column } = Position::of(self.source, opening.span.start);
        format!("`{}` at {line}:{column}", opening.span.text(self.source))
    }

    /// Moves to the next closing bracket, or comma when that is wanted, that belongs to the innermost open bracket; or to the
    /// end.
    ///
    /// # Errors
    /// When too many errors have been recovered from.
    #[cold]
    pub(super) fn resynchronise(&mut self, at_comma: bool) -> Parsed<()> {
        self.recoveries += 1;
        if self.recoveries > MAX_RECOVERIES {
            let span = self.peek().span;
            let message = format!("Syntax error: error recovery attempt limit exceeded: {MAX_RECOVERIES}");
            self.issues.report(span, message, None);
            return Err(Failure::Fatal);
        }
        let mut depth = 0_usize;
        loop {
            let kind = self.peek().kind;
            match kind {
                Kind::End => return Ok(()),
                Kind::Comma if at_comma && depth == 0 => return Ok(()),
                _ if kind.is_opening() => depth += 1,
                _ if kind.is_closing() => {
                    if depth == 0 {
                        return Ok(());
                    }
                    depth -= 1;
                }
                _ => {}
            }
            self.advance();
        }
    }

    #[cold]
    fn unexpected_rest(&mut self, token: Token) -> Failure {
        let help = if token.kind.is_closing() {
            Some("no bracket is open here".to_owned())
        } else if token.kind == Kind::Colon {
            Some("`:` belongs to a conditional `a ? b : c` or to a map entry".to_owned())
        } else {
            None
        };
        self.expected("an operator or the end of the expression", token, help)
    }
}
