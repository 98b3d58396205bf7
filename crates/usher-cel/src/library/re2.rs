//! Regular expressions in Go's syntax (RE2 with Perl classes), on the crate `regex`.
//!
//! The crate matches as Go does but reads another language: `\d`, `\w`, `\s`, `\b` mean all of Unicode there, classes nest and have
//! operators, a brace that begins no repetition is an error. So an expression is read by Go's rules (`regexp/syntax/parse.go`), with Go's error
//! texts, and written again in a form that the crate cannot read differently.

use regex::{Regex, RegexBuilder};

/// Bytes that one compiled expression may take. What Go admits stays far below it, except for long repetitions of Unicode classes.
const SIZE_LIMIT: usize = 4 << 20;

/// Go's highest repetition count.
const MAX_REPEAT: u32 = 1000;

const POSIX_CLASSES: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Compiles an expression of Go's syntax. Groups do not capture.
///
/// # Errors
/// Go's text, `error parsing regexp: missing closing ]: `, or that the expression is too large.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern).map_err(|Fault { what, text }| match text {
        Some(text) => format!("error parsing regexp: {what}: `{text}`"),
        None => format!("error parsing regexp: {what}"),
    })?;
    RegexBuilder::new(&translated).size_limit(SIZE_LIMIT).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "error parsing regexp: expression too large".to_owned(),
        // The last line says what is wrong, those above draw the translated expression.
        other => {
            let text = other.to_string();
            let reason = text.lines().last().unwrap_or_default();
            format!("error parsing regexp: {}: `{pattern}`", reason.trim_start_matches("error: "))
        }
    })
}

/// Go's `syntax.Error`: a class of errors and the part of the expression.
struct Fault<'p> {
    what: &'static str,
    text: Option<&'p str>,
}

fn fault<'p, T>(what: &'static str, text: &'p str) -> Result<T, Fault<'p>> {
    Err(Fault { what, text: Some(text) })
}

struct Reader<'p> {
    pattern: &'p str,
    /// Byte offset of what is left.
    at: usize,
    out: String,
}

fn translate(pattern: &str) -> Result<String, Fault<'_>> {
    let mut reader = Reader { pattern, at: 0, out: String::with_capacity(pattern.len() * 2) };
    let mut open_groups = 0_u32;
    // Whether there is something to repeat, and where the last repetition began if it stands right before.
    let mut repeatable = false;
    let mut last_repetition: Option<usize> = None;

    while let Some(c) = reader.peek() {
        let start = reader.at;
        let mut repetition = None;
        match c {
            '(' => {
                if reader.group()? {
                    open_groups += 1;
                }
                repeatable = false;
            }
            ')' => {
                if open_groups == 0 {
                    return fault("unexpected )", pattern);
                }
                open_groups -= 1;
                reader.copy();
                repeatable = true;
            }
            '|' => {
                reader.copy();
                repeatable = false;
            }
            '*' | '+' | '?' => {
                reader.copy();
                repetition = Some(start);
            }
            '{' => match reader.counts()? {
                true => repetition = Some(start),
                false => {
                    reader.skip();
                    reader.literal('{');
                    repeatable = true;
                }
            },
            '[' => {
                reader.class()?;
                repeatable = true;
            }
            '^' | '$' | '.' => {
                reader.copy();
                repeatable = true;
            }
            '\\' => {
                reader.escape()?;
                repeatable = true;
            }
            other => {
                reader.skip();
                reader.literal(other);
                repeatable = true;
            }
        }
        if repetition.is_some() {
            if reader.peek() == Some('?') {
                reader.copy();
            }
            if !repeatable {
                return fault("missing argument to repetition operator", &pattern[start..reader.at]);
            }
            if let Some(last) = last_repetition {
                return fault("invalid nested repetition operator", &pattern[last..reader.at]);
            }
        }
        last_repetition = repetition;
    }
    if open_groups > 0 {
        return fault("missing closing )", pattern);
    }
    Ok(reader.out)
}

