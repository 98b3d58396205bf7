//! Why a text is not a JSON document that Kubernetes would read.

use std::fmt;

use crate::eval::EvalError;

/// Where and why reading JSON stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Byte offset into the text: of the byte that is wrong, or of the start of the value that is.
    pub offset: usize,
    pub kind: JsonErrorKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// Not JSON, or another type than the reader asked for.
    Unexpected { found: Found, expected: &'static str },
    /// More than [`super::MAX_DEPTH`] arrays and objects inside each other.
    TooDeep,
    /// A number beyond the range of a double, such as `1e999`.
    NumberOutOfRange,
    /// The arena is full.
    Memory,
}

/// What stands in the place of what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Character(char),
    End,
}

impl JsonError {
    #[cold]
    #[inline(never)]
    pub(super) fn unexpected(text: &str, offset: usize, expected: &'static str) -> Self {
        let found = match text.get(offset..).and_then(|rest| rest.chars().next()) {
            Some(character) => Found::Character(character),
            None => Found::End,
        };
        Self { offset, kind: JsonErrorKind::Unexpected { found, expected } }
    }

    pub(super) fn memory(offset: usize) -> impl Fn(Box<EvalError>) -> Self {
        move |_| Self { offset, kind: JsonErrorKind::Memory }
    }

    /// Line and column of the error, from 1; columns count characters. `text` is what was read.
    pub fn line_and_column(&self, text: &str) -> (usize, usize) {
        let before = text.get(..self.offset).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
        (line, column)
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid JSON at byte {}: ", self.offset)?;
        match &self.kind {
            JsonErrorKind::Unexpected { found, expected } => write!(f, "found {found}, expected {expected}"),
            JsonErrorKind::TooDeep => write!(f, "nested more than {} levels deep", super::MAX_DEPTH),
            JsonErrorKind::NumberOutOfRange => f.write_str("the number is too large for a double"),
            JsonErrorKind::Memory => f.write_str("the document needs more memory than one request may use"),
        }
    }
}

impl std::error::Error for JsonError {}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Escaped: the text may come from anyone and the message goes to logs and terminals.
            Self::Character(character) => write!(f, "'{}'", character.escape_debug()),
            Self::End => f.write_str("the end of the text"),
        }
    }
}
