//! Reading a document piece by piece, leaving most of it unread.

use std::borrow::Cow;

use super::error::JsonError;
use super::grammar;
use super::lex::Lexer;
use super::unescape::unescape;

/// A pull reader over a JSON text: the caller asks for what it expects and skips the rest as raw text. What is skipped is
/// checked as strictly as what is read, except that the range of numbers is not looked at.
///
/// ```
/// use usher_cel::document::Scanner;
///
/// let mut scanner = Scanner::new(r#"{"uid": "a", "object": {"b": [1]}}"#);
/// let (mut uid, mut object) = (None, None);
/// scanner.begin_object()?;
/// while let Some(key) = scanner.next_key()? {
///     match &*key {
///         "uid" => uid = Some(scanner.string()?),
///         "object" => object = Some(scanner.skip()?),
///         _ => {
///             scanner.skip()?;
///         }
///     }
/// }
/// scanner.finish()?;
/// assert_eq!(uid.as_deref(), Some("a"));
/// assert_eq!(object, Some(r#"{"b": [1]}"#));
/// # Ok::<(), usher_cel::document::JsonError>(())
/// ```
///
/// Repeated keys come as often as they stand there; what they mean is the caller's business. Any method may fail with a
/// [`JsonError`] that says where, what stands there and what was expected; after an error the scanner is of no further use.
#[derive(Clone, Debug)]
pub struct Scanner<'b> {
    lexer: Lexer<'b>,
    /// Objects and arrays around the position.
    depth: usize,
    /// Nothing was read of the innermost of them yet, so no comma is due.
    first: bool,
}

/// What a value is, seen from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl<'b> Scanner<'b> {
    pub fn new(json: &'b str) -> Self {
        Self { lexer: Lexer::new(json), depth: 0, first: true }
    }

    /// The byte offset of the position.
    pub fn offset(&self) -> usize {
        self.lexer.offset()
    }

    /// What comes next, without taking it.
    pub fn kind(&mut self) -> Result<Kind, JsonError> {
        match self.lexer.peek() {
            b'n' => Ok(Kind::Null),
            b't' | b'f' => Ok(Kind::Bool),
            b'-' | b'0'..=b'9' => Ok(Kind::Number),
            b'"' => Ok(Kind::String),
            b'[' => Ok(Kind::Array),
            b'{' => Ok(Kind::Object),
            _ => Err(self.lexer.unexpected("a value")),
        }
    }

    /// Enters an object; [`Self::next_key`] reads its members.
    pub fn begin_object(&mut self) -> Result<(), JsonError> {
        self.begin(b'{', "`{`: an object")
    }

    /// Enters an array; [`Self::next_item`] tells whether an item follows.
    pub fn begin_array(&mut self) -> Result<(), JsonError> {
        self.begin(b'[', "`[`: an array")
    }

    /// The key of the object's next member, its escapes resolved, and the position moves to its value, which must be read or
    /// skipped before the next call. `None` when the object ends; the position is then behind it.
    pub fn next_key(&mut self) -> Result<Option<Cow<'b, str>>, JsonError> {
        if !self.next(b'}', "`,` or `}`")? {
            return Ok(None);
        }
        let key = self.text("a string as key")?;
        if self.lexer.peek() != b':' {
            return Err(self.lexer.unexpected("`:` after the key"));
        }
        self.lexer.advance();
        Ok(Some(key))
    }

    /// Whether the array has another item, which must be read or skipped before the next call. When it has not, the position
    /// is behind the array.
    pub fn next_item(&mut self) -> Result<bool, JsonError> {
        self.next(b']', "`,` or `]`")
    }

    /// Reads a string.
    pub fn string(&mut self) -> Result<Cow<'b, str>, JsonError> {
        self.text("a string")
    }

    /// Reads `true` or `false`.
    pub fn bool(&mut self) -> Result<bool, JsonError> {
        let value = match self.lexer.peek() {
            b't' => self.lexer.literal("true").map(|()| true),
            b'f' => self.lexer.literal("false").map(|()| false),
            _ => Err(self.lexer.unexpected("`true` or `false`")),
        }?;
        self.first = false;
        Ok(value)
    }

    /// Reads an integer of 64 bits.
    pub fn int(&mut self) -> Result<i64, JsonError> {
        const EXPECTED: &str = "an integer of 64 bits";
        if !matches!(self.lexer.peek(), b'-' | b'0'..=b'9') {
            return Err(self.lexer.unexpected(EXPECTED));
        }
        let before = self.lexer.clone();
        let number = self.lexer.number()?;
        self.first = false;
        number.text.parse().map_err(|_| before.unexpected(EXPECTED))
    }

    /// Takes a `null` if one comes next, and says so. Makes any other read optional.
    pub fn null(&mut self) -> Result<bool, JsonError> {
        if self.lexer.peek() != b'n' {
            return Ok(false);
        }
        self.lexer.literal("null")?;
        self.first = false;
        Ok(true)
    }

    /// Moves over the next value, whatever it is, and gives its text: a document of its own, which may be as deep as one.
    pub fn skip(&mut self) -> Result<&'b str, JsonError> {
        self.lexer.peek();
        let start = self.lexer.offset();
        grammar::skip(&mut self.lexer, 0)?;
        self.first = false;
        Ok(self.lexer.since(start))
    }

    /// Checks that nothing follows.
    pub fn finish(mut self) -> Result<(), JsonError> {
        if self.lexer.at_end() { Ok(()) } else { Err(self.lexer.unexpected("nothing after the value")) }
    }

    fn begin(&mut self, open: u8, expected: &'static str) -> Result<(), JsonError> {
        if self.lexer.peek() != open {
            return Err(self.lexer.unexpected(expected));
        }
        if self.depth >= super::MAX_DEPTH {
            return Err(self.lexer.too_deep());
        }
        self.lexer.advance();
        self.depth += 1;
        self.first = true;
        Ok(())
    }

    fn next(&mut self, close: u8, expected: &'static str) -> Result<bool, JsonError> {
        let byte = self.lexer.peek();
        if byte == close {
            self.lexer.advance();
            self.depth = self.depth.saturating_sub(1);
            self.first = false;
            return Ok(false);
        }
        if !self.first {
            if byte != b',' {
                return Err(self.lexer.unexpected(expected));
            }
            self.lexer.advance();
        }
        self.first = false;
        Ok(true)
    }

    fn text(&mut self, expected: &'static str) -> Result<Cow<'b, str>, JsonError> {
        if self.lexer.peek() != b'"' {
            return Err(self.lexer.unexpected(expected));
        }
        let string = self.lexer.string()?;
        self.first = false;
        if !string.escaped {
            return Ok(Cow::Borrowed(string.text));
        }
        let mut text = String::with_capacity(string.text.len());
        unescape(string.text, &mut text);
        Ok(Cow::Owned(text))
    }
}
