use super::*;

fn parsed(text: &str) -> Result<Json, JsonError> {
    let arena = Arena::default();
    parse(text, &arena, Options::default()).map(|value| to_json(&value))
}

fn failure(text: &str) -> String {
    parsed(text).expect_err(text).to_string()
}

proptest! {
    #[test]
    fn valid_json_reads_as_the_reference_reads_it(json in any_json()) {
        let text = json.to_string();
        prop_assert_eq!(parsed(&text).unwrap(), as_kubernetes_reads(json.clone()));
        let pretty = serde_json::to_string_pretty(&json).unwrap();
        prop_assert_eq!(parsed(&pretty).unwrap(), as_kubernetes_reads(json));
    }

    #[test]
    fn any_text_is_read_or_refused_as_by_the_reference(text in nearly_json()) {
        let reference = serde_json::from_str::<Json>(&text).map(as_kubernetes_reads);
        match (parsed(&text), reference) {
            // Of a zero below nothing the reference does not tell whether it was written as an integer.
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(as_kubernetes_reads(ours), theirs),
            (Err(error), Err(_)) => prop_assert!(error.offset <= text.len()),
            (ours, theirs) => prop_assert!(false, "{:?}: {:?} but the reference {:?}", text, ours, theirs),
        }
    }

    #[test]
    fn no_prefix_of_a_container_is_a_document(json in any_json()) {
        let text = Json::Array(vec![json]).to_string();
        for (end, _) in text.char_indices() {
            let error = parsed(&text[..end]).unwrap_err();
            prop_assert!(error.offset <= end);
        }
    }
}

#[test]
fn numbers_become_what_the_kubernetes_decoder_makes_of_them() {
    // Each answer was seen from sigs.k8s.io/json's UnmarshalCaseSensitivePreserveInts.
    let arena = Arena::default();
    let number = |text: &'static str| parse(text, &arena, Options::default()).expect(text);
    for (text, expected) in
        [("1", 1), ("0", 0), ("-0", 0), ("9223372036854775807", i64::MAX), ("-9223372036854775808", i64::MIN)]
    {
        assert!(matches!(number(text), Value::Int(int) if int == expected), "{text}: {:?}", number(text));
    }
    for (text, expected) in [
        ("1.0", 1.0),
        ("1e3", 1000.0),
        ("1E2", 100.0),
        ("0e999", 0.0),
        ("-0.0", -0.0),
        ("-1e-999", -0.0),
        ("1e-999", 0.0),
        ("9223372036854775808", 9_223_372_036_854_775_808.0),
        ("18446744073709551615", 18_446_744_073_709_551_616.0),
        ("-9223372036854775809", -9_223_372_036_854_775_808.0),
        ("1234567890123456789012345678901234567890", 1.234_567_890_123_456_8e39),
    ] {
        let Value::Double(double) = number(text) else { panic!("{text}: {:?}", number(text)) };
        assert_eq!(double.to_bits(), f64::to_bits(expected), "{text}");
    }
    for text in ["1e999", "[1,-1e999]", "{\"a\":1e400}"] {
        let error = parse(text, &arena, Options::default()).unwrap_err();
        assert_eq!(error.kind, JsonErrorKind::NumberOutOfRange, "{text}");
        assert!(text[error.offset..].starts_with(['1', '-']), "{text}: {error}");
    }
}

