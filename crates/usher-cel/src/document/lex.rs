//! Tokens of JSON: the part of the grammar that has no nesting.

use super::error::{JsonError, JsonErrorKind};
use super::jump::behind_brackets;
use super::specials::Specials;
use super::sweep::behind_checked;

/// A position in a text. Each method reads one token at the position, checks it in full and moves behind it.
///
/// The methods are small and always inlined, and errors are made from the text and the offset by value: so a loop that owns
/// its lexer keeps the position in a register, which took a quarter off the time of skipping.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'b> {
    text: &'b str,
    at: usize,
    specials: Specials,
}

/// A string as it stands in the text, without its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawString<'b> {
    pub(super) text: &'b str,
    pub(super) escaped: bool,
}

/// A number as it stands in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawNumber<'b> {
    pub(super) text: &'b str,
    /// Neither fraction nor exponent.
    pub(super) whole: bool,
}

impl<'b> Lexer<'b> {
    pub(super) fn new(text: &'b str) -> Self {
        Self { text, at: 0, specials: Specials::new() }
    }

    /// As [`Self::new`], at an offset.
    pub(super) fn starting_at(text: &'b str, at: usize) -> Self {
        Self { at, ..Self::new(text) }
    }

    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// The text from `start` to the position.
    pub(super) fn since(&self, start: usize) -> &'b str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Moves over white space and shows the byte behind it without taking it; 0 at the end of the text, which no token starts
    /// with either.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        match bytes.get(self.at) {
            // What Kubernetes sends has no white space between tokens: one comparison.
            Some(byte) if *byte > b' ' => *byte,
            _ => {
                self.at = behind_white_space(bytes, self.at);
                bytes.get(self.at).copied().unwrap_or(0)
            }
        }
    }

    /// Takes the byte that [`Self::peek`] showed.
    #[inline(always)]
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// Moves behind the list or object at the position, `outside` levels deep in others, if a fast look is enough to know that it is right.
    pub(super) fn sweep(&mut self, outside: usize) -> bool {
        let end = behind_checked(self.text, self.at, outside);
        self.at = end.unwrap_or(self.at);
        end.is_some()
    }

    /// Moves behind the list or object at the position without a check, to the end if it has none.
    pub(super) fn jump(&mut self) {
        let bytes = self.text.as_bytes();
        self.at = behind_brackets(bytes, self.at).unwrap_or(bytes.len());
    }

    #[inline(always)]
    pub(super) fn unexpected(&self, expected: &'static str) -> JsonError {
        JsonError::unexpected(self.text, self.at, expected)
    }

    pub(super) fn at_end(&mut self) -> bool {
        self.peek();
        self.at >= self.text.len()
    }

    /// `true`, `false` or `null`.
    #[inline]
    pub(super) fn literal(&mut self, word: &'static str) -> Result<(), JsonError> {
        let found = &self.text.as_bytes()[self.at..];
        if found.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        self.at += found.iter().zip(word.bytes()).take_while(|(a, b)| **a == *b).count();
        Err(self.unexpected(match word {
            "true" => "`true`",
            "false" => "`false`",
            _ => "`null`",
        }))
    }

    /// A string; the position is at its opening quote.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<RawString<'b>, JsonError> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            at = self.specials.first_from(bytes, at);
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    at = escape(self.text, at + 1)?;
                }
                Some(_) => {
                    self.at = at;
                    return Err(
                        self.unexpected("an escape such as `\\n` for a control character in a string")
                    );
                }
                None => {
                    self.at = at;
                    return Err(self.unexpected("`\"` at the end of the string"));
                }
            }
        }
        self.at = at + 1;
        Ok(RawString { text: self.text.get(start..at).unwrap_or_default(), escaped })
    }

    /// A number; the position is at a digit or `-`.
    #[inline(always)]
    pub(super) fn number(&mut self) -> Result<RawNumber<'b>, JsonError> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut whole = true;
        if bytes[start] == b'-' {
            self.at += 1;
        }
        if bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
            if bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
                return Err(self.unexpected("no digit after a leading zero"));
            }
        } else {
            self.digits("a digit")?;
        }
        if bytes.get(self.at) == Some(&b'.') {
            whole = false;
            self.at += 1;
            self.digits("a digit after the decimal point")?;
        }
        if let Some(b'e' | b'E') = bytes.get(self.at) {
            whole = false;
            self.at += 1;
            if let Some(b'+' | b'-') = bytes.get(self.at) {
                self.at += 1;
            }
            self.digits("a digit of the exponent")?;
        }
        Ok(RawNumber { text: self.since(start), whole })
    }

    #[inline(always)]
    fn digits(&mut self, expected: &'static str) -> Result<(), JsonError> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        while bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected(expected)) } else { Ok(()) }
    }

    #[inline(always)]
    pub(super) fn too_deep(&self) -> JsonError {
        JsonError { offset: self.at, kind: JsonErrorKind::TooDeep }
    }
}

#[cold]
#[inline(never)]
fn behind_white_space(bytes: &[u8], at: usize) -> usize {
    let is_space = |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
    at + bytes.get(at..).unwrap_or_default().iter().take_while(is_space).count()
}

/// The offset behind the escape whose backslash is before `at`.
pub(super) fn escape(text: &str, at: usize) -> Result<usize, JsonError> {
    let bytes = text.as_bytes();
    match bytes.get(at) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 1),
        Some(b'u') => {
            let digits = bytes[at + 1..].iter().take(4).take_while(|byte| byte.is_ascii_hexdigit()).count();
            if digits < 4 {
                let expected = "four hexadecimal digits after `\\u`";
                return Err(JsonError::unexpected(text, at + 1 + digits, expected));
            }
            Ok(at + 5)
        }
        _ => Err(JsonError::unexpected(text, at, "one of `\"\\/bfnrtu` after a backslash")),
    }
}
