//! JSON pointers (RFC 6901), as the API server's library reads them.

use std::borrow::Cow;

use usher_cel::Arena;

use super::error::Cause;

/// The reference tokens of a path, still escaped, without the last; and the last. What is before the first `/` is ignored.
///
/// # Errors
/// When there is no `/`, so the path names no member.
pub(super) fn split(path: &str) -> Result<(impl Iterator<Item = &str>, &str), Cause> {
    let without_slash = if path.is_empty() { Cause::WholeDocument } else { Cause::NotAPointer };
    let (_, tokens) = path.split_once('/').ok_or(without_slash)?;
    let (parents, last) = match tokens.rsplit_once('/') {
        Some((parents, last)) => (Some(parents), last),
        None => (None, tokens),
    };
    Ok((parents.into_iter().flat_map(|parents| parents.split('/')), last))
}

/// The key that a token stands for. `~` before anything but `0` and `1` stands for itself.
pub(super) fn decode<'a>(token: &'a str, arena: &'a Arena) -> Result<&'a str, Cause> {
    if !token.contains('~') {
        return Ok(token);
    }
    let mut key = String::with_capacity(token.len());
    let mut rest = token;
    while let Some((before, after)) = rest.split_once('~') {
        key.push_str(before);
        let (character, length) = match after.as_bytes().first() {
            Some(b'0') => ('~', 1),
            Some(b'1') => ('/', 1),
            _ => ('~', 0),
        };
        key.push(character);
        rest = &after[length..];
    }
    key.push_str(rest);
    arena.alloc_str(&key).map_err(|_| Cause::Memory)
}

/// A key as one token of a path: `~` and `/` escaped.
pub fn escape_key(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) {
        Cow::Owned(key.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(key)
    }
}

/// The position that a token means in a list of `length` items. Go's `strconv.Atoi` reads it: signs and leading zeros are
/// accepted; a negative one counts from the end. `end` is 1 where the position behind the last item is meant too (`add`), else 0.
pub(super) fn index(token: &str, length: usize, end: usize) -> Result<usize, Cause> {
    let digits = token.strip_prefix(['+', '-']).unwrap_or(token);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Cause::NotAnIndex { token: token.to_owned() });
    }
    let out_of_range = || Cause::IndexOutOfRange { token: token.to_owned(), length };
    // Only of a number too long for 64 bits.
    let number: i64 = token.parse().map_err(|_| out_of_range())?;
    let positions = length + end;
    let distance = usize::try_from(number.unsigned_abs()).map_err(|_| out_of_range())?;
    if number < 0 {
        return positions.checked_sub(distance).ok_or_else(out_of_range);
    }
    if distance < positions { Ok(distance) } else { Err(out_of_range()) }
}
