//! `format`: cel-go `ext/formatting.go`, the implementation of versions 1 to 3 of the strings library, with its oddities: `%f` groups
//! thousands, `%e` takes its number as a width, lists and maps print as CEL literals with doubles to six places. It costs 0.1 per code point
//! of the format string.

use std::fmt::{self, Write};

use super::convert::text_of;
use super::cost;
use super::number::{grouped_fixed, six_decimals, superscript_scientific};
use super::overload::Call;
use super::quote::Quoted;
use crate::eval::{EvalError, EvalResult, ListBuilder, Value, type_name};

/// Digits after the point, where the clause does not say.
const DEFAULT_PRECISION: u64 = 6;

type Fallible<T = ()> = Result<T, Box<EvalError>>;

pub(super) fn format<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(format), Value::List(values)] = args else {
        return Err(EvalError::no_such_overload());
    };
    call.charge(cost::traversal(cost::size(format)))?;
    let mut out = Out { bytes: call.arena.list(format.len())?, call };
    let mut next_values = values.iter();
    let mut rest = *format;
    while let Some(percent) = rest.find('%') {
        out.push(&rest[..percent])?;
        rest = &rest[percent + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push("%")?;
            rest = after;
            continue;
        }
        let Some(value) = next_values.next() else {
            return Err(EvalError::invalid(format!("index {} out of range", values.len())));
        };
        if rest.is_empty() {
            return Err(EvalError::invalid("unexpected end of string"));
        }
        let clause = Clause::parse(rest).map_err(EvalError::invalid)?;
        rest = &rest[clause.length..];
        clause.write(value, &mut out)?;
    }
    out.push(rest)?;
    let bytes = out.bytes.finish();
    // Whole strings were put together, so this is UTF-8; the check costs less than an exception to `forbid(unsafe_code)`.
    Ok(Value::String(std::str::from_utf8(bytes).unwrap_or_default()))
}

/// The text so far. It grows in the arena, whose limit holds whatever the arguments make of it.
struct Out<'c, 'd, 'm, 'a> {
    bytes: ListBuilder<'a, u8>,
    call: &'c mut Call<'d, 'm, 'a>,
}

impl Out<'_, '_, '_, '_> {
    fn push(&mut self, text: &str) -> Fallible {
        self.bytes.extend(text.as_bytes())
    }
}

/// What follows a `%`.
pub(crate) struct Clause {
    pub(crate) verb: char,
    /// The number after a dot.
    number: Option<u64>,
    /// Bytes of the clause.
    pub(crate) length: usize,
}

impl Clause {
    /// Reads the clause that `text` begins with.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (number, verb_at) = match text.strip_prefix('.') {
            None => (None, 0),
            Some(after) => {
                let digits = after.bytes().take_while(u8::is_ascii_digit).count();
                if digits == after.len() {
                    return Err(unparsable(format_args!(
                        "error while parsing precision: could not find end of precision specifier"
                    )));
                }
                let text = &after[..digits];
                let number = text.parse::<i64>().map_err(|_| {
                    let why = if digits == 0 { "invalid syntax" } else { "value out of range" };
                    unparsable(format_args!(
                        "error while parsing precision: error while converting precision to integer: \
                         strconv.Atoi: parsing {}: {why}",
                        Quoted(text)
                    ))
                })?;
                (u64::try_from(number).ok(), digits + 1)
            }
        };
        // cel-go looks at bytes and shows one that is no verb as the character of that number.
        let verb = char::from(text.as_bytes().get(verb_at).copied().unwrap_or_default());
        if !matches!(verb, 's' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o') {
            return Err(unparsable(format_args!("unrecognized formatting clause \"{verb}\"")));
        }
        Ok(Self { verb, number, length: verb_at + 1 })
    }

    fn write(&self, value: &Value<'_>, out: &mut Out<'_, '_, '_, '_>) -> Fallible {
        let number = self.number.unwrap_or(DEFAULT_PRECISION);
        let text = match (self.verb, value) {
            ('s', value) => return write_value(value, out),
            ('d', Value::Int(value)) => value.to_string(),
            ('d', Value::Uint(value)) => value.to_string(),
            ('f', value) => match double(value) {
                Some(value) => grouped_fixed(value, number),
                None => return Err(self.refuse(value)),
            },
            ('e', value) => match double(value) {
                Some(value) => superscript_scientific(value, number),
                None => return Err(self.refuse(value)),
            },
            ('b', Value::Bool(value)) => u8::from(*value).to_string(),
            ('b' | 'x' | 'X' | 'o', Value::Int(value)) => {
                let sign = if *value < 0 { "-" } else { "" };
                sign.to_owned() + &self.digits(value.unsigned_abs())
            }
            ('b' | 'x' | 'X' | 'o', Value::Uint(value)) => self.digits(*value),
            ('x' | 'X', Value::String(value)) => return self.hexadecimal(value.as_bytes(), out),
            ('x' | 'X', Value::Bytes(value)) => return self.hexadecimal(value, out),
            _ => return Err(self.refuse(value)),
        };
        out.push(&text)
    }

    fn digits(&self, value: u64) -> String {
        match self.verb {
            'b' => format!("{value:b}"),
            'o' => format!("{value:o}"),
            'X' => format!("{value:X}"),
            _ => format!("{value:x}"),
        }
    }

    fn hexadecimal(&self, bytes: &[u8], out: &mut Out<'_, '_, '_, '_>) -> Fallible {
        let digits = if self.verb == 'X' { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
        for byte in bytes {
            out.bytes.extend(&[digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]])?;
        }
        Ok(())
    }

    fn refuse(&self, value: &Value<'_>) -> Box<EvalError> {
        EvalError::invalid(self.refusal(type_name(value)))
    }

    /// Why a value of this type cannot be formatted.
    pub(crate) fn refusal(&self, type_name: &str) -> String {
        let wanted = match self.verb {
            's' => STRING_WANTED,
            'd' => "decimal clause can only be used on integers",
            'f' => "fixed-point clause can only be used on doubles",
            'e' => "scientific clause can only be used on doubles",
            'b' => "only integers and bools can be formatted as binary",
            'o' => "octal clause can only be used on integers",
            _ => "only integers, byte buffers, and strings can be formatted as hex",
        };
        format!("error during formatting: {wanted}, was given {type_name}")
    }
}

