//! A [`Value`] as JSON.

use std::fmt;
use std::io::Write as _;
use std::slice;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::MAX_DEPTH;
use super::specials::Specials;
use crate::eval::{Entry, Value};

/// How [`write`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    pub large_integers: LargeIntegers,
    /// Most bytes to write. Values share their parts, so a small one can be huge as text.
    pub limit: usize,
    /// Write `<`, `>`, `&`, U+2028 and U+2029 as escapes, as Go does unless told otherwise. JSON readers see no difference, but
    /// the `test` operation of the API server's JSON Patch library compares strings as they are written.
    pub escape_html: bool,
}

/// What becomes of integers beyond ±(2^53 - 1), which a double cannot hold exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LargeIntegers {
    /// Written as they are: for documents.
    Exact,
    /// Written as strings, as cel-go does where a CEL value becomes JSON (`Int.ConvertToNative`): for values that an expression
    /// gives to a patch.
    AsStrings,
}

/// Why a value has no JSON form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// NaN or an infinity.
    NotFinite,
    /// A map key that is no string; the name of its type.
    Key(&'static str),
    /// A value of a type without JSON form; the name of the type.
    Type(&'static str),
    /// `optional.none()` where a value must stand.
    NoValue,
    /// More than [`MAX_DEPTH`] levels: nothing in Kubernetes could read it.
    TooDeep,
    /// More bytes than [`WriteOptions::limit`].
    TooLarge { limit: usize },
}

/// Appends the JSON text of `value` to `out`, without white space and with the keys in the order of the map.
///
/// Numbers and strings are written as Go's `encoding/json` does: shortest digits, exponents only below 1e-6 and from 1e21 on,
/// whole doubles without fraction. Types that JSON lacks are written as cel-go's
/// `ConvertToNative` does: bytes in base64, timestamps in RFC 3339, durations in seconds, optionals as their value, typed objects
/// as maps. Timestamps are always in UTC.
///
/// # Errors
/// See [`WriteError`]. `out` is then as it was before.
pub fn write(value: &Value<'_>, out: &mut Vec<u8>, options: WriteOptions) -> Result<(), WriteError> {
    let before = out.len();
    let mut writer = Writer { out, options, end: before.saturating_add(options.limit) };
    let result = writer.tree(value);
    if result.is_err() {
        out.truncate(before);
    }
    result
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    options: WriteOptions,
    end: usize,
}

/// What is left to write of an open container.
enum Rest<'v, 'a> {
    List(slice::Iter<'v, Value<'a>>),
    Map(slice::Iter<'v, Entry<'a>>),
    Object(slice::Iter<'v, (&'a str, Value<'a>)>),
}

impl Writer<'_> {
    fn tree(&mut self, root: &Value<'_>) -> Result<(), WriteError> {
        let mut open = Vec::new();
        let mut next = Some(root);
        loop {
            let mut first = false;
            if let Some(value) = next.take()
                && let Some(rest) = self.value(value)?
            {
                if open.len() >= MAX_DEPTH {
                    return Err(WriteError::TooDeep);
                }
                self.out.push(if matches!(rest, Rest::List(_)) { b'[' } else { b'{' });
                open.push(rest);
                first = true;
            }
            if self.out.len() > self.end {
                return Err(WriteError::TooLarge { limit: self.options.limit });
            }
            let Some(rest) = open.last_mut() else { return Ok(()) };
            let (key, value, close) = match rest {
                Rest::List(items) => (None, items.next(), b']'),
                Rest::Map(entries) => match entries.next() {
                    Some(entry) => (Some(key(&entry.key)?), Some(&entry.value), b'}'),
                    None => (None, None, b'}'),
                },
                Rest::Object(fields) => match fields.next() {
                    Some((name, value)) => (Some(*name), Some(value), b'}'),
                    None => (None, None, b'}'),
                },
            };
            if value.is_none() {
                self.out.push(close);
                open.pop();
                continue;
            }
            if !first {
                self.out.push(b',');
            }
            if let Some(key) = key {
                self.string(key);
                self.out.push(b':');
            }
            next = value;
        }
    }

    /// Writes a scalar, or gives the children of a container.
    fn value<'v, 'a>(&mut self, value: &'v Value<'a>) -> Result<Option<Rest<'v, 'a>>, WriteError> {
        match value {
            Value::Null => self.raw("null"),
            Value::Bool(true) => self.raw("true"),
            Value::Bool(false) => self.raw("false"),
            Value::Int(int) => self.integer(*int, int.unsigned_abs()),
            Value::Uint(uint) => self.integer(*uint, *uint),
            Value::Double(double) => self.double(*double)?,
            Value::String(text) => self.string(text),
            Value::Bytes(bytes) => {
                // Checked before it is made: bytes need no sharing to be large.
                if bytes.len() > self.end.saturating_sub(self.out.len()) {
                    return Err(WriteError::TooLarge { limit: self.options.limit });
                }
                let text = STANDARD.encode(bytes);
                self.string(&text);
            }
            Value::Timestamp(timestamp) => self.string(&timestamp.to_string()),
            Value::Duration(nanoseconds) => {
                let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
                // In this order, as Go's `Duration.Seconds` rounds.
                let seconds = seconds as f64 + rest as f64 / 1e9;
                self.display(format_args!("\"{seconds}s\""));
            }
            Value::List(items) => return Ok(Some(Rest::List(items.iter()))),
            Value::Map(map) => return Ok(Some(Rest::Map(map.entries().iter()))),
            Value::Object(object) => return Ok(Some(Rest::Object(object.fields.iter()))),
            Value::Optional(Some(inner)) => {
                let mut inner = *inner;
                while let Value::Optional(Some(deeper)) = inner {
                    inner = deeper;
                }
                if let Value::Optional(_) = inner {
                    return Err(WriteError::NoValue);
                }
                return self.value(inner);
            }
            Value::Optional(None) => return Err(WriteError::NoValue),
            Value::Type(_) => return Err(WriteError::Type("type")),
            Value::Opaque(opaque) => return Err(WriteError::Type(opaque.type_name())),
        }
        Ok(None)
    }

    fn integer(&mut self, integer: impl fmt::Display, magnitude: u64) {
        const SAFE: u64 = (1 << 53) - 1;
        if magnitude > SAFE && self.options.large_integers == LargeIntegers::AsStrings {
            self.display(format_args!("\"{integer}\""));
        } else {
            self.display(format_args!("{integer}"));
        }
    }

    fn double(&mut self, double: f64) -> Result<(), WriteError> {
        if !double.is_finite() {
            return Err(WriteError::NotFinite);
        }
        let magnitude = double.abs();
        if magnitude >= 1e21 {
            let text = format!("{double:e}");
            self.raw(&text.replacen('e', "e+", 1));
        } else if magnitude != 0.0 && magnitude < 1e-6 {
            self.display(format_args!("{double:e}"));
        } else {
            self.display(format_args!("{double}"));
        }
        Ok(())
    }

    fn string(&mut self, text: &str) {
        self.out.push(b'"');
        let bytes = text.as_bytes();
        let mut specials = Specials::new();
        let mut start = 0;
        loop {
            let at = if self.options.escape_html {
                html_run(bytes, start)
            } else {
                specials.first_from(bytes, start)
            };
            self.out.extend_from_slice(&bytes[start..at]);
            let Some(byte) = bytes.get(at) else { break };
            start = at + 1;
            match byte {
                b'"' => self.raw("\\\""),
                b'\\' => self.raw("\\\\"),
                b'\n' => self.raw("\\n"),
                b'\r' => self.raw("\\r"),
                b'\t' => self.raw("\\t"),
                0x08 => self.raw("\\b"),
                0x0c => self.raw("\\f"),
                0xe2 => {
                    // U+2028 and U+2029 are E2 80 A8 and E2 80 A9.
                    self.display(format_args!("\\u20{:02x}", bytes[at + 2] - 0x80));
                    start = at + 3;
                }
                other => self.display(format_args!("\\u{other:04x}")),
            }
        }
        self.out.push(b'"');
    }

    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn display(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a vector cannot fail.
        let _ = self.out.write_fmt(text);
    }
}

fn key<'a>(key: &Value<'a>) -> Result<&'a str, WriteError> {
    match key {
        Value::String(key) => Ok(key),
        Value::Bool(_) => Err(WriteError::Key("bool")),
        Value::Int(_) => Err(WriteError::Key("int")),
        Value::Uint(_) => Err(WriteError::Key("uint")),
        Value::Double(_) => Err(WriteError::Key("double")),
        _ => Err(WriteError::Key("another type")),
    }
}

