//! Strings: `charAt`, `indexOf`, `join`, `lastIndexOf`, `lowerAscii`, `replace`, `split`, `substring`, `trim`, `upperAscii`, `strings.quote`.
//! cel-go `ext/strings.go`, version 2; positions count code points. Costs as the API server's `CallCost`. `format` is in its own file.

use super::cost;
use super::overload::{Call, Form, Implementation, Overload, Ty};
use super::string_format::format;
use crate::eval::{EvalError, EvalResult, ListBuilder, Value, type_name};

const STRING: &[Ty] = &[Ty::String];
const STRING_INT: &[Ty] = &[Ty::String, Ty::Int];
const STRING_STRING: &[Ty] = &[Ty::String, Ty::String];
const STRING_STRING_INT: &[Ty] = &[Ty::String, Ty::String, Ty::Int];
const LIST_OF_STRINGS: Ty = Ty::List(&Ty::String);

pub(super) const OVERLOADS: &[Overload] = &[
    member("charAt", STRING_INT, Ty::String, char_at),
    member("indexOf", STRING_STRING, Ty::Int, index_of),
    member("indexOf", STRING_STRING_INT, Ty::Int, index_of),
    member("join", &[LIST_OF_STRINGS], Ty::String, join),
    member("join", &[LIST_OF_STRINGS, Ty::String], Ty::String, join),
    member("lastIndexOf", STRING_STRING, Ty::Int, last_index_of),
    member("lastIndexOf", STRING_STRING_INT, Ty::Int, last_index_of),
    member("lowerAscii", STRING, Ty::String, lower_ascii),
    member("replace", &[Ty::String, Ty::String, Ty::String], Ty::String, replace),
    member("replace", &[Ty::String, Ty::String, Ty::String, Ty::Int], Ty::String, replace),
    member("split", STRING_STRING, LIST_OF_STRINGS, split),
    member("split", STRING_STRING_INT, LIST_OF_STRINGS, split),
    member("substring", STRING_INT, Ty::String, substring),
    member("substring", &[Ty::String, Ty::Int, Ty::Int], Ty::String, substring),
    member("trim", STRING, Ty::String, trim),
    member("upperAscii", STRING, Ty::String, upper_ascii),
    Overload { since: 29, ..member("format", &[Ty::String, Ty::List(&Ty::Dyn)], Ty::String, format) },
    Overload { form: Form::Global, since: 29, ..member("strings.quote", STRING, Ty::String, quote) },
];

const fn member(name: &'static str, params: &'static [Ty], result: Ty, call: Implementation) -> Overload {
    Overload { name, form: Form::Member, params, result, since: 24, until: u8::MAX, call, prepare: None }
}

fn char_at<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let [Value::String(text), Value::Int(index)] = args else { return Err(EvalError::no_such_overload()) };
    let start = byte_offset(text, *index).ok_or_else(|| out_of_range(*index))?;
    let length = text[start..].chars().next().map_or(0, char::len_utf8);
    Ok(Value::String(&text[start..start + length]))
}

fn index_of<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, part, from) = search(call, args)?;
    let from = from.unwrap_or(0);
    if from < 0 {
        return Err(out_of_range(from));
    }
    if part.is_empty() {
        return Ok(Value::Int(from.min(int(cost::size(text)))));
    }
    let found = byte_offset(text, from).and_then(|start| {
        text[start..].find(part).map(|at| from + int(cost::size(&text[start..start + at])))
    });
    Ok(Value::Int(found.unwrap_or(-1)))
}

