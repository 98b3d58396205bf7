//! Tokens of JSON: the part of the grammar that has no nesting.

use super::error::{JsonError, JsonErrorKind};

/// A position in a text. Each method reads one token at the position, checks it in full and moves behind it.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'b> {
    text: &'b str,
    at: usize,
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
        Self { text, at: 0 }
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
    #[inline]
    pub(super) fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                Some(byte) => return *byte,
                None => return 0,
            }
        }
    }

    /// Takes the byte that [`Self::peek`] showed.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

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
    #[inline]
    pub(super) fn string(&mut self) -> Result<RawString<'b>, JsonError> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            at = plain_run(bytes, at);
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at = at + 1;
                    self.escape()?;
                    at = self.at;
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

    /// What follows a backslash.
    fn escape(&mut self) -> Result<(), JsonError> {
        let bytes = self.text.as_bytes();
        match bytes.get(self.at) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !bytes.get(self.at).is_some_and(u8::is_ascii_hexdigit) {
                        return Err(self.unexpected("four hexadecimal digits after `\\u`"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.unexpected("one of `\"\\/bfnrtu` after a backslash")),
        }
        Ok(())
    }

    /// A number; the position is at a digit or `-`.
    #[inline]
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

    #[inline]
    fn digits(&mut self, expected: &'static str) -> Result<(), JsonError> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        while bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected(expected)) } else { Ok(()) }
    }

    pub(super) fn too_deep(&self) -> JsonError {
        JsonError { offset: self.at, kind: JsonErrorKind::TooDeep }
    }
}

/// The offset of the first byte from `at` on that is a quote, a backslash or a control character, or the end.
///
/// Eight bytes a step: strings are most of a review, and most of them are long enough for this to be several times faster
/// than a look at each byte.
#[inline]
pub(super) fn plain_run(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        // A byte's high bit is set where it is below 0x20, zero after the `^`, … A borrow can reach only bytes behind a
        // true hit, so the lowest hit is always true.
        let control = word.wrapping_sub(ONES * 0x20);
        let quote = (word ^ (ONES * u64::from(b'"'))).wrapping_sub(ONES);
        let backslash = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
        let hits = (control | quote | backslash) & !word & HIGH;
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\') {
        at += 1;
    }
    at
}