impl Default for WriteOptions {
    /// Everything exact and no limit.
    fn default() -> Self {
        Self { large_integers: LargeIntegers::Exact, limit: usize::MAX, escape_html: false }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite => f.write_str("JSON has no NaN and no infinity"),
            Self::Key(found) => {
                write!(f, "keys of JSON objects are strings, not {found}: convert the key with string()")
            }
            Self::Type(found) => {
                write!(f, "a value of type {found} has no JSON form: convert it with string()")
            }
            Self::NoValue => {
                f.write_str("optional.none() has no JSON form: use `[?…]`, `{?…: …}` or orValue()")
            }
            Self::TooDeep => write!(f, "nested more than {MAX_DEPTH} levels deep"),
            Self::TooLarge { limit } => write!(f, "more than {limit} bytes as JSON"),
        }
    }
}

impl std::error::Error for WriteError {}

/// The offset of the next byte that must be escaped where `<`, `>` and `&` must be, too.
fn html_run(bytes: &[u8], start: usize) -> usize {
    // Not from the end of the other kind of run: text of nothing but `<` would then be read once for each of them.
    let special = bytes[start..].iter().enumerate().position(|(at, byte)| match byte {
        ..0x20 | b'"' | b'\\' | b'<' | b'>' | b'&' => true,
        0xe2 => matches!(bytes[start + at + 1..], [0x80, 0xa8 | 0xa9, ..]),
        _ => false,
    });
    special.map_or(bytes.len(), |at| start + at)
}