fn last_index_of<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, part, from) = search(call, args)?;
    let size = int(cost::size(text));
    let from = match from {
        Some(from) if from < 0 => return Err(out_of_range(from)),
        Some(from) if part.is_empty() => return Ok(Value::Int(from.min(size))),
        // A start behind the end finds nothing; one that merely leaves no room for the part does.
        Some(from) if from >= size => return Ok(Value::Int(-1)),
        Some(from) => from,
        None => size,
    };
    // The part may begin at `from` at the latest, so it ends within its own length behind that.
    let end = byte_offset(text, from).map_or(text.len(), |start| (start + part.len()).min(text.len()));
    // Within a code point no part can end.
    let found = text[..text.floor_char_boundary(end)].rfind(part).map(|at| int(cost::size(&text[..at])));
    Ok(Value::Int(found.unwrap_or(-1)))
}

/// Text, part and start of a search. It costs one pass over the bytes, rounded down, as `indexOf` of lists does.
fn search<'a>(
    call: &mut Call<'_, '_, 'a>,
    args: &[Value<'a>],
) -> Result<(&'a str, &'a str, Option<i64>), Box<EvalError>> {
    let (text, part, from) = match args {
        [Value::String(text), Value::String(part)] => (*text, *part, None),
        [Value::String(text), Value::String(part), Value::Int(from)] => (*text, *part, Some(*from)),
        _ => return Err(EvalError::no_such_overload()),
    };
    let cost = cost::values(&args[0], call.meter)?;
    call.charge(cost)?;
    Ok((text, part, from))
}

fn join<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (items, separator) = match args {
        [Value::List(items)] => (*items, ""),
        [Value::List(items), Value::String(separator)] => (*items, *separator),
        _ => return Err(EvalError::no_such_overload()),
    };
    // cel-go looks at the first element to see whether the overload fits.
    if items.first().is_some_and(|first| !matches!(first, Value::String(_))) {
        return Err(EvalError::no_such_overload());
    }
    let (mut bytes, mut size) = (0_usize, 0_u64);
    let separators = items.len().saturating_sub(1);
    for item in items {
        call.meter.tick()?;
        let Value::String(text) = item else {
            call.charge(1)?;
            return Err(EvalError::invalid(format!("join: invalid input: {}", brief(item))));
        };
        bytes = bytes.saturating_add(text.len());
        size = size.saturating_add(cost::size(text));
    }
    bytes = bytes.saturating_add(separators.saturating_mul(separator.len()));
    size = size.saturating_add((separators as u64).saturating_mul(cost::size(separator)));
    call.charge(cost::double_traversal(size))?;
    let mut joined = call.arena.list(bytes)?;
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            joined.extend(separator.as_bytes())?;
        }
        if let Value::String(text) = item {
            joined.extend(text.as_bytes())?;
        }
    }
    finish(joined)
}

fn lower_ascii<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let text = walk(call, args)?;
    if !text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Ok(Value::String(text));
    }
    Ok(Value::String(call.arena.alloc_str(&text.to_ascii_lowercase())?))
}

fn upper_ascii<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let text = walk(call, args)?;
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return Ok(Value::String(text));
    }
    Ok(Value::String(call.arena.alloc_str(&text.to_ascii_uppercase())?))
}

/// Unicode's white space, which does not have the zero-width spaces.
fn trim<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    Ok(Value::String(walk(call, args)?.trim()))
}

/// The receiver, after charging one pass over it.
fn walk<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> Result<&'a str, Box<EvalError>> {
    let Some(Value::String(text)) = args.first() else { return Err(EvalError::no_such_overload()) };
    call.charge(cost::traversal(cost::size(text)))?;
    Ok(text)
}

/// An empty part is found before every code point and at the end. The result can be far longer than what is charged: the arena's limit
/// holds it.
fn replace<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, old, new, limit) = match args {
        [Value::String(text), Value::String(old), Value::String(new)] => (*text, *old, *new, -1),
        [Value::String(text), Value::String(old), Value::String(new), Value::Int(limit)] => {
            (*text, *old, *new, *limit)
        }
        _ => return Err(EvalError::no_such_overload()),
    };
    call.charge(cost::double_traversal(cost::size(text)))?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let count = text.match_indices(old).take(limit).count();
    if count == 0 || old == new {
        return Ok(Value::String(text));
    }
    let removed = count * old.len();
    let mut replaced = call.arena.list(text.len() - removed + count.saturating_mul(new.len()))?;
    let mut done = 0;
    for (at, _) in text.match_indices(old).take(limit) {
        call.meter.tick()?;
        replaced.extend(&text.as_bytes()[done..at])?;
        replaced.extend(new.as_bytes())?;
        done = at + old.len();
    }
    replaced.extend(&text.as_bytes()[done..])?;
    finish(replaced)
}

