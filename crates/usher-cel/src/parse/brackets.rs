//! Everything in brackets. After an error inside, parsing goes on behind the next comma, so that one run finds several errors.

use super::builder::Place;
use super::macros;
use super::operand::{leaf, unquote};
use super::parser::{Failure, Operand, Parsed, Parser};
use super::token::{Kind, Token};
use crate::ast::{Expr, Literal, MapEntry, Span, StructField};

impl Parser<'_> {
    pub(super) fn parentheses(&mut self) -> Parsed<Operand> {
        let opening = self.advance();
        let (inner, closing) = self.enclosed(opening, Kind::RightParen)?;
        Ok(Operand { span: opening.span.to(closing.span), ..inner })
    }

    /// One expression and the closing bracket.
    pub(super) fn enclosed(&mut self, opening: Token, closing: Kind) -> Parsed<(Operand, Token)> {
        let mut inner = self.expression();
        if inner.is_ok() && self.peek().kind != closing {
            inner = Err(self.expected_in(opening, "an operator"));
        }
        let inner = match inner {
            Ok(inner) => inner,
            Err(Failure::Fatal) => return Err(Failure::Fatal),
            Err(Failure::Local) => {
                self.resynchronise(false)?;
                if self.peek().kind != closing {
                    return Err(Failure::Local);
                }
                // Stands for what was refused.
                let place = Place::of(opening.span);
                leaf(self.builder.literal(place, Literal::Null), place.span)
            }
        };
        Ok((inner, self.advance()))
    }

    /// The arguments of a call whose name has been read, and the call or what its macro makes of it.
    ///
    /// The text of the call begins with `start`.
    pub(super) fn call_arguments(
        &mut self,
        target: Option<Operand>,
        start: Span,
        name: Token,
        function: &str,
    ) -> Parsed<Operand> {
        let opening = self.advance();
        let first = target.map_or(self.builder.next_id(), |target| target.first);
        let mut args: Vec<Operand> = Vec::new();
        let closing = self.items(opening, Kind::RightParen, |parser| {
            args.push(parser.expression()?);
            Ok(())
        })?;
        let mut height = args.iter().map(|arg| arg.height).max().unwrap_or(0);
        if let Some(target) = target {
            height = self.raise(height.max(target.height))?;
        }
        let span = start.to(closing.span);
        let place = Place { span, caret: opening.span.start };
        let call = macros::Call { function, name: name.span, place, target, args: &args };
        let id = match macros::expand(&mut self.builder, &call, self.version) {
            Some(Ok(id)) => id,
            Some(Err(refusal)) => self.refused(refusal.span, refusal.message, Some(refusal.help.to_owned())),
            None => {
                let args = args.iter().map(|arg| arg.id).collect();
                let target = target.map(|target| target.id);
                self.builder.add(place, Expr::Call { function: function.into(), target, args })
            }
        };
        Ok(Operand { id, first, span, height })
    }

    pub(super) fn list(&mut self) -> Parsed<Operand> {
        let opening = self.advance();
        let first = self.builder.next_id();
        let (mut elements, mut optional, mut height) = (Vec::new(), Vec::new(), 0);
        let closing = self.items(opening, Kind::RightBracket, |parser| {
            if parser.accept(Kind::Question).is_some() {
                optional.push(u32::try_from(elements.len()).unwrap_or(u32::MAX));
            }
            let element = parser.expression()?;
            height = height.max(element.height);
            elements.push(element.id);
            Ok(())
        })?;
        let place = Place::of(opening.span.to(closing.span));
        let id = self.builder.add(place, Expr::List { elements, optional });
        Ok(Operand { id, first, span: place.span, height })
    }

    pub(super) fn map(&mut self) -> Parsed<Operand> {
        let opening = self.advance();
        let first = self.builder.next_id();
        let (mut entries, mut height) = (Vec::new(), 0);
        let closing = self.items(opening, Kind::RightBrace, |parser| {
            let optional = parser.accept(Kind::Question).is_some();
            let key = parser.expression()?;
            parser.entry_colon("key")?;
            let value = parser.expression()?;
            height = height.max(key.height).max(value.height);
            entries.push(MapEntry { key: key.id, value: value.id, optional });
            Ok(())
        })?;
        let place = Place::of(opening.span.to(closing.span));
        let id = self.builder.add(place, Expr::Map { entries });
        Ok(Operand { id, first, span: place.span, height })
    }

    /// `a.b{field: value}`; the name takes the next `length` tokens.
    pub(super) fn message(&mut self, dot: Option<Token>, length: usize) -> Parsed<Operand> {
        let start = dot.unwrap_or_else(|| self.peek());
        let mut type_name = if dot.is_some() { String::from(".") } else { String::new() };
        for _ in 0..length {
            // Blanks may stand between the parts.
            let part = self.advance();
            type_name.push_str(part.span.text(self.source));
        }
        let opening = self.advance();
        let first = self.builder.next_id();
        let (mut fields, mut height) = (Vec::new(), 0);
        let closing = self.items(opening, Kind::RightBrace, |parser| {
            let optional = parser.accept(Kind::Question).is_some();
            let name = parser.field_name("`{` or `,`")?;
            parser.entry_colon("field name")?;
            let value = parser.expression()?;
            height = height.max(value.height);
            let field = unquote(name, parser.source).into();
            fields.push(StructField { name: field, value: value.id, optional, span: name.span });
            Ok(())
        })?;
        let span = start.span.to(closing.span);
        let place = Place { span, caret: opening.span.start };
        let id = self.builder.add(place, Expr::Struct { type_name: type_name.into(), fields });
        Ok(Operand { id, first, span, height })
    }

    fn entry_colon(&mut self, behind: &str) -> Parsed<()> {
        if self.accept(Kind::Colon).is_some() {
            return Ok(());
        }
        let token = self.peek();
        Err(self.expected(&format!("`:` behind the {behind}"), token, None))
    }

    /// Items between commas up to the closing bracket. A comma before the closing bracket is allowed except in calls.
    fn items(
        &mut self,
        opening: Token,
        closing: Kind,
        mut item: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<Token> {
        if let Some(token) = self.accept(closing) {
            return Ok(token);
        }
        let trailing_comma = closing != Kind::RightParen;
        if trailing_comma && self.peek().kind == Kind::Comma && self.peek_ahead(1).kind == closing {
            self.advance();
            return Ok(self.advance());
        }
        loop {
            let mut done = item(self);
            if done.is_ok() && !matches!(self.peek().kind, Kind::Comma) && self.peek().kind != closing {
                done = Err(self.expected_in(opening, "an operator, `,`"));
            }
            if let Err(failure) = done {
                self.recover(failure, closing)?;
            }
            if let Some(token) = self.accept(closing) {
                return Ok(token);
            }
            self.advance();
            if trailing_comma && let Some(token) = self.accept(closing) {
                return Ok(token);
            }
        }
    }

    /// After an error: on to a comma or the closing bracket, if there is one.
    #[cold]
    fn recover(&mut self, failure: Failure, closing: Kind) -> Parsed<()> {
        if let Failure::Fatal = failure {
            return Err(failure);
        }
        self.resynchronise(true)?;
        let kind = self.peek().kind;
        if kind == Kind::Comma || kind == closing { Ok(()) } else { Err(Failure::Local) }
    }

    #[cold]
    fn expected_in(&mut self, opening: Token, others: &str) -> Failure {
        let closes = match opening.kind {
            Kind::LeftParen => "`)`",
            Kind::LeftBracket => "`]`",
            _ => "`}`",
        };
        let token = self.peek();
        let what = format!("{others} or the {closes} that closes the {}", self.name_opening(opening));
        self.expected(&what, token, None)
    }
}
