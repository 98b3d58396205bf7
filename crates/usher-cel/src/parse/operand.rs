//! Operands: signs, literals, names, and the selections, calls and indexes behind them.

use super::builder::Place;
use super::literal;
use super::parser::{Failure, Operand, Parsed, Parser};
use super::token::{Kind, Token};
use crate::ast::{Expr, ExprId, Literal, Span, operators};

impl Parser<'_> {
    /// Parses an operand with the signs before it.
    pub(super) fn operand(&mut self) -> Parsed<Operand> {
        let sign = self.peek();
        let function = match sign.kind {
            Kind::Not => operators::LOGICAL_NOT,
            // A minus before a number belongs to the literal.
            Kind::Minus if !matches!(self.peek_ahead(1).kind, Kind::Int | Kind::Double) => operators::NEGATE,
            Kind::Name if self.is_word_not(sign) => {
                let help = Some("use `!`".to_owned());
                self.issues.report(sign.span, "Syntax error: `not` is not an operator", help);
                self.advance();
                return self.member();
            }
            _ => return self.member(),
        };
        let mut count = 0;
        while self.accept(sign.kind).is_some() {
            count += 1;
        }
        let operand = self.member()?;
        // As in cel-go two signs cancel each other out.
        if count % 2 == 0 {
            return Ok(Operand { span: operand.span.to(sign.span), ..operand });
        }
        Ok(self.call(function, sign.span.start, &[operand], operand.height))
    }

    fn is_word_not(&self, token: Token) -> bool {
        let next = self.peek_ahead(1).kind;
        token.span.text(self.source).eq_ignore_ascii_case("not")
            && next.starts_operand()
            && !next.is_opening()
    }

    /// Parses a primary and what is selected, called or indexed on it.
    fn member(&mut self) -> Parsed<Operand> {
        let mut operand = self.primary()?;
        loop {
            operand = match self.peek().kind {
                Kind::Dot => self.select_or_call(operand)?,
                Kind::LeftBracket => self.index(operand)?,
                _ => return Ok(operand),
            }
        }
    }

    fn select_or_call(&mut self, target: Operand) -> Parsed<Operand> {
        let dot = self.advance();
        let optional = self.accept(Kind::Question).is_some();
        let name = self.field_name(if optional { "`.?`" } else { "`.`" })?;
        if !optional && name.kind == Kind::Name && self.peek().kind == Kind::LeftParen {
            return self.call_arguments(Some(target), target.span, name, name.span.text(self.source));
        }
        let height = self.raise(target.height)?;
        let span = target.span.to(name.span);
        let field = unquote(name, self.source);
        let place = Place { span, caret: dot.span.start };
        let id = if optional {
            let field = self.builder.literal(Place::of(name.span), Literal::String(field.into()));
            self.builder.call(place, operators::OPT_SELECT, vec![target.id, field])
        } else {
            self.builder
                .add(place, Expr::Select { operand: target.id, field: field.into(), test_only: false })
        };
        Ok(Operand { id, span, height, ..target })
    }

    /// The name of a field, in quotes or not.
    pub(super) fn field_name(&mut self, after: &str) -> Parsed<Token> {
        let token = self.peek();
        if matches!(token.kind, Kind::Name | Kind::QuotedName) {
            if token.kind == Kind::QuotedName && self.version.is_before_1_37() {
                let help = format!(
                    "names in backquotes come with Kubernetes 1.37, and rules are compiled for {}; use an index: ['{}']",
                    self.version,
                    unquote(token, self.source)
                );
                self.issues.report(token.span, "unsupported syntax: '`'", Some(help));
            }
            return Ok(self.advance());
        }
        let word = token.span.text(self.source);
        let help = match token.kind {
            Kind::In | Kind::True | Kind::False | Kind::Null => {
                Some(format!("`{word}` is reserved: write it in backquotes, `{word}`, or as a string in [ ]"))
            }
            Kind::String | Kind::Int => Some(format!("use an index: [{word}]")),
            _ => None,
        };
        Err(self.expected(&format!("a field name after {after}"), token, help))
    }

    fn index(&mut self, target: Operand) -> Parsed<Operand> {
        let opening = self.advance();
        let optional = self.accept(Kind::Question).is_some();
        let (index, closing) = self.enclosed(opening, Kind::RightBracket)?;
        let height = self.raise(target.height.max(index.height))?;
        let span = target.span.to(closing.span);
        let function = if optional { operators::OPT_INDEX } else { operators::INDEX };
        let id =
            self.builder.call(Place { span, caret: opening.span.start }, function, vec![target.id, index.id]);
        Ok(Operand { id, span, height, ..target })
    }

    fn primary(&mut self) -> Parsed<Operand> {
        let token = self.peek();
        match token.kind {
            Kind::Name | Kind::Dot => self.name(),
            Kind::LeftParen => self.parentheses(),
            Kind::LeftBracket => self.list(),
            Kind::LeftBrace => self.map(),
            _ => self.literal(token),
        }
    }

    /// A name, a call of a function or a message: all begin alike.
    fn name(&mut self) -> Parsed<Operand> {
        let first = self.peek();
        let dot = self.accept(Kind::Dot);
        let name = self.peek();
        if name.kind != Kind::Name {
            return Err(self.expected("a name after the leading `.`", name, None));
        }
        if let Some(length) = self.message_name_length() {
            return self.message(dot, length);
        }
        self.advance();
        let text = name.span.text(self.source);
        let span = first.span.to(name.span);
        if is_reserved(text) {
            let help = "use it as a field only, or choose another name".to_owned();
            let id = self.refused(span, format!("reserved identifier: {text}"), Some(help));
            if self.peek().kind == Kind::LeftParen {
                return self.call_arguments(None, span, name, text);
            }
            return Ok(leaf(id, span));
        }
        let absolute;
        let full = if dot.is_some() {
            absolute = format!(".{text}");
            &absolute
        } else {
            text
        };
        if self.peek().kind == Kind::LeftParen {
            return self.call_arguments(None, span, name, full);
        }
        let id = self.builder.ident(Place { span, caret: name.span.start }, full);
        Ok(leaf(id, span))
    }

    /// How many tokens `a.b.c` before a `{` has, if there is one.
    fn message_name_length(&self) -> Option<usize> {
        let mut length = 1;
        loop {
            match self.peek_ahead(length).kind {
                Kind::LeftBrace => return Some(length),
                Kind::Dot if self.peek_ahead(length + 1).kind == Kind::Name => length += 2,
                _ => return None,
            }
        }
    }

    fn literal(&mut self, token: Token) -> Parsed<Operand> {
        let value = match token.kind {
            Kind::True => Literal::Bool(true),
            Kind::False => Literal::Bool(false),
            Kind::Null => Literal::Null,
            Kind::String | Kind::Bytes => {
                literal::quoted(self.source, token.span, token.kind == Kind::Bytes, &mut self.issues)
            }
            Kind::Int | Kind::Uint | Kind::Double => return Ok(self.number(None)),
            Kind::Minus if matches!(self.peek_ahead(1).kind, Kind::Int | Kind::Double) => {
                let minus = self.advance();
                return Ok(self.number(Some(minus)));
            }
            _ => return Err(self.no_operand(token)),
        };
        self.advance();
        let id = self.builder.literal(Place::of(token.span), value);
        Ok(leaf(id, token.span))
    }

    fn number(&mut self, minus: Option<Token>) -> Operand {
        let token = self.advance();
        let text = token.span.text(self.source);
        let negative = minus.is_some();
        let span = minus.map_or(token.span, |minus| minus.span.to(token.span));
        let (value, what, bounds) = match token.kind {
            Kind::Double => {
                (literal::double(text, negative).map(Literal::Double), "double", "-1.8e308 to 1.8e308")
            }
            Kind::Uint => (literal::uint(text).map(Literal::Uint), "uint", "0u to 18446744073709551615u"),
            _ => (
                literal::int(text, negative).map(Literal::Int),
                "int",
                "-9223372036854775808 to 9223372036854775807; a `u` behind the number makes it a uint",
            ),
        };
        let id = match value {
            Some(value) => self.builder.literal(Place::of(span), value),
            None => {
                self.refused(span, format!("invalid {what} literal"), Some(format!("the range is {bounds}")))
            }
        };
        leaf(id, span)
    }

    #[cold]
    fn no_operand(&mut self, token: Token) -> Failure {
        let help = match token.kind {
            Kind::Not => Some("`!` cannot stand here: use parentheses, -(!a)"),
            Kind::Minus => Some("`-` cannot stand here: use parentheses, !(-a)"),
            Kind::QuotedName => {
                Some("a name in backquotes is a field: put `.` before it; strings take ' or \"")
            }
            Kind::Equals => Some("`==` compares two operands"),
            _ => None,
        };
        self.expected("an operand", token, help.map(str::to_owned))
    }
}

pub(super) fn leaf(id: ExprId, span: Span) -> Operand {
    Operand { id, first: id, span, height: 0 }
}

/// Names that are kept for the language. They may name fields and methods. As in cel-go.
fn is_reserved(name: &str) -> bool {
    matches!(
        name,
        "as" | "break"
            | "const"
            | "continue"
            | "else"
            | "for"
            | "function"
            | "if"
            | "import"
            | "let"
            | "loop"
            | "package"
            | "namespace"
            | "return"
            | "var"
            | "void"
            | "while"
    )
}

/// The text of a name without backquotes.
pub(super) fn unquote(name: Token, source: &str) -> &str {
    name.span.text(source).trim_matches('`')
}
