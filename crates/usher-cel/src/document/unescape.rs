//! Escapes of JSON strings.

/// Appends `raw`, the checked inside of a JSON string, with its escapes resolved. Half of a surrogate pair becomes U+FFFD, as
/// in Go's decoder.
pub(super) fn unescape(raw: &str, out: &mut String) {
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let mut after = rest[at + 1..].chars();
        match after.next() {
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let (character, behind) = unicode(after.as_str());
                out.push(character);
                rest = behind;
                continue;
            }
            Some(other) => out.push(other),
            None => {}
        }
        rest = after.as_str();
    }
    out.push_str(rest);
}

/// The character whose digits `text` starts with, and what follows it.
fn unicode(text: &str) -> (char, &str) {
    let (first, rest) = unit(text);
    match first {
        0xD800..=0xDBFF => {
            if let Some(second) = rest.strip_prefix("\\u")
                && let (low @ 0xDC00..=0xDFFF, behind) = unit(second)
            {
                let scalar = 0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00);
                return (char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER), behind);
            }
            (char::REPLACEMENT_CHARACTER, rest)
        }
        _ => (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), rest),
    }
}

/// Four hexadecimal digits.
fn unit(text: &str) -> (u32, &str) {
    let (digits, rest) = text.split_at_checked(4).unwrap_or((text, ""));
    (u32::from_str_radix(digits, 16).unwrap_or(u32::from(char::REPLACEMENT_CHARACTER)), rest)
}
