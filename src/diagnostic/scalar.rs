//! From a character of a decoded scalar to the character of the file that it was written as.
//!
//! The decoded text guides the walk over the written one: each step must produce the next decoded character, else the
//! walk ends and the start of the scalar is given. So a wrong place cannot come out, whatever the YAML looks like.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ScalarStyle {
    /// `text`
    Plain,
    /// `'text'`
    SingleQuoted,
    /// `"text"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

impl ScalarStyle {
    /// The bytes between the quotes, if there are any.
    pub(crate) fn inside(self, span: Range<usize>) -> Range<usize> {
        match self {
            Self::SingleQuoted | Self::DoubleQuoted => span.start + 1..span.end.saturating_sub(1),
            Self::Plain | Self::Literal | Self::Folded => span,
        }
    }
}

/// A scalar as it is written.
pub(super) struct Raw<'a> {
    pub(super) file: &'a str,
    /// Bytes of the file, with quotes; of a block, from its first character that is no white space.
    pub(super) span: &'a Range<usize>,
    pub(super) style: ScalarStyle,
    /// Spaces before each line of a block.
    pub(super) indent: usize,
}

/// Where each character of a decoded scalar stands in the file.
pub(super) struct Written {
    /// For each character its first byte in the decoded text, and its bytes in the file; as far as it can be told.
    characters: Vec<(usize, Range<usize>)>,
    /// Bytes of the decoded text that they are.
    known: usize,
    /// Where to point at what lies behind them.
    rest: usize,
}

impl Written {
    pub(super) fn new(raw: &Raw<'_>, text: &str) -> Self {
        let mut walk = Walk::new(raw);
        let mut characters: Vec<(usize, Range<usize>)> = Vec::new();
        for (offset, character) in text.char_indices() {
            let Some(written) = walk.next(character, &text[offset + character.len_utf8()..]) else {
                return Self { characters, known: offset, rest: raw.span.start };
            };
            characters.push((offset, written));
        }
        // The end of the text: a finding such as "unexpected end of input".
        let rest = characters.last().map_or(raw.span.start, |(_, written)| written.end);
        Self { characters, known: text.len(), rest }
    }

    /// Bytes of the file for bytes of the decoded text.
    pub(super) fn locate(&self, span: &Range<usize>) -> Range<usize> {
        let character = |at: usize| {
            let behind = self.characters.partition_point(|(offset, _)| *offset <= at);
            behind.checked_sub(1).and_then(|index| self.characters.get(index))
        };
        let Some((_, first)) = character(span.start).filter(|_| span.start < self.known) else {
            return self.rest..self.rest;
        };
        // An empty span stays a point before its character.
        let end = match span.end.checked_sub(1).filter(|last| *last >= span.start).and_then(character) {
            Some((_, last)) => last.end,
            None => first.start,
        };
        first.start..end
    }
}

struct Walk<'a> {
    file: &'a str,
    at: usize,
    end: usize,
    style: ScalarStyle,
    indent: usize,
    line_start: bool,
}

