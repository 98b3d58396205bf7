use std::ops::Range;

use super::SourceText;

/// Bytes of one line that are kept at most: a terminal's width several times over, and no more of a file that is one
/// long line of JSON.
const LINE_MAX: usize = 400;
/// Lines that are kept at most of a span of many lines.
const LINES_MAX: usize = 4;

/// The lines of a text that a finding shows. It owns its text, so that a finding does not keep a whole file in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Number of the first line, from 1.
    pub first_line: usize,
    /// One line before the finding, where there is one, and the lines of the finding.
    pub text: String,
    /// The finding: bytes of `text`.
    pub span: Range<usize>,
    /// The line of the finding is so long that its beginning is not in `text`.
    pub cut: bool,
}

impl Excerpt {
    /// Cuts the lines around some bytes out of a text.
    pub fn of(source: &SourceText, span: Range<usize>) -> Self {
        let text = source.text();
        let start = text.floor_char_boundary(span.start);
        let end = text.floor_char_boundary(span.end.max(start));
        let first = source.line_index(start);
        let last = source.line_index(end).min(first + LINES_MAX - 1);
        let context = first.saturating_sub(1);

        let mut kept = Self { first_line: context + 1, text: String::new(), span: 0..0, cut: false };
        for line in context..=last {
            let range = source.line_range(line);
            let focus = if line == first { start } else { range.start };
            let window = window(text, range.clone(), focus);
            if line > context {
                kept.text.push('\n');
            }
            let offset = kept.text.len();
            kept.text.push_str(&text[window.clone()]);
            let within = |at: usize| offset + at.clamp(window.start, window.end) - window.start;
            if line == first {
                kept.span = within(start)..within(end);
                kept.cut = window.start > range.start;
            } else if line > first {
                kept.span.end = within(end);
            }
        }
        kept
    }
}

/// The part of a line that is kept: all of it, or a window around the focus.
fn window(text: &str, line: Range<usize>, focus: usize) -> Range<usize> {
    if line.len() <= LINE_MAX {
        return line;
    }
    let start = text.floor_char_boundary(focus.saturating_sub(LINE_MAX / 4).max(line.start));
    let end = text.floor_char_boundary((start + LINE_MAX).min(line.end));
    start..end.max(start)
}
