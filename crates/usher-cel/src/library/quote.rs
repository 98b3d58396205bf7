//! Go's `%q`, for error texts that repeat user text as the API server does. Go `strconv.Quote`.

use std::fmt;

/// Prints as a double-quoted Go string literal.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for char in self.0.chars() {
            match char {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\x07' => f.write_str("\\a")?,
                '\x08' => f.write_str("\\b")?,
                '\x0c' => f.write_str("\\f")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\x0b' => f.write_str("\\v")?,
                char if is_printable(char) => write!(f, "{char}")?,
                char if u32::from(char) < 0x80 => write!(f, "\\x{:02x}", u32::from(char))?,
                char if u32::from(char) < 0x1_0000 => write!(f, "\\u{:04x}", u32::from(char))?,
                char => write!(f, "\\U{:08x}", u32::from(char))?,
            }
        }
        f.write_str("\"")
    }
}

/// Go's `unicode.IsPrint`, which is what Rust's `{:?}` prints as it is behind another character (a combining mark at the very
/// beginning would be escaped). The single quote is escaped by Rust only.
fn is_printable(char: char) -> bool {
    char == '\'' || format!("a{char}").escape_debug().nth(1) == Some(char)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("abc", r#""abc""#)]
    #[case::quote_and_backslash("a\"b\\", r#""a\"b\\""#)]
    #[case::single_quote("it's", r#""it's""#)]
    #[case::control("\u{7}\n\u{1}\u{7f}", r#""\a\n\x01\x7f""#)]
    #[case::letters("äß漢", r#""äß漢""#)]
    #[case::combining_mark("e\u{301}", "\"e\u{301}\"")]
    #[case::no_break_space("\u{a0}", r#""\u00a0""#)]
    #[case::private_use("\u{10ffff}", r#""\U0010ffff""#)]
    fn text_is_quoted_as_go_does(#[case] text: &str, #[case] quoted: &str) {
        assert_eq!(Quoted(text).to_string(), quoted);
    }
}
