//! Text to tokens. As in cel-go's `CEL.g4` the longest match wins, so that `1in[1]` is `1 in [1]`.

use super::token::{Kind, Token};
use crate::ast::Span;
use crate::issue::Collector;

/// All tokens of the source; the last one is [`Kind::End`]. What is no token is reported and left out.
pub(super) fn tokenize(source: &str, issues: &mut Collector) -> Vec<Token> {
    let mut lexer = Lexer { source, bytes: source.as_bytes(), at: 0, after_refusal: false, issues };
    // About one token for three bytes in real expressions.
    let mut tokens = Vec::with_capacity(source.len() / 3 + 1);
    loop {
        let token = lexer.token();
        let end = token.kind == Kind::End;
        tokens.push(token);
        if end {
            return tokens;
        }
    }
}

struct Lexer<'s, 'i> {
    source: &'s str,
    bytes: &'s [u8],
    at: usize,
    /// Whether the text right before the next token was refused.
    after_refusal: bool,
    issues: &'i mut Collector,
}

impl Lexer<'_, '_> {
    fn token(&mut self) -> Token {
        loop {
            self.skip_blanks();
            let after_refusal = std::mem::take(&mut self.after_refusal);
            let start = self.at;
            let kind = if start >= self.bytes.len() { Some(Kind::End) } else { self.scan(start) };
            if let Some(kind) = kind {
                return Token { kind, after_refusal, span: Span::new(start, self.at) };
            }
            self.after_refusal = true;
            if self.issues.is_full() {
                // cel-go gives up as well.
                self.at = self.bytes.len();
            }
        }
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b'\x0c' => self.at += 1,
                b'/' if self.peek(1) == b'/' => {
                    self.at += self.bytes[self.at..]
                        .iter()
                        .position(|byte| *byte == b'\n')
                        .unwrap_or(self.bytes.len() - self.at);
                }
                _ => return,
            }
        }
    }

    /// The byte `ahead` of the current one; 0 past the end, which is in no token.
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Moves past one token and tells its kind, or past something that is none.
    fn scan(&mut self, start: usize) -> Option<Kind> {
        match self.bytes[start] {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Some(self.name_or_prefixed_string(start)),
            b'0'..=b'9' => Some(self.number()),
            b'.' if self.peek(1).is_ascii_digit() => Some(self.number()),
            b'"' | b'\'' => Some(self.string(start, Kind::String, false)),
            b'`' => self.quoted_name(start),
            _ => self.symbol(start),
        }
    }

    fn name_or_prefixed_string(&mut self, start: usize) -> Kind {
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'_' {
            self.at += 1;
        }
        let name = &self.source[start..self.at];
        if matches!(self.peek(0), b'"' | b'\'') {
            match name {
                "r" | "R" => return self.string(start, Kind::String, true),
                "b" | "B" => return self.string(start, Kind::Bytes, false),
                "br" | "bR" | "Br" | "BR" => return self.string(start, Kind::Bytes, true),
                _ => {}
            }
        }
        match name {
            "true" => Kind::True,
            "false" => Kind::False,
            "null" => Kind::Null,
            "in" => Kind::In,
            _ => Kind::Name,
        }
    }

    fn digits(&mut self, is_digit: fn(&u8) -> bool) {
        while is_digit(&self.peek(0)) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Kind {
        let mut kind = Kind::Int;
        if self.peek(0) == b'0' && self.peek(1) == b'x' && self.peek(2).is_ascii_hexdigit() {
            self.at += 2;
            self.digits(u8::is_ascii_hexdigit);
        } else {
            self.digits(u8::is_ascii_digit);
            if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
                kind = Kind::Double;
                self.at += 1;
                self.digits(u8::is_ascii_digit);
            }
            if matches!(self.peek(0), b'e' | b'E') {
                let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
                if self.peek(1 + sign).is_ascii_digit() {
                    kind = Kind::Double;
                    self.at += 1 + sign;
                    self.digits(u8::is_ascii_digit);
                }
            }
        }
        if kind == Kind::Int && matches!(self.peek(0), b'u' | b'U') {
            self.at += 1;
            kind = Kind::Uint;
        }
        kind
    }

    /// Moves past a string literal whose opening quote is the current byte. Its escapes are read by the parser.
    fn string(&mut self, start: usize, kind: Kind, raw: bool) -> Kind {
        let quote = self.peek(0);
        let width = if self.peek(1) == quote && self.peek(2) == quote { 3 } else { 1 };
        self.at += width;
        let opening = Span::new(start, self.at);
        loop {
            match self.peek(0) {
                0 if self.at >= self.bytes.len() => break,
                b'\n' | b'\r' if width == 1 => break,
                b'\\' if !raw && !matches!(self.peek(1), b'\n' | b'\r') => {
                    // A character after the backslash of more than one byte ends by itself: none of its bytes is a quote.
                    self.at = (self.at + 2).min(self.bytes.len());
                }
                byte if byte == quote && (width == 1 || self.peek(1) == quote && self.peek(2) == quote) => {
                    self.at += width;
                    return kind;
                }
                _ => self.at += 1,
            }
        }
        while !self.source.is_char_boundary(self.at) {
            self.at += 1;
        }
        let quotes = opening.text(self.source);
        let (what, help) = if width == 3 {
            ("", format!("add the closing {}", &quotes[quotes.len() - 3..]))
        } else {
            let quote = quote as char;
            (
                " on its line",
                format!(
                    "add the closing {quote}; a string of several lines is written {quote}{quote}{quote}…{quote}{quote}{quote}"
                ),
            )
        };
        self.issues.report(
            opening,
            format!("Syntax error: the string opened with {quotes} is not closed{what}"),
            Some(help),
        );
        self.after_refusal = true;
        kind
    }

    fn quoted_name(&mut self, start: usize) -> Option<Kind> {
        self.at += 1;
        while self.peek(0).is_ascii_alphanumeric() || matches!(self.peek(0), b'_' | b'.' | b'-' | b'/' | b' ')
        {
            self.at += 1;
        }
        if self.peek(0) == b'`' && self.at > start + 1 {
            self.at += 1;
            return Some(Kind::QuotedName);
        }
        self.issues.report(
            Span::new(start, self.at),
            "Syntax error: this ` does not open a quoted field name",
            Some("a quoted name is one or more of A-Z a-z 0-9 _ . - / and space between two `; strings take ' or \"".to_owned()),
        );
        None
    }

    fn symbol(&mut self, start: usize) -> Option<Kind> {
        let (kind, width) = match (self.bytes[start], self.peek(1), self.peek(2)) {
            (b'=', b'=', b'=') => (self.instead(3, "use `==`", Kind::Equals), 0),
            (b'!', b'=', b'=') => (self.instead(3, "use `!=`", Kind::NotEquals), 0),
            (b'<', b'>', _) => (self.instead(2, "use `!=`", Kind::NotEquals), 0),
            (b'=', b'=', _) => (Kind::Equals, 2),
            (b'!', b'=', _) => (Kind::NotEquals, 2),
            (b'<', b'=', _) => (Kind::LessEquals, 2),
            (b'>', b'=', _) => (Kind::GreaterEquals, 2),
            (b'&', b'&', _) => (Kind::And, 2),
            (b'|', b'|', _) => (Kind::Or, 2),
            (b'=', ..) => (self.instead(1, "use `==` to compare", Kind::Equals), 0),
            (b'&', ..) => (self.instead(1, "use `&&` for a logical and", Kind::And), 0),
            (b'|', ..) => (self.instead(1, "use `||` for a logical or", Kind::Or), 0),
            (b'<', ..) => (Kind::Less, 1),
            (b'>', ..) => (Kind::Greater, 1),
            (b'!', ..) => (Kind::Not, 1),
            (b'+', ..) => (Kind::Plus, 1),
            (b'-', ..) => (Kind::Minus, 1),
            (b'*', ..) => (Kind::Star, 1),
            (b'/', ..) => (Kind::Slash, 1),
            (b'%', ..) => (Kind::Percent, 1),
            (b'?', ..) => (Kind::Question, 1),
            (b':', ..) => (Kind::Colon, 1),
            (b',', ..) => (Kind::Comma, 1),
            (b'.', ..) => (Kind::Dot, 1),
            (b'(', ..) => (Kind::LeftParen, 1),
            (b')', ..) => (Kind::RightParen, 1),
            (b'[', ..) => (Kind::LeftBracket, 1),
            (b']', ..) => (Kind::RightBracket, 1),
            (b'{', ..) => (Kind::LeftBrace, 1),
            (b'}', ..) => (Kind::RightBrace, 1),
            _ => {
                self.refuse_char(start);
                return None;
            }
        };
        self.at += width;
        Some(kind)
    }

    /// Reports an operator of another language and goes on as if ours stood there.
    fn instead(&mut self, width: usize, help: &str, kind: Kind) -> Kind {
        let span = Span::new(self.at, self.at + width);
        self.at += width;
        let message = format!("Syntax error: `{}` is not an operator", span.text(self.source));
        self.issues.report(span, message, Some(help.to_owned()));
        kind
    }

    fn refuse_char(&mut self, start: usize) {
        let Some(char) = self.source[start..].chars().next() else { return };
        self.at += char.len_utf8();
        let help = match char {
            '‘' | '’' | '“' | '”' | '„' | '«' | '»' => Some("use straight quotes: ' or \""),
            '\u{a0}' | '\u{2000}'..='\u{200b}' | '\u{202f}' | '\u{3000}' | '\u{feff}' => {
                Some("replace it by an ordinary space")
            }
            '@' | '#' | '$' => Some("names are made of A-Z a-z 0-9 and _; comments start with //"),
            ';' => Some("an expression is not ended by `;`"),
            '≤' => Some("use `<=`"),
            '≥' => Some("use `>=`"),
            '≠' => Some("use `!=`"),
            _ if char.is_alphabetic() => Some("names are made of A-Z a-z 0-9 and _; put text into quotes"),
            _ => None,
        };
        let shown = if char.is_control() || char.is_whitespace() || char == '\u{200b}' || char == '\u{feff}' {
            format!("U+{:04X}", char as u32)
        } else {
            format!("`{char}`")
        };
        let span = Span::new(start, self.at);
        self.issues.report(
            span,
            format!("Syntax error: unexpected character {shown}"),
            help.map(str::to_owned),
        );
    }
}