impl<'p> Reader<'p> {
    fn rest(&self) -> &'p str {
        &self.pattern[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn copy(&mut self) {
        if let Some(c) = self.skip() {
            self.out.push(c);
        }
    }

    fn skip_prefix(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Writes one character that stands for itself.
    fn literal(&mut self, c: char) {
        if c.is_ascii_alphanumeric() || !c.is_ascii() {
            self.out.push(c);
        } else {
            self.code_point(c);
        }
    }

    fn code_point(&mut self, c: char) {
        self.out.push_str(&format!("\\x{{{:x}}}", u32::from(c)));
    }

    /// `(`, `(?:`, `(?P<name>`, `(?i-s:` begin a group: true. `(?i)` only sets flags: false.
    fn group(&mut self) -> Result<bool, Fault<'p>> {
        let start = self.at;
        self.skip();
        if !self.skip_prefix("?") {
            self.out.push_str("(?:");
            return Ok(true);
        }
        if self.skip_prefix("P<") || self.skip_prefix("<") {
            let Some(length) = self.rest().find('>') else {
                return fault("invalid named capture", &self.pattern[start..]);
            };
            let name = &self.rest()[..length];
            self.at += length + 1;
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return fault("invalid named capture", &self.pattern[start..self.at]);
            }
            self.out.push_str("(?:");
            return Ok(true);
        }
        let flags_start = self.at;
        let (mut negative, mut flags_since_sign) = (false, false);
        loop {
            let flags = &self.pattern[flags_start..self.at];
            let c = self.skip();
            match c {
                None => return fault("invalid or unsupported Perl syntax", &self.pattern[start..]),
                Some('i' | 'm' | 's' | 'U') => flags_since_sign = true,
                Some('-') if !negative => (negative, flags_since_sign) = (true, false),
                Some(end @ (':' | ')')) if !negative || flags_since_sign => {
                    if end == ':' || !flags.is_empty() {
                        self.out.push_str("(?");
                        self.out.push_str(flags);
                        self.out.push(end);
                    }
                    return Ok(end == ':');
                }
                Some(_) => return fault("invalid or unsupported Perl syntax", &self.pattern[start..self.at]),
            }
        }
    }