/// An empty separator splits into code points; a limit is the greatest number of parts, the last of which holds the rest.
fn split<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, separator, limit) = match args {
        [Value::String(text), Value::String(separator)] => (*text, *separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(limit)] => (*text, *separator, *limit),
        _ => return Err(EvalError::no_such_overload()),
    };
    call.charge(cost::double_traversal(cost::size(text)))?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = call.arena.list(0)?;
    if limit == 0 || (text.is_empty() && separator.is_empty()) {
        return Ok(Value::List(&[]));
    }
    let mut rest = text;
    while parts.len() + 1 < limit {
        call.meter.tick()?;
        let cut = if separator.is_empty() {
            rest.char_indices().nth(1).map(|(at, _)| at)
        } else {
            rest.find(separator)
        };
        let Some(cut) = cut else { break };
        parts.push(Value::String(&rest[..cut]))?;
        rest = &rest[cut + separator.len()..];
    }
    parts.push(Value::String(rest))?;
    Ok(Value::List(parts.finish()))
}

fn substring<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let text = walk(call, args)?;
    match args {
        [_, Value::Int(start)] => {
            let at = byte_offset(text, *start).ok_or_else(|| out_of_range(*start))?;
            Ok(Value::String(&text[at..]))
        }
        [_, Value::Int(start), Value::Int(end)] => {
            if start > end {
                let message = format!("invalid substring range. start: {start}, end: {end}");
                return Err(EvalError::new(crate::eval::ErrorKind::IndexOutOfRange, message));
            }
            let from = byte_offset(text, *start).ok_or_else(|| out_of_range(*start))?;
            let length = byte_offset(&text[from..], end - start).ok_or_else(|| out_of_range(*end))?;
            Ok(Value::String(&text[from..from + length]))
        }
        _ => Err(EvalError::no_such_overload()),
    }
}

fn quote<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let text = walk(call, args)?;
    let mut quoted = call.arena.list(text.len() + 2)?;
    quoted.push(b'"')?;
    for byte in text.bytes() {
        // All that is escaped is ASCII, so that bytes can be looked at instead of code points.
        let letter = match byte {
            0x07 => b'a',
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            b'\\' | b'"' => byte,
            _ => {
                quoted.push(byte)?;
                continue;
            }
        };
        quoted.extend(&[b'\\', letter])?;
    }
    quoted.push(b'"')?;
    finish(quoted)
}

fn finish<'a>(bytes: ListBuilder<'a, u8>) -> EvalResult<'a> {
    // Whole strings were put together, so this is UTF-8; the check costs less than an exception to `forbid(unsafe_code)`.
    Ok(Value::String(std::str::from_utf8(bytes.finish()).unwrap_or_default()))
}

/// The byte at which code point `index` begins; the length of the text for the index behind the last one.
fn byte_offset(text: &str, index: i64) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    if text.is_ascii() {
        return (index <= text.len()).then_some(index);
    }
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(index)
}

/// A value in an error text: scalars as they print, anything else by its type.
fn brief(value: &Value<'_>) -> String {
    super::convert::text_of(value).unwrap_or_else(|_| type_name(value).to_owned())
}

fn out_of_range(index: i64) -> Box<EvalError> {
    EvalError::new(crate::eval::ErrorKind::IndexOutOfRange, format!("index out of range: {index}"))
}

fn int(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
