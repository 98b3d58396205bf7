//! Go's syntax read by Go's rules (`regexp/syntax/parse.go`), with Go's error texts, and written again in a form that the crate
//! `regex-syntax` cannot read differently.

/// Go's highest repetition count, also of repetitions inside of each other.
const MAX_REPEAT: u32 = 1000;

const POSIX_CLASSES: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Go's `syntax.Error`: a class of errors and the part of the expression.
pub(super) struct Fault<'p> {
    pub(super) what: &'static str,
    pub(super) text: Option<&'p str>,
}

fn fault<'p, T>(what: &'static str, text: &'p str) -> Result<T, Fault<'p>> {
    Err(Fault { what, text: Some(text) })
}

/// An expression in the words of `regex-syntax`.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) text: String,
    /// Bytes that the sets of characters of the expression take at most, in the crate's tree.
    pub(super) class_bytes: usize,
}

/// Bytes of a Unicode class such as `\pL`: some hundred ranges, twice as many when it is inverted.
const UNICODE_CLASS_BYTES: usize = 8 << 10;

/// The same without regard to case: the crate looks at each character.
const FOLDED_CLASS_BYTES: usize = 64 << 10;

/// How many characters there are.
const EVERYTHING: usize = 0x11_0000;

/// Items of a class that are written in a row.
const CLASS_PART: usize = 128;

struct Reader<'p> {
    pattern: &'p str,
    /// Byte offset of what is left.
    at: usize,
    out: String,
    /// Whether what follows may disregard case.
    folds: bool,
    class_bytes: usize,
    /// Whether it is known that no more `:]` follows.
    no_posix_end: bool,
}

/// What a repetition would repeat: how often its parts are repeated already, at most.
type Repeatable = Option<u32>;

pub(super) fn translate(pattern: &str) -> Result<Translated, Fault<'_>> {
    let out = String::with_capacity(pattern.len() * 2);
    let mut reader = Reader { pattern, at: 0, out, folds: false, class_bytes: 0, no_posix_end: false };
    // For each group that is open: how often the parts that were read are repeated, at most.
    let mut groups = vec![1_u32];
    let mut repeatable: Repeatable = None;
    // Where the last repetition began if it stands right before.
    let mut last_repetition: Option<usize> = None;

    while let Some(c) = reader.peek() {
        let start = reader.at;
        let mut repetition = None;
        match c {
            '(' => {
                if reader.group()? {
                    groups.push(1);
                }
                repeatable = None;
            }
            ')' => {
                let inside = groups.pop().unwrap_or(1);
                let Some(around) = groups.last_mut() else {
                    return fault("unexpected )", pattern);
                };
                *around = inside.max(*around);
                reader.copy();
                repeatable = Some(inside);
            }
            '|' => {
                reader.copy();
                repeatable = None;
            }
            '*' | '+' | '?' => {
                reader.copy();
                repetition = Some(1);
            }
            '{' => match reader.counts()? {
                Some(times) => repetition = Some(times),
                None => {
                    reader.skip();
                    reader.literal('{');
                    repeatable = Some(1);
                }
            },
            '[' => {
                reader.class()?;
                repeatable = Some(1);
            }
            '^' | '$' | '.' => {
                reader.copy();
                repeatable = Some(1);
            }
            '\\' => {
                reader.escape()?;
                repeatable = Some(1);
            }
            other => {
                reader.skip();
                reader.literal(other);
                repeatable = Some(1);
            }
        }
        if let Some(times) = repetition {
            if reader.peek() == Some('?') {
                reader.copy();
            }
            if let Some(last) = last_repetition {
                return fault("invalid nested repetition operator", &pattern[last..reader.at]);
            }
            let Some(inside) = repeatable else {
                return fault("missing argument to repetition operator", &pattern[start..reader.at]);
            };
            let all = inside.saturating_mul(times.max(1));
            if all > MAX_REPEAT {
                return fault("invalid repeat count", &pattern[start..reader.at]);
            }
            repeatable = Some(if times == 0 { 1 } else { all });
            if let (Some(group), Some(all)) = (groups.last_mut(), repeatable) {
                *group = all.max(*group);
            }
        }
        last_repetition = repetition.map(|_| start);
    }
    if groups.len() > 1 {
        return fault("missing closing )", pattern);
    }
    Ok(Translated { text: reader.out, class_bytes: reader.class_bytes })
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
                Some(flag @ ('i' | 'm' | 's' | 'U')) => {
                    self.folds |= flag == 'i' && !negative;
                    flags_since_sign = true;
                }
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

    /// Copies `{n}`, `{n,}` or `{n,m}` and tells how many copies that makes; `None` when the brace begins no such thing.
    fn counts(&mut self) -> Result<Option<u32>, Fault<'p>> {
        let rest = self.rest();
        let digits = rest[1..].bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b',').count();
        let end = digits + 1;
        if rest.as_bytes().get(end) != Some(&b'}') {
            return Ok(None);
        }
        let inside = &rest[1..end];
        let (least, most) = match inside.split_once(',') {
            Some((least, "")) => (count(least), Some(None)),
            Some((least, most)) => (count(least), count(most).map(Some)),
            None => (count(inside), count(inside).map(Some)),
        };
        let (Some(least), Some(most)) = (least, most) else { return Ok(None) };
        if least > MAX_REPEAT || most.is_some_and(|most| most > MAX_REPEAT || most < least) {
            return fault("invalid repeat count", &rest[..=end]);
        }
        self.out.push_str(&rest[..=end]);
        self.at += end + 1;
        Ok(Some(most.unwrap_or(least)))
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
                self.class_bytes += if self.folds { FOLDED_CLASS_BYTES } else { UNICODE_CLASS_BYTES };
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
        let mut items = 0_usize;
        while items == 0 || self.peek() != Some(']') {
            // For each item the crate walks all before it, so that a long class is written as one of classes.
            if items > 0 && items.is_multiple_of(CLASS_PART) {
                self.out.push_str(if items == CLASS_PART { "[" } else { "][" });
            }
            items += 1;
            self.class_item(start)?;
        }
        if items > CLASS_PART {
            self.out.push(']');
        }
        self.copy();
        Ok(())
    }

    /// A character, a range or a named class; `start` is where the class begins.
    fn class_item(&mut self, start: usize) -> Result<(), Fault<'p>> {
        let item = self.at;
        match self.peek() {
            None => return fault("missing closing ]", &self.pattern[start..]),
            Some('[') if self.posix_class()? => return Ok(()),
            Some('\\') if self.named_class()? => {
                let inverted =
                    matches!(self.pattern.as_bytes().get(item + 1), Some(b'D' | b'S' | b'W' | b'P'));
                self.count_folded(if inverted { EVERYTHING } else { 0 });
                return Ok(());
            }
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
            self.count_folded(high as usize - low as usize);
        }
        Ok(())
    }

    /// Without regard to case the crate looks at each character of a set.
    fn count_folded(&mut self, characters: usize) {
        if self.folds {
            self.class_bytes += characters / 2;
        }
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
        if !rest.starts_with("[:") || self.no_posix_end {
            return Ok(false);
        }
        let Some(end) = rest[2..].find(":]") else {
            self.no_posix_end = true;
            return Ok(false);
        };
        let (name, whole) = (&rest[2..end + 2], &rest[..end + 4]);
        if !POSIX_CLASSES.contains(&name.trim_start_matches('^')) || name.starts_with("^^") {
            return fault("invalid character class range", whole);
        }
        self.out.push_str(whole);
        self.at += whole.len();
        self.count_folded(if name.starts_with('^') { EVERYTHING } else { 0 });
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
