use rstest::rstest;

use crate::parse::parse;

fn refused(source: &str) -> Vec<(String, String, Option<String>)> {
    let issues = parse(source).expect_err("the text is wrong");
    issues
        .0
        .into_iter()
        .map(|issue| (issue.span.text(source).to_owned(), issue.message, issue.help))
        .collect()
}

#[rstest]
#[case::empty("", "", "expected an operand, found the end of the expression")]
#[case::operand_missing("a &&", "", "expected an operand, found the end of the expression")]
#[case::two_operands("a b", "b", "expected an operator or the end of the expression, found the name `b`")]
#[case::closing_without_opening("a)", ")", "expected an operator or the end of the expression, found `)`")]
#[case::parenthesis_left_open(
    "(a + b",
    "",
    "expected an operator or the `)` that closes the `(` at 1:1, found the end of the expression"
)]
#[case::parenthesis_left_open_on_another_line(
    "a +\n  f(b",
    "",
    "expected an operator, `,` or the `)` that closes the `(` at 2:4, found the end of the expression"
)]
#[case::wrong_bracket(
    "[a)",
    ")",
    "expected an operator, `,` or the `]` that closes the `[` at 1:1, found `)`"
)]
#[case::index_left_open(
    "a[0",
    "",
    "expected an operator or the `]` that closes the `[` at 1:2, found the end of the expression"
)]
#[case::comma_missing(
    "[1 2]",
    "2",
    "expected an operator, `,` or the `]` that closes the `[` at 1:1, found the number `2`"
)]
#[case::trailing_comma_in_call("f(a,)", ")", "expected an operand, found `)`")]
#[case::colon_missing("{a}", "}", "expected `:` behind the key, found `}`")]
#[case::field_colon_missing("T{a}", "}", "expected `:` behind the field name, found `}`")]
#[case::field_name_expected("T{1: 2}", "1", "expected a field name after `{` or `,`, found the number `1`")]
#[case::field_expected("a.", "", "expected a field name after `.`, found the end of the expression")]
#[case::optional_field_expected("a.?[0]", "[", "expected a field name after `.?`, found `[`")]
#[case::name_expected(".1 + .", "", "expected a name after the leading `.`, found the end of the expression")]
#[case::conditional_unfinished(
    "a ? b",
    "",
    "expected an operator or the `:` that belongs to `?` at 1:3, found the end of the expression"
)]
#[case::conditional_in_conditional("a ? b ? c : d : e", "?", "expected `:`, found `?`")]
#[case::call_of_quoted_name("a.`b`(c)", "(", "expected an operator or the end of the expression, found `(`")]
#[case::unclosed_string("'abc", "'", "the string opened with ' is not closed on its line")]
#[case::unclosed_long_string("r\"\"\"abc\n", "r\"\"\"", "the string opened with r\"\"\" is not closed")]
#[case::unknown_character("a # b", "#", "unexpected character `#`")]
#[case::invisible_character("a\u{a0}== b", "\u{a0}", "unexpected character U+00A0")]
#[case::backquote("`", "`", "this ` does not open a quoted field name")]
#[case::quoted_name_as_operand("`a`", "`a`", "expected an operand, found ``a``")]
#[case::unknown_escape(r"'a\qb'", r"\q", r"unknown escape sequence `\q`")]
#[case::short_hex(r"'\x4'", r"\x4", r"`\x` takes 2 hexadecimal digits, found 1")]
#[case::short_unicode(r"'\u12'", r"\u12", r"`\u` takes 4 hexadecimal digits, found 2")]
#[case::short_octal(r"'\12'", r"\12", r"an octal escape has three digits, from `\000` to `\377`")]
#[case::unicode_in_bytes(r"b'\u0041'", r"\u", r"`\u` is not allowed in bytes")]
fn syntax_errors_name_place_and_expectation(
    #[case] source: &str,
    #[case] place: &str,
    #[case] message: &str,
) {
    let found = refused(source);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].0.as_str(), found[0].1.as_str()),
        (place, format!("Syntax error: {message}").as_str())
    );
}

#[rstest]
#[case::equals("a = b", "`=` is not an operator", "use `==` to compare")]
#[case::strict_equals("a === b", "`===` is not an operator", "use `==`")]
#[case::sql_not_equals("a <> b", "`<>` is not an operator", "use `!=`")]
#[case::single_and("a & b", "`&` is not an operator", "use `&&` for a logical and")]
#[case::single_or("a | b", "`|` is not an operator", "use `||` for a logical or")]
#[case::word_and("a and b", "`and` is not an operator", "use `&&`")]
#[case::word_or("a OR b", "`OR` is not an operator", "use `||`")]
#[case::word_not("not a", "`not` is not an operator", "use `!`")]
#[case::not_in("a not in b", "`not` is not an operator", "write `!(a in b)`")]
#[case::curly_quotes("‘", "unexpected character `‘`", "use straight quotes: ' or \"")]
#[case::reserved_field(
    "a.in",
    "expected a field name after `.`, found `in`",
    "`in` is reserved: write it in backquotes, `in`, or as a string in [ ]"
)]
#[case::minus_behind_not(
    "!-a",
    "expected an operand, found `-`",
    "`-` cannot stand here: use parentheses, !(-a)"
)]
fn what_other_languages_write_is_put_right(#[case] source: &str, #[case] message: &str, #[case] help: &str) {
    let found = refused(source);
    assert_eq!(
        (found[0].1.as_str(), found[0].2.as_deref()),
        (format!("Syntax error: {message}").as_str(), Some(help))
    );
}