    /// Copies `{n}`, `{n,}` or `{n,m}`; false when the brace begins no such thing.
    fn counts(&mut self) -> Result<bool, Fault<'p>> {
        let rest = self.rest();
        let Some(end) = rest.find('}') else { return Ok(false) };
        let inside = &rest[1..end];
        let (least, most) = match inside.split_once(',') {
            Some((least, "")) => (count(least), Some(None)),
            Some((least, most)) => (count(least), count(most).map(Some)),
            None => (count(inside), count(inside).map(Some)),
        };
        let (Some(least), Some(most)) = (least, most) else { return Ok(false) };
        if least > MAX_REPEAT || most.is_some_and(|most| most > MAX_REPEAT || most < least) {
            return fault("invalid repeat count", &rest[..=end]);
        }
        self.out.push_str(&rest[..=end]);
        self.at += end + 1;
        Ok(true)
    }

    /// A backslash outside of a class.
    fn escape(&mut self) -> Result<(), Fault<'p>> {
        let start = self.at;
        let rest = self.rest();
        let translated = match rest.as_bytes().get(1) {
            Some(b'A') => "\\A",
            Some(b'z') => "\\z",
            Some(b'b') => "(?-u:\\b)",
            Some(b'B') => "(?-u:\\B)",
            Some(b'C') => return fault("invalid escape sequence", "\\C"),
            Some(b'Q') => {
                let quoted = &rest[2..];
                let (quoted, length) = match quoted.find("\\E") {
                    Some(end) => (&quoted[..end], end + 4),
                    None => (quoted, rest.len()),
                };
                for c in quoted.chars() {
                    self.literal(c);
                }
                self.at = start + length;
                return Ok(());
            }
            _ => {
                if !self.named_class()? {
                    let c = self.escaped_char()?;
                    self.literal(c);
                }
                return Ok(());
            }
        };
        self.out.push_str(translated);
        self.at += 2;
        Ok(())
    }

    /// `\d`, `\W`, `\pL`, `\P{Greek}` and the like, in a class and outside; false when the backslash begins something else.
    fn named_class(&mut self) -> Result<bool, Fault<'p>> {
        let rest = self.rest();
        let kind = rest.as_bytes().get(1).copied();
        let perl = match kind {
            Some(b'd') => "[0-9]",
            Some(b'D') => "[^0-9]",
            Some(b's') => "[\\t\\n\\x0c\\r ]",
            Some(b'S') => "[^\\t\\n\\x0c\\r ]",
            Some(b'w') => "[0-9A-Za-z_]",
            Some(b'W') => "[^0-9A-Za-z_]",
            Some(b'p' | b'P') => {
                let name_and_rest = &rest[2..];
                let (name, length) = match name_and_rest.strip_prefix('{') {
                    Some(braced) => match braced.find('}') {
                        Some(end) => (&braced[..end], end + 4),
                        None => return fault("invalid character class range", rest),
                    },
                    None => match name_and_rest.chars().next() {
                        Some(c) => (&name_and_rest[..c.len_utf8()], 2 + c.len_utf8()),
                        None => return fault("invalid character class range", rest),
                    },
                };
                let (inverted, name) = match name.strip_prefix('^') {
                    Some(name) => (true, name),
                    None => (false, name),
                };
                if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                    return fault("invalid character class range", &rest[..length]);
                }
                let letter = if (kind == Some(b'P')) == inverted { 'p' } else { 'P' };
                self.out.push_str(&format!("\\{letter}{{{name}}}"));
                self.at += length;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.out.push_str(perl);
        self.at += 2;
        Ok(true)
    }

    /// `[…]`. A `-` is allowed anywhere, a `]` may be the first character.
    fn class(&mut self) -> Result<(), Fault<'p>> {
        let start = self.at;
        self.copy();
        if self.peek() == Some('^') {
            self.copy();
        }
        let mut first = true;
        while first || self.peek() != Some(']') {
            first = false;
            let item = self.at;
            match self.peek() {
                None => return fault("missing closing ]", &self.pattern[start..]),
                Some('[') if self.posix_class()? => continue,
                Some('\\') if self.named_class()? => continue,
                Some(_) => {}
            }
            let low = self.class_char(start)?;
            self.code_point(low);
            if self.rest().starts_with('-') && !self.rest()[1..].starts_with(']') && self.rest().len() > 1 {
                self.skip();
                let high = self.class_char(start)?;
                if high < low {
                    return fault("invalid character class range", &self.pattern[item..self.at]);
                }
                self.out.push('-');
                self.code_point(high);
            }
        }
        self.copy();
        Ok(())
    }

    fn class_char(&mut self, class_start: usize) -> Result<char, Fault<'p>> {
        if self.peek() == Some('\\') {
            return self.escaped_char();
        }
        let start = class_start;
        self.skip().map_or_else(|| fault("missing closing ]", &self.pattern[start..]), Ok)
    }

    /// `[:alpha:]` or `[:^alpha:]`; false when the bracket stands for itself.
    fn posix_class(&mut self) -> Result<bool, Fault<'p>> {
        let rest = self.rest();
        if !rest.starts_with("[:") {
            return Ok(false);
        }
        let Some(end) = rest[2..].find(":]") else { return Ok(false) };
        let (name, whole) = (&rest[2..end + 2], &rest[..end + 4]);
        if !POSIX_CLASSES.contains(&name.trim_start_matches('^')) || name.starts_with("^^") {
            return fault("invalid character class range", whole);
        }
        self.out.push_str(whole);
        self.at += whole.len();
        Ok(true)
    }

    /// A backslash and what it makes one character.
    fn escaped_char(&mut self) -> Result<char, Fault<'p>> {
        let start = self.at;
        self.skip();
        let Some(c) = self.skip() else {
            return Err(Fault { what: "trailing backslash at end of expression: ``", text: None });
        };
        let found = match c {
            'a' => Some('\x07'),
            'f' => Some('\x0c'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\x0b'),
            'x' => self.hexadecimal(),
            // One digit other than 0 would be a back reference.
            '1'..='7' if !self.rest().starts_with(|c: char| c.is_digit(8)) => None,
            '0'..='7' => {
                let mut value = c.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
                    value = value * 8 + digit;
                    self.skip();
                }
                char::from_u32(value)
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(c),
            _ => None,
        };
        found.map_or_else(|| fault("invalid escape sequence", &self.pattern[start..self.at]), Ok)
    }

    /// What follows `\x`: two digits, or any number of them in braces.
    fn hexadecimal(&mut self) -> Option<char> {
        let braced = self.skip_prefix("{");
        let rest = self.rest();
        let digits = if braced {
            rest.split_once('}')?.0
        } else {
            rest.char_indices().nth(2).map_or(rest, |(end, _)| &rest[..end])
        };
        // Even if they are wrong, they belong to the text of the error.
        self.at += digits.len() + usize::from(braced);
        let complete = if braced { !digits.is_empty() } else { digits.len() == 2 };
        if !complete || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
    }
}

/// A repetition count: digits without a leading zero. What has too many digits is too large anyway.
fn count(digits: &str) -> Option<u32> {
    if digits.is_empty()
        || !digits.bytes().all(|byte| byte.is_ascii_digit())
        || (digits.len() > 1 && digits.starts_with('0'))
    {
        return None;
    }
    Some(digits.parse().unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;
