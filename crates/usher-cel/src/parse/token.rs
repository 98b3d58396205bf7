//! Tokens of the language.

use crate::ast::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    End,
    Name,
    /// A name in backquotes, allowed for fields only.
    QuotedName,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    True,
    False,
    Null,
    In,
    Equals,
    NotEquals,
    Less,
    LessEquals,
    Greater,
    GreaterEquals,
    And,
    Or,
    Not,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Question,
    Colon,
    Comma,
    Dot,
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Whether the text right before it was refused: an error at this token would only repeat that one.
    pub(super) after_refusal: bool,
    pub(super) span: Span,
}

impl Kind {
    pub(super) fn is_opening(self) -> bool {
        matches!(self, Self::LeftParen | Self::LeftBracket | Self::LeftBrace)
    }

    pub(super) fn is_closing(self) -> bool {
        matches!(self, Self::RightParen | Self::RightBracket | Self::RightBrace)
    }

    /// Whether an operand may start with it, a sign aside.
    pub(super) fn starts_operand(self) -> bool {
        matches!(
            self,
            Self::Name
                | Self::Int
                | Self::Uint
                | Self::Double
                | Self::String
                | Self::Bytes
                | Self::True
                | Self::False
                | Self::Null
                | Self::LeftParen
                | Self::LeftBracket
                | Self::LeftBrace
        )
    }
}

impl Token {
    /// How messages call it.
    pub(super) fn describe(self, source: &str) -> String {
        /// Longer tokens are cut in messages.
        const SHOWN: usize = 40;
        let text = self.span.text(source);
        let shown: String = text.chars().take(SHOWN).collect();
        let dots = if shown.len() < text.len() { "…" } else { "" };
        match self.kind {
            Kind::End => "the end of the expression".to_owned(),
            Kind::Name => format!("the name `{shown}{dots}`"),
            Kind::Int | Kind::Uint | Kind::Double => format!("the number `{shown}{dots}`"),
            Kind::String => format!("the string {shown}{dots}"),
            Kind::Bytes => format!("the bytes {shown}{dots}"),
            _ => format!("`{shown}{dots}`"),
        }
    }
}
