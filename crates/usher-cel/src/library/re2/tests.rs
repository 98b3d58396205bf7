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
#[case("^(a{100}){10}$", "a", false)]
#[case("^((a{900}){0}b{900})?$", "", true)]
#[case("^((a{2}){500}|(b{500}){2})?c$", "c", true)]
#[case("^(a{0,}){1000}$", "aaa", true)]
#[case("^a{1,x}$", "a{1,x}", true)]
#[case("^[[:[: ]+$", "[: ", true)]
fn expressions_mean_what_they_mean_in_go(#[case] pattern: &str, #[case] text: &str, #[case] expected: bool) {
    assert_eq!(
        compile(pattern, &RegexBudget::default()).unwrap().is_match(text),
        expected,
        "{:?}",
        translate(pattern).map(|translated| translated.text).ok()
    );
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
#[case("(a{100}b){11}", "invalid repeat count: `{11}`")]
#[case("((a{2,20}){0,20}){3,}?", "invalid repeat count: `{3,}?`")]
#[case(r"((\pL{1000}){1000}){1000}", "invalid repeat count: `{1000}`")]
#[case("a{99999999999999999999}", "invalid repeat count: `{99999999999999999999}`")]
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
    assert_eq!(
        compile(pattern, &RegexBudget::default()).unwrap_err(),
        format!("error parsing regexp: {expected}")
    );
}

proptest! {
    #[test]
    fn any_text_is_compiled_or_refused(pattern in r"[-\\^$.*+?(){}\[\]|:<>=!,a-zA-Z0-9é☃\n]{0,24}") {
        let _ = compile(&pattern, &RegexBudget::default());
    }
}

#[test]
fn expressions_that_grow_too_large_are_refused() {
    let error = compile(r"\pL{1000}", &RegexBudget::default()).unwrap_err();
    assert_eq!(error, "error parsing regexp: expression too large");
}

#[rstest]
#[case(r"\pL{40}")]
#[case(r"\PL{10}")]
#[case(r"[^a]{500}")]
#[case(".{1000}")]
#[case(r"\S{1000}")]
#[case(r"(?i)\w{1000}")]
#[case(r"(?i)\pL")]
#[case("[a-z]{63}")]
#[case("^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")]
fn the_size_is_known_before_the_automaton_is_built(#[case] pattern: &str) {
    let hir = parse(pattern, &RegexBudget::default()).unwrap();
    let estimate = size::of_automaton(&hir);
    let actual = compile(pattern, &RegexBudget::default()).unwrap().0.memory_usage();
    // What every automaton has besides depends on the engines that are compiled in.
    assert!(estimate * 2 + 4096 >= actual && estimate <= actual * 2, "{estimate} for {actual}");
}

#[test]
fn the_expressions_of_a_rule_share_a_budget() {
    let budget = RegexBudget::default();
    assert!(compile(".{1000}", &budget).is_ok());
    assert!(compile(".{1000}", &budget).is_ok());
    assert!(compile(".{1000}", &budget).is_ok());
    let error = compile(".{1000}", &budget).unwrap_err();
    assert_eq!(
        error,
        "error parsing regexp: expression too large beside the other regular expressions of the rule"
    );
    assert!(compile("[a-z]", &budget).is_ok(), "a small one still fits");
}