#[test]
fn half_a_surrogate_pair_becomes_the_replacement_character() {
    for (text, expected) in [
        (r#""\ud800""#, "\u{fffd}"),
        (r#""\udc00""#, "\u{fffd}"),
        (r#""\ud800x""#, "\u{fffd}x"),
        (r#""\ud800\n""#, "\u{fffd}\n"),
        (r#""\ud800\u0041""#, "\u{fffd}A"),
        (r#""\ud800\ud800\udc00""#, "\u{fffd}\u{10000}"),
        (r#""\ud83d\ude00""#, "😀"),
        (r#""\u0000""#, "\0"),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
    ] {
        assert_eq!(parsed(text).unwrap(), Json::from(expected), "{text}");
    }
}

#[test]
fn the_last_of_repeated_keys_counts() {
    assert_eq!(parsed(r#"{"a":1,"b":2,"a":3}"#).unwrap().to_string(), r#"{"a":3,"b":2}"#);
    assert_eq!(parsed(r#"{"a":{"x":1},"\u0061":{"y":1}}"#).unwrap().to_string(), r#"{"a":{"y":1}}"#);
    let many: Vec<String> = (0..100).map(|i| format!(r#""k{}":{i}"#, i % 30)).collect();
    let read = parsed(&format!("{{{}}}", many.join(","))).unwrap();
    assert_eq!(read.as_object().unwrap().len(), 30);
    assert_eq!(read["k9"], 99);
    assert_eq!(read["k10"], 70);
}

#[test]
fn managed_fields_are_left_out_only_where_they_are_and_only_on_request() {
    let text = r#"{"managedFields":1,"metadata":{"name":"a","managedFields":[{"f:a":{}}],"x":{"managedFields":2}},"spec":{"metadata":{"managedFields":3}}}"#;
    let arena = Arena::default();
    let jumping = Options { is_checked: true, ..SKIPPING };
    for options in [SKIPPING, jumping] {
        assert_eq!(
            written(&parse(text, &arena, options).unwrap()),
            r#"{"managedFields":1,"metadata":{"name":"a","x":{"managedFields":2}},"spec":{"metadata":{"managedFields":3}}}"#
        );
    }
    assert_eq!(written(&parse(text, &arena, Options::default()).unwrap()), text);
    for text in [
        r#"{"metadata":{"managedFields":[1]}}"#,
        r#"{"metadata":{"\u006danagedFields":[{}],"managedFields": {}}}"#,
        r#"{"metadata":{"managedFields":null}}"#,
    ] {
        for options in [SKIPPING, jumping] {
            let value = parse(text, &arena, options).unwrap();
            assert_eq!(written(&value), r#"{"metadata":{}}"#);
        }
    }
    assert!(parse(r#"{"metadata":{"managedFields":[1"#, &arena, jumping).is_err());
    let error = parse(r#"{"metadata":{"managedFields":[1,]}}"#, &arena, SKIPPING).unwrap_err();
    assert_eq!(error.to_string(), "invalid JSON at byte 32: found ']', expected a value");
}

#[test]
fn strings_without_escapes_are_borrowed_from_the_text() {
    let text = String::from(r#"{"key":"value"}"#);
    let arena = Arena::default();
    let value = parse(&text, &arena, Options::default()).unwrap();
    let Value::Map(map) = value else { panic!("{value:?}") };
    let Some(Value::String(found)) = map.field("key") else { panic!("{map:?}") };
    assert!(text.as_bytes().as_ptr_range().contains(&found.as_ptr()));
}

#[test]
fn errors_say_where_what_was_found_and_what_was_expected() {
    for (text, expected) in [
        ("", "invalid JSON at byte 0: found the end of the text, expected a value"),
        ("{", "invalid JSON at byte 1: found the end of the text, expected a string as key, or `}`"),
        ("{1:2}", "invalid JSON at byte 1: found '1', expected a string as key, or `}`"),
        (r#"{"a":1,}"#, "invalid JSON at byte 7: found '}', expected a string as key"),
        (r#"{"a" 1}"#, "invalid JSON at byte 5: found '1', expected `:` after the key"),
        ("[1 2]", "invalid JSON at byte 3: found '2', expected `,` or `]`"),
        ("[01]", "invalid JSON at byte 2: found '1', expected no digit after a leading zero"),
        ("-", "invalid JSON at byte 1: found the end of the text, expected a digit"),
        ("1.", "invalid JSON at byte 2: found the end of the text, expected a digit after the decimal point"),
        ("nul", "invalid JSON at byte 3: found the end of the text, expected `null`"),
        ("trüe", "invalid JSON at byte 2: found 'ü', expected `true`"),
        (
            "\"\u{1}\"",
            "invalid JSON at byte 1: found '\\u{1}', expected an escape such as `\\n` for a control character in a string",
        ),
        (r#""\x""#, "invalid JSON at byte 2: found 'x', expected one of `\"\\/bfnrtu` after a backslash"),
        (r#""\u12x4""#, "invalid JSON at byte 5: found 'x', expected four hexadecimal digits after `\\u`"),
        ("NaN", "invalid JSON at byte 0: found 'N', expected a value"),
        ("\u{feff}{}", "invalid JSON at byte 0: found '\\u{feff}', expected a value"),
        ("{} x", "invalid JSON at byte 3: found 'x', expected nothing after the value"),
        ("[1e999]", "invalid JSON at byte 1: the number is too large for a double"),
    ] {
        assert_eq!(failure(text), expected, "{text}");
    }
    let text = "{\n  \"é\": x\n}";
    assert_eq!(parsed(text).unwrap_err().line_and_column(text), (2, 8));
}