const STRING_WANTED: &str = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and \
    timestamps";

fn unparsable(why: fmt::Arguments<'_>) -> String {
    format!("could not parse formatting clause: {why}")
}

fn double(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(value) => Some(*value),
        Value::String("NaN") => Some(f64::NAN),
        Value::String("Infinity") => Some(f64::INFINITY),
        Value::String("-Infinity") => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// `%s`.
fn write_value(value: &Value<'_>, out: &mut Out<'_, '_, '_, '_>) -> Fallible {
    match value {
        Value::List(_) | Value::Map(_) => write_literal(value, out),
        Value::Null => out.push("null"),
        Value::String(text) => out.push(text),
        Value::Optional(_) | Value::Object(_) | Value::Opaque(_) => {
            Err(failed(format_args!("{STRING_WANTED}, was given {}", type_name(value))))
        }
        scalar => {
            let text = scalar_text(scalar)?;
            out.push(&text)
        }
    }
}

/// What is still to be written of nested lists and maps; a stack of its own, because documents nest deeper than threads' stacks.
enum Pending<'v, 'a> {
    Text(&'static str),
    Owned(String),
    Value(&'v Value<'a>),
}

/// A list or map as a CEL literal, and all that is in it; entries of maps in the order of their keys' texts.
fn write_literal(value: &Value<'_>, out: &mut Out<'_, '_, '_, '_>) -> Fallible {
    let mut pending = vec![Pending::Value(value)];
    while let Some(next) = pending.pop() {
        out.call.meter.tick()?;
        match next {
            Pending::Text(text) => out.push(text)?,
            Pending::Owned(text) => out.push(&text)?,
            Pending::Value(Value::List(items)) => {
                out.push("[")?;
                pending.push(Pending::Text("]"));
                for (index, item) in items.iter().enumerate().rev() {
                    pending.push(Pending::Value(item));
                    if index > 0 {
                        pending.push(Pending::Text(", "));
                    }
                }
            }
            Pending::Value(Value::Map(map)) => {
                let mut entries = Vec::with_capacity(map.len());
                for entry in map.entries() {
                    entries.push((key_text(&entry.key)?, &entry.value));
                }
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                out.push("{")?;
                pending.push(Pending::Text("}"));
                for (index, (key, value)) in entries.into_iter().enumerate().rev() {
                    pending.push(Pending::Value(value));
                    pending.push(Pending::Text(":"));
                    pending.push(Pending::Owned(key));
                    if index > 0 {
                        pending.push(Pending::Text(", "));
                    }
                }
            }
            Pending::Value(scalar) => {
                let text = scalar_literal(scalar)?;
                out.push(&text)?;
            }
        }
    }
    Ok(())
}

fn scalar_literal(value: &Value<'_>) -> Fallible<String> {
    Ok(match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => Quoted(text).to_string(),
        Value::Bytes(_) => format!("b{}", Quoted(&scalar_text(value)?)),
        Value::Double(double) if double.is_finite() => six_decimals(*double),
        Value::Double(double) => Quoted(&six_decimals(*double)).to_string(),
        Value::Timestamp(_) => format!("timestamp({})", Quoted(&scalar_text(value)?)),
        Value::Duration(_) => format!("duration({})", Quoted(&scalar_text(value)?)),
        Value::Optional(_) | Value::Object(_) | Value::Opaque(_) => {
            return Err(failed(format_args!("no formatting function for {}", type_name(value))));
        }
        other => scalar_text(other)?,
    })
}

fn key_text(key: &Value<'_>) -> Fallible<String> {
    match key {
        Value::String(_) | Value::Bool(_) | Value::Int(_) | Value::Uint(_) => scalar_literal(key),
        _ => Err(failed(format_args!("no formatting function for map key of type {}", type_name(key)))),
    }
}

fn scalar_text(value: &Value<'_>) -> Fallible<String> {
    text_of(value).map_err(|error| {
        failed(format_args!("could not convert argument {} to string", Quoted(&error.message)))
    })
}

fn failed(what: fmt::Arguments<'_>) -> Box<EvalError> {
    let mut message = String::from("error during formatting: ");
    // Writing to a string cannot fail.
    let _ = message.write_fmt(what);
    EvalError::invalid(message)
}

#[cfg(test)]
mod tests;
