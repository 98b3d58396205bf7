//! What each sub-expression gave: for people who ask why.

use std::fmt;

use super::error::EvalResult;
use super::value::Value;
use crate::ast::Span;

/// Sub-expressions kept at most; a loop over a large list would fill memory with what nobody reads.
const ENTRIES: usize = 256;

/// Characters of a value that are kept.
const VALUE_LENGTH: usize = 120;

/// Levels of lists and maps that are printed.
const VALUE_DEPTH: usize = 4;

/// The values of the sub-expressions of one evaluation, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    entries: Vec<TraceEntry>,
    omitted: usize,
}

/// One sub-expression: its place in the source and what it gave, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    pub span: Span,
    pub value: String,
    pub error: bool,
}

impl Trace {
    pub(crate) fn record(&mut self, span: Span, result: &EvalResult<'_>) {
        if self.entries.len() == ENTRIES {
            self.omitted += 1;
            return;
        }
        let (value, error) = match result {
            Ok(value) => (value.to_string(), false),
            Err(error) => (error.message.clone(), true),
        };
        self.entries.push(TraceEntry { span, value, error });
    }

    pub fn entries(&self) -> &[TraceEntry] {
        &self.entries
    }

    /// How many sub-expressions were not kept.
    pub fn omitted(&self) -> usize {
        self.omitted
    }
}

/// A value as a short CEL-like text, cut in depth and length.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Text { text: String::new() };
        text.value(self, VALUE_DEPTH);
        f.write_str(&text.text)
    }
}

struct Text {
    text: String,
}

impl Text {
    /// Recursion is bounded by `depth`.
    fn value(&mut self, value: &Value<'_>, depth: usize) {
        match value {
            Value::Null => self.text.push_str("null"),
            Value::Bool(value) => self.text.push_str(if *value { "true" } else { "false" }),
            Value::Int(value) => self.text.push_str(&value.to_string()),
            Value::Uint(value) => self.text.push_str(&format!("{value}u")),
            Value::Double(value) => self.text.push_str(&format!("{value:?}")),
            Value::String(value) => self.quoted(value),
            Value::Bytes(value) => self.text.push_str(&format!("bytes({})", value.len())),
            Value::Timestamp(value) => self.text.push_str(&format!("timestamp('{value}')")),
            Value::Duration(value) => self.text.push_str(&format!("duration('{}s')", *value as f64 / 1e9)),
            Value::Type(name) => self.text.push_str(name),
            Value::Opaque(value) => self.text.push_str(value.type_name()),
            Value::Optional(None) => self.text.push_str("optional.none()"),
            Value::Optional(Some(value)) => {
                self.text.push_str("optional.of(");
                if depth > 0 {
                    self.value(value, depth - 1)
                } else {
                    self.text.push('…')
                }
                self.text.push(')');
            }
            Value::List(items) => {
                self.sequence('[', items.iter(), ']', depth, |text, item, depth| text.value(item, depth))
            }
            Value::Map(map) => self.sequence('{', map.entries().iter(), '}', depth, |text, entry, depth| {
                text.value(&entry.key, depth);
                text.text.push_str(": ");
                text.value(&entry.value, depth);
            }),
            Value::Object(object) => {
                self.text.push_str(object.type_name);
                self.sequence('{', object.fields.iter(), '}', depth, |text, (name, value), depth| {
                    text.text.push_str(name);
                    text.text.push_str(": ");
                    text.value(value, depth);
                });
            }
        }
    }

    fn sequence<T>(
        &mut self,
        open: char,
        items: impl ExactSizeIterator<Item = T>,
        close: char,
        depth: usize,
        mut item: impl FnMut(&mut Self, T, usize),
    ) {
        self.text.push(open);
        for (index, next) in items.enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            if depth == 0 || self.text.len() > VALUE_LENGTH {
                self.text.push('…');
                break;
            }
            item(self, next, depth - 1);
        }
        self.text.push(close);
    }

    fn quoted(&mut self, value: &str) {
        self.text.push('\'');
        let left = VALUE_LENGTH.saturating_sub(self.text.len()).max(16);
        for (index, character) in value.chars().enumerate() {
            if index == left {
                self.text.push('…');
                break;
            }
            match character {
                '\'' => self.text.push_str("\\'"),
                '\\' => self.text.push_str("\\\\"),
                control if control.is_control() => self.text.extend(control.escape_default()),
                other => self.text.push(other),
            }
        }
        self.text.push('\'');
    }
}
