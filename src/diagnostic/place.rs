use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text with its name: what a [`Place`] points into.
#[derive(Clone, Debug)]
pub struct SourceText {
    name: Arc<str>,
    text: Arc<str>,
    /// Byte offset of the start of each line.
    lines: Arc<[usize]>,
}

impl SourceText {
    /// A text; `name` is the file's path as it is shown to people.
    pub fn new(name: &str, text: &str) -> Self {
        let starts = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        Self { name: name.into(), text: text.into(), lines: std::iter::once(0).chain(starts).collect() }
    }

    /// Path of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte offset, both from 1, the column in characters. An offset outside the text or inside a
    /// character is moved down to the nearest boundary.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.line_index(offset);
        let column = self.text[self.lines[line]..offset].chars().count() + 1;
        (line + 1, column)
    }

    /// The place of some bytes of the text.
    pub fn place(&self, span: Range<usize>) -> Place {
        let (line, column) = self.line_column(span.start);
        Place { file: self.name.clone(), line, column, span }
    }

    /// Index, from 0, of the line that holds the offset.
    pub(super) fn line_index(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset) - 1
    }

    /// Bytes of a line, from 0, without its line break; empty behind the last line.
    pub(super) fn line_range(&self, line: usize) -> Range<usize> {
        let Some(&start) = self.lines.get(line) else { return self.text.len()..self.text.len() };
        let end = self.lines.get(line + 1).copied().unwrap_or(self.text.len());
        let content = self.text[start..end].trim_end_matches(['\n', '\r']);
        start..start + content.len()
    }
}

/// Where something stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Path of the file.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: usize,
    /// Column, in characters, from 1.
    pub column: usize,
    /// Bytes of the file's text.
    pub span: Range<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
