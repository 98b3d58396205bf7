use proptest::proptest;
use rstest::rstest;

use super::*;

#[rstest]
#[case("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "my-name-1", true)]
#[case("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "My-Name", false)]
#[case(r"^\d+$", "42", true)]
#[case(r"^\d+$", "٤٢", false)]
#[case(r"^\w+$", "é", false)]
#[case(r"^\W$", "é", true)]
#[case(r"^\s$", "\u{a0}", false)]
#[case(r"^\s$", "\x0b", false)]
#[case(r"^[\w.]+$", "a.b_1", true)]
#[case(r"^[^\D]$", "1", true)]
#[case(r"^[a&&b]$", "&", true)]
#[case(r"^[[a]$", "[", true)]
#[case(r"^[]a]$", "]", true)]
#[case(r"^[^]a]$", "]", false)]
#[case(r"^[a-]$", "-", true)]
#[case(r"^[a~~b]$", "~", true)]
#[case(r"^[[:alpha:]_]$", "_", true)]
#[case(r"^[[:^alpha:]]$", "a", false)]
#[case(r"^[[:x]$", ":", true)]
#[case(r"^{$", "{", true)]
#[case(r"^a{,2}$", "a{,2}", true)]
#[case(r"^a{2}$", "aa", true)]
#[case(r"^a{01}$", "a{01}", true)]
#[case(r"^a{2,}?$", "aaa", true)]
#[case(r"^a}$", "a}", true)]
#[case(r"^\Qa.b\E+$", "a.bb", true)]
#[case(r"^\Qa.b", "axb", false)]
#[case(r"^\x41\x{42}\103$", "ABC", true)]
#[case(r"^\<\_\/$", "<_/", true)]
#[case(r"^\p{Greek}\PL\p{^L}$", "α11", true)]
#[case(r"^\pL$", "é", true)]
#[case(r"(?i)^straße$", "STRAßE", true)]
#[case(r"(?i:a)b", "Ab", true)]
#[case(r"(?P<x>a)(?<y>b)", "ab", true)]
#[case(r"a\b", "aé", true)]
#[case(r"^a\B", "ab", true)]
#[case(r"é\B", "éé", true)]
#[case(r"(?s)^.$", "\n", true)]
#[case(r"^.$", "\n", false)]
#[case(r"^a$", "a\n", false)]
#[case(r"(?m)^a$", "b\na\nc", true)]
#[case(r"(?)a", "a", true)]
#[case(r"a # b", "a # b", true)]
#[case("", "", true)]
#[case("|", "", true)]
#[case("()*", "", true)]
fn expressions_mean_what_they_mean_in_go(#[case] pattern: &str, #[case] text: &str, #[case] expected: bool) {
    assert_eq!(compile(pattern).unwrap().is_match(text), expected, "{:?}", translate(pattern).ok());
}

#[rstest]
#[case("[a", "missing closing ]: `[a`")]
#[case("(a", "missing closing ): `(a`")]
#[case("a)", "unexpected ): `a)`")]
#[case("*a", "missing argument to repetition operator: `*`")]
#[case("(|*)", "missing argument to repetition operator: `*`")]
#[case("{2}", "missing argument to repetition operator: `{2}`")]
#[case("a**", "invalid nested repetition operator: `**`")]
#[case("a*?+", "invalid nested repetition operator: `*?+`")]
#[case("a{2}{3}", "invalid nested repetition operator: `{2}{3}`")]
#[case("a{1001}", "invalid repeat count: `{1001}`")]
#[case("a{3,2}", "invalid repeat count: `{3,2}`")]
#[case("[z-a]", "invalid character class range: `z-a`")]
#[case("[[:foo:]]", "invalid character class range: `[:foo:]`")]
#[case(r"\p", r"invalid character class range: `\p`")]
#[case(r"\1", r"invalid escape sequence: `\1`")]
#[case(r"\y", r"invalid escape sequence: `\y`")]
#[case(r"\C", r"invalid escape sequence: `\C`")]
#[case(r"[\y]", r"invalid escape sequence: `\y`")]
#[case(r"\xz", r"invalid escape sequence: `\xz`")]
#[case(r"\x{110000}", r"invalid escape sequence: `\x{110000}`")]
#[case("a\\", "trailing backslash at end of expression: ``")]
#[case("(?=a)", "invalid or unsupported Perl syntax: `(?=`")]
#[case("(?x)a", "invalid or unsupported Perl syntax: `(?x`")]
#[case("(?i-)a", "invalid or unsupported Perl syntax: `(?i-)`")]
#[case("(?P<n", "invalid named capture: `(?P<n`")]
#[case("(?P<a b>c)", "invalid named capture: `(?P<a b>`")]
#[case("(?é)", "invalid or unsupported Perl syntax: `(?é`")]
#[case(r"\x{é}", r"invalid escape sequence: `\x{é}`")]
#[case("(?i", "invalid or unsupported Perl syntax: `(?i`")]
fn wrong_expressions_are_refused_in_gos_words(#[case] pattern: &str, #[case] expected: &str) {
    assert_eq!(compile(pattern).unwrap_err(), format!("error parsing regexp: {expected}"));
}

proptest! {
    #[test]
    fn any_text_is_compiled_or_refused(pattern in r"[-\\^$.*+?(){}\[\]|:<>=!,a-zA-Z0-9é☃\n]{0,24}") {
        let _ = compile(&pattern);
    }
}

#[test]
fn expressions_that_grow_too_large_are_refused() {
    let error = compile(r"((\pL{1000}){1000}){1000}").unwrap_err();
    assert_eq!(error, "error parsing regexp: expression too large");
}