impl<'a> Walk<'a> {
    fn new(raw: &Raw<'a>) -> Self {
        let (start, end, line_start) = match raw.style {
            ScalarStyle::Plain => (raw.span.start, raw.span.end, false),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                (raw.span.start + 1, raw.span.end, false)
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                // The header is the last line before the content that is not blank.
                let before = raw.file.get(..raw.span.start).unwrap_or_default();
                let header = before.trim_end().len();
                let break_at = before[header..].find('\n').map_or(raw.span.start, |at| header + at + 1);
                // The end of the span leaves out lines of white space that belong to the text.
                (break_at, raw.file.len(), true)
            }
        };
        let end = end.min(raw.file.len());
        Self { file: raw.file, at: start.min(end), end, style: raw.style, indent: raw.indent, line_start }
    }

    /// The bytes that the next decoded character was written as; `after` is the decoded text behind it.
    fn next(&mut self, character: char, after: &str) -> Option<Range<usize>> {
        match self.style {
            ScalarStyle::Literal => self.block(character, false),
            ScalarStyle::Folded => self.block(character, true),
            ScalarStyle::Plain | ScalarStyle::SingleQuoted => self.flow(character, after),
            ScalarStyle::DoubleQuoted => {
                self.skip_escaped_breaks();
                self.escape(character).or_else(|| self.flow(character, after))
            }
        }
    }

    fn rest(&self) -> &'a str {
        self.file.get(self.at..self.end).unwrap_or_default()
    }

    /// Takes `length` bytes.
    fn take(&mut self, length: usize) -> Range<usize> {
        let start = self.at;
        self.at += length;
        start..self.at
    }

    fn block(&mut self, character: char, folded: bool) -> Option<Range<usize>> {
        loop {
            if self.line_start {
                let blanks = self.rest().bytes().take(self.indent).take_while(|b| *b == b' ').count();
                self.at += blanks;
                self.line_start = false;
            }
            match break_length(self.rest()) {
                0 => break,
                length if character == '\n' || (folded && character == ' ') => {
                    self.line_start = true;
                    return Some(self.take(length));
                }
                // Of several folded breaks one is not in the text.
                length if folded => {
                    self.at += length;
                    self.line_start = true;
                }
                _ => return None,
            }
        }
        self.plain(character)
    }

    fn flow(&mut self, character: char, after: &str) -> Option<Range<usize>> {
        let rest = self.rest();
        if self.style == ScalarStyle::SingleQuoted && character == '\'' {
            return rest.starts_with("''").then(|| self.take(2));
        }
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if break_length(&rest[blank..]) == 0 {
            return self.plain(character);
        }
        // Each break of a run looks at the whole run.
        if blank_length(rest) > LONGEST_RUN {
            return None;
        }
        // One break is folded into a space; of several the first is dropped. All but the last decoded character of the
        // fold are breaks, and the last one takes the blanks that follow.
        let more = character == '\n' && after.starts_with('\n') && breaks(rest) > 2;
        let mut length = blank + break_length(&rest[blank..]);
        if character == '\n' && first_break_is_dropped(rest, after) {
            length += next_break(&rest[length..]);
        }
        if !more {
            length += blank_length(&rest[length..]);
        }
        (character == ' ' || character == '\n').then(|| self.take(length))
    }

    fn plain(&mut self, character: char) -> Option<Range<usize>> {
        self.rest().starts_with(character).then(|| self.take(character.len_utf8()))
    }

    /// A backslash at the end of a line joins the lines.
    fn skip_escaped_breaks(&mut self) {
        while let Some(after) = self.rest().strip_prefix('\\') {
            let length = break_length(after);
            if length == 0 {
                return;
            }
            let blanks = after[length..].len() - after[length..].trim_start_matches([' ', '\t']).len();
            self.at += 1 + length + blanks;
        }
    }

    fn escape(&mut self, character: char) -> Option<Range<usize>> {
        let escaped = self.rest().strip_prefix('\\')?;
        let digits = match escaped.chars().next()? {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            named => {
                let meant = match named {
                    '0' => '\0',
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    't' | '\t' => '\t',
                    'n' => '\n',
                    'v' => '\u{b}',
                    'f' => '\u{c}',
                    'r' => '\r',
                    'e' => '\u{1b}',
                    'N' => '\u{85}',
                    '_' => '\u{a0}',
                    'L' => '\u{2028}',
                    'P' => '\u{2029}',
                    other => other,
                };
                return (meant == character).then(|| self.take(1 + named.len_utf8()));
            }
        };
        let code = u32::from_str_radix(escaped.get(1..=digits)?, 16).ok()?;
        if char::from_u32(code) == Some(character) {
            return Some(self.take(2 + digits));
        }
        // JSON writes characters beyond U+FFFF as two halves.
        let low = escaped.get(1 + digits..)?.strip_prefix("\\u")?.get(..4)?;
        let low = u32::from_str_radix(low, 16).ok()?;
        let joined = code.checked_sub(0xd800)?.checked_mul(0x400)?.checked_add(low.checked_sub(0xdc00)?)?;
        (char::from_u32(joined.checked_add(0x1_0000)?) == Some(character)).then(|| self.take(12))
    }
}

/// Bytes of white space between two words through which places are followed.
const LONGEST_RUN: usize = 4096;

/// Bytes of white space at the start of the text.
fn blank_length(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t', '\r', '\n']).len()
}

/// Bytes of the line break at the start of the text; 0 if there is none.
fn break_length(text: &str) -> usize {
    match text.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\n' | b'\r', ..] => 1,
        _ => 0,
    }
}

/// Whether the breaks ahead are one more than the decoded ones.
fn first_break_is_dropped(rest: &str, after: &str) -> bool {
    let decoded = 1 + after.bytes().take_while(|b| *b == b'\n').count();
    breaks(rest) > decoded
}

/// Line breaks in the white space at the start of the text.
fn breaks(text: &str) -> usize {
    let blank = &text[..blank_length(text)];
    let pairs = blank.matches("\r\n").count();
    blank.bytes().filter(|b| matches!(b, b'\n' | b'\r')).count() - pairs
}

/// Bytes up to and with the next line break of the white space at the start of the text; 0 if there is none.
fn next_break(text: &str) -> usize {
    let blank = text.len() - text.trim_start_matches([' ', '\t']).len();
    match break_length(&text[blank..]) {
        0 => 0,
        length => blank + length,
    }
}