#[rstest]
#[case("reserved identifier: for", "for", "for + 1")]
#[case("reserved identifier: namespace", ".namespace", "a(.namespace)")]
#[case("reserved identifier: while", "while", "while(1)")]
#[case("invalid int literal", "9223372036854775808", "9223372036854775808")]
#[case("invalid int literal", "-9223372036854775809", "1 + -9223372036854775809")]
#[case("invalid uint literal", "18446744073709551616u", "18446744073709551616u")]
#[case("invalid double literal", "1e999", "1e999")]
#[case(r"invalid unicode code point `\ud800`", r"\ud800", r"'\ud800'")]
#[case("argument must be a simple name", "x.y", "[1].all(x.y, true)")]
#[case("argument must be a simple name", "1", "[1].exists(i, 1, true)")]
#[case("argument is not an identifier", "1", "[1].map(1, x)")]
#[case("argument is not an identifier", "f()", "[1].filter(f(), x)")]
#[case("iteration variable overwrites accumulator variable", "__result__", "[1].all(__result__, true)")]
#[case(
    "iteration variable overwrites accumulator variable",
    "__result__",
    "[1].transformMap(k, __result__, 1)"
)]
#[case("duplicate variable name: i", "i", "[1].transformList(i, i, 1)")]
#[case("optMap() variable name must be a simple identifier", "1", "a.optMap(1, 2)")]
#[case("optFlatMap() variable name must be a simple identifier", "x.y", "a.optFlatMap(x.y, 2)")]
#[case("invalid argument to has() macro", "a[0]", "has(a[0])")]
#[case(
    "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
    "{}",
    "{}.sortBy(x, x)"
)]
fn errors_beyond_syntax_have_the_texts_of_cel_go(
    #[case] message: &str,
    #[case] place: &str,
    #[case] source: &str,
) {
    let found = refused(source);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0.as_str(), found[0].1.as_str()), (place, message));
    assert!(found[0].2.is_some(), "a help");
}

#[rstest]
#[case::list("[1 2, a +, b, c.]", &["2", ",", "]"])]
#[case::arguments("f(a b, 'x' 'y', c).g(1 2)", &["b", "'y'", "2"])]
#[case::map("{a b: 1, c: , d: 2, e}", &["b", ",", "}"])]
#[case::message("T{a 1, b: , c: 3}", &["1", ","])]
#[case::parentheses("(a b) && (c d)", &["b", "d"])]
#[case::index("a[b c] + d[e f]", &["c", "f"])]
#[case::literals(r"['\q', for, 9223372036854775808]", &[r"\q", "for", "9223372036854775808"])]
#[case::macros("[1].all(1, x) && has(a)", &["1", "a"])]
#[case::commas_in_parentheses("f((a, b), c d)", &[",", "d"])]
fn several_errors_are_found_at_once(#[case] source: &str, #[case] places: &[&str]) {
    let found: Vec<_> = refused(source).into_iter().map(|(place, ..)| place).collect();
    assert_eq!(found, places);
}

#[rstest]
#[case("f('abc", 1)]
#[case("[a, 'b\n, c]", 1)]
#[case("a #", 1)]
#[case("a # b", 1)]
#[case("a = b = c", 2)]
fn an_error_does_not_bring_others_along(#[case] source: &str, #[case] count: usize) {
    assert_eq!(refused(source).len(), count);
}

#[test]
fn issues_print_with_line_and_caret() {
    let issues = parse("a &&\n  f(b, c").expect_err("a bracket is open");
    assert_eq!(
        issues.to_string(),
        "ERROR: <input>:2:9: Syntax error: expected an operator, `,` or the `)` that closes the `(` at 2:4, found the end of the expression\n |   f(b, c\n | ........^"
    );
}

#[test]
fn recovery_ends_after_thirty_attempts() {
    let found = refused(&format!("[{}]", "a b,".repeat(50)));
    assert_eq!(found.len(), 32);
    assert_eq!(found[31].1, "Syntax error: error recovery attempt limit exceeded: 30");
}

#[test]
fn not_more_than_a_hundred_errors_are_listed() {
    let found = refused(&format!("[{}]", "for,".repeat(250)));
    assert_eq!(found.len(), 101);
    assert_eq!(found[100].1, "150 more errors were truncated");
}
