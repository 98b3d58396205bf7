//! The values of literals: numbers with their bounds, strings and bytes with their escapes (cel-go `parser/unescape.go`).

use std::borrow::Cow;

use crate::ast::{Literal, Span};
use crate::issue::Collector;

/// The value of an integer's digits, decimal or `0x…`; `None` when it does not fit an int64.
pub(super) fn int(text: &str, negative: bool) -> Option<i64> {
    let magnitude = magnitude(text)?;
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// The value of `1u` or `0x1u`; `None` when it does not fit a uint64.
pub(super) fn uint(text: &str) -> Option<u64> {
    magnitude(text.strip_suffix(['u', 'U'])?)
}

/// The value of a floating-point literal; `None` when it is too large for a double.
pub(super) fn double(text: &str, negative: bool) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(if negative { -value } else { value })
}

fn magnitude(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The value of a string or bytes literal; each bad escape is reported. `token` is the literal with prefix and quotes.
pub(super) fn quoted(source: &str, token: Span, bytes: bool, issues: &mut Collector) -> Literal {
    let text = token.text(source);
    let prefix = text.find(['"', '\'']).unwrap_or(0);
    let raw = text[..prefix].contains(['r', 'R']);
    let quotes = &text[prefix..];
    let width =
        if quotes.len() >= 6 && (quotes.starts_with("\"\"\"") || quotes.starts_with("'''")) { 3 } else { 1 };
    let start = token.start as usize + prefix + width;
    // A literal that was not closed has been reported and may be too short.
    let body = source.get(start..(token.end as usize).saturating_sub(width)).unwrap_or("");
    let value = if raw || !body.contains('\\') {
        normalize_newlines(body)
    } else {
        Cow::Owned(Unescape { source, start, bytes, issues }.run(body))
    };
    if bytes {
        Literal::Bytes(value.into_owned().into())
    } else {
        // Without the bytes flag only whole characters are written.
        Literal::String(String::from_utf8_lossy(&value).into())
    }
}

/// A line of a source ends in `\n` whatever the file has.
fn normalize_newlines(text: &str) -> Cow<'_, [u8]> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n").into_bytes())
    } else {
        Cow::Borrowed(text.as_bytes())
    }
}

struct Unescape<'s, 'i> {
    source: &'s str,
    /// Where the body starts in the source.
    start: usize,
    bytes: bool,
    issues: &'i mut Collector,
}

impl Unescape<'_, '_> {
    fn run(&mut self, body: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(body.len());
        let mut at = 0;
        // Once no more issues are kept, the value does not matter either.
        while !self.issues.is_full()
            && let Some(backslash) = body[at..].find('\\').map(|found| at + found)
        {
            out.extend_from_slice(&normalize_newlines(&body[at..backslash]));
            at = self.escape(body, backslash, &mut out);
        }
        out.extend_from_slice(&normalize_newlines(&body[at..]));
        out
    }

    /// Reads the escape at `at` and returns where it ends.
    fn escape(&mut self, body: &str, at: usize, out: &mut Vec<u8>) -> usize {
        let Some(letter) = body[at + 1..].chars().next() else {
            self.refuse(
                at,
                at + 1,
                "nothing follows the backslash".to_owned(),
                "write `\\\\` for a backslash".to_owned(),
            );
            return at + 1;
        };
        let end = at + 1 + letter.len_utf8();
        let simple = match letter {
            'a' => b'\x07',
            'b' => b'\x08',
            'f' => b'\x0c',
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => b'\x0b',
            '\\' | '\'' | '"' | '`' | '?' => letter as u8,
            'x' | 'X' => return self.code(body, at, end, 2, 16, out),
            'u' => return self.code(body, at, end, 4, 16, out),
            'U' => return self.code(body, at, end, 8, 16, out),
            '0'..='3' => return self.code(body, at, end - 1, 3, 8, out),
            _ => {
                let shown =
                    if letter.is_control() { format!("U+{:04X}", letter as u32) } else { letter.to_string() };
                self.refuse(
                    at,
                    end,
                    format!("unknown escape sequence `\\{shown}`"),
                    "write `\\\\` for a backslash, or a raw string such as r'…', in which no escapes are read".to_owned(),
                );
                return end;
            }
        };
        out.push(simple);
        end
    }

    /// An escape of exactly `width` digits from `digits_at` on.
    fn code(
        &mut self,
        body: &str,
        at: usize,
        digits_at: usize,
        width: usize,
        radix: u32,
        out: &mut Vec<u8>,
    ) -> usize {
        let name = &body[at..at + 2];
        if self.bytes && matches!(name, "\\u" | "\\U") {
            let help =
                "bytes have no characters: use `\\x` with two hexadecimal digits for each byte".to_owned();
            self.refuse(at, digits_at, format!("`{name}` is not allowed in bytes"), help);
            return digits_at;
        }
        let digits: &str = {
            let rest = &body[digits_at..];
            let found = rest.bytes().take(width).take_while(|byte| (*byte as char).is_digit(radix)).count();
            &rest[..found]
        };
        let end = digits_at + digits.len();
        if digits.len() < width {
            let message = if radix == 8 {
                "an octal escape has three digits, from `\\000` to `\\377`".to_owned()
            } else {
                format!("`{name}` takes {width} hexadecimal digits, found {}", digits.len())
            };
            self.refuse(at, end, message, format!("write all {width} digits, with leading zeros"));
            return end;
        }
        let code = u32::from_str_radix(digits, radix).unwrap_or(u32::MAX);
        if self.bytes {
            // Two hexadecimal digits or an octal number up to 377: always a byte.
            out.push(u8::try_from(code).unwrap_or(u8::MAX));
        } else if let Some(char) = char::from_u32(code) {
            out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            let span = Span::new(self.start + at, self.start + end);
            let message = format!("invalid unicode code point `{}`", span.text(self.source));
            let help = "code points go up to 10FFFF without D800 to DFFF".to_owned();
            self.issues.report(span, message, Some(help));
        }
        end
    }

    fn refuse(&mut self, from: usize, to: usize, message: String, help: String) {
        let span = Span::new(self.start + from, self.start + to);
        self.issues.report(span, format!("Syntax error: {message}"), Some(help));
    }
}
