use super::*;
use crate::eval::{Entry, Map, Object, Timestamp};

fn as_expression_value(value: &Value<'_>) -> Result<String, WriteError> {
    let mut out = b"before".to_vec();
    let options = WriteOptions { large_integers: LargeIntegers::AsStrings, ..WriteOptions::default() };
    let result = write(value, &mut out, options);
    let text = String::from_utf8(out).unwrap();
    assert!(result.is_ok() || text == "before", "an error leaves the output as it was");
    result.map(|()| text["before".len()..].to_owned())
}

/// As in Go, a whole double is written without a fraction and comes back as an int: the nearest double to it is the same.
fn as_doubles(json: Json) -> Json {
    match json {
        Json::Number(number) => Json::from(number.as_f64().unwrap() + 0.0),
        Json::Array(items) => items.into_iter().map(as_doubles).collect(),
        Json::Object(members) => members.into_iter().map(|(key, value)| (key, as_doubles(value))).collect(),
        other => other,
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_as_the_same_value(json in any_json()) {
        let text = json.to_string();
        let arena = Arena::default();
        let value = parse(&text, &arena, Options::default()).unwrap();
        let out = written(&value);
        let again = parse(&out, &arena, Options::default()).unwrap();
        prop_assert_eq!(written(&again), &*out);
        prop_assert_eq!(as_doubles(to_json(&again)), as_doubles(to_json(&value)), "{} became {}", text, out);
    }

    #[test]
    fn strings_are_written_as_the_reference_writes_them(text in any::<String>()) {
        prop_assert_eq!(written(&Value::String(&text)), serde_json::to_string(&text).unwrap());
    }

    #[test]
    fn doubles_keep_every_bit(bits in any::<u64>()) {
        let double = f64::from_bits(bits);
        prop_assume!(double.is_finite());
        prop_assert_eq!(written(&Value::Double(double)).parse::<f64>().unwrap().to_bits(), bits);
    }
}

#[test]
fn doubles_are_written_as_go_writes_them() {
    for (double, expected) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (1e20, "100000000000000000000"),
        (123_456_789_012_345_680_000.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (1e22, "1e+22"),
        (-1.5e300, "-1.5e+300"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (0.1, "0.1"),
        (9_223_372_036_854_775_808.0, "9223372036854776000"),
    ] {
        assert_eq!(written(&Value::Double(double)), expected);
    }
    assert_eq!(as_expression_value(&Value::Double(f64::NAN)), Err(WriteError::NotFinite));
    assert_eq!(as_expression_value(&Value::Double(f64::INFINITY)), Err(WriteError::NotFinite));
}

#[test]
fn values_of_an_expression_are_written_as_cel_go_converts_them() {
    // Each answer was seen from ConvertToNative(structpb.Value) of cel-go 0.29.2.
    let arena = Arena::default();
    let time = |seconds, nanoseconds| Value::Timestamp(Timestamp::from_unix(seconds, nanoseconds).unwrap());
    for (value, expected) in [
        (Value::Int(9_007_199_254_740_991), "9007199254740991"),
        (Value::Int(9_007_199_254_740_992), "\"9007199254740992\""),
        (Value::Int(-9_007_199_254_740_991), "-9007199254740991"),
        (Value::Int(-9_007_199_254_740_992), "\"-9007199254740992\""),
        (Value::Int(i64::MIN), "\"-9223372036854775808\""),
        (Value::Uint(9_007_199_254_740_992), "\"9007199254740992\""),
        (Value::Uint(7), "7"),
        (time(1_704_164_645, 120_000_000), "\"2024-01-02T03:04:05.12Z\""),
        (time(Timestamp::MIN_SECONDS, 0), "\"0001-01-01T00:00:00Z\""),
        (Value::Duration(3_601_500_000_000), "\"3601.5s\""),
        (Value::Duration(-1_000_000_001), "\"-1.000000001s\""),
        (Value::Duration(360_000_000_000_000), "\"360000s\""),
        (Value::Duration(i64::MAX), "\"9223372036.854776s\""),
        (Value::Duration(1), "\"0.000000001s\""),
        (Value::Bytes(b"abc\xff"), "\"YWJj/w==\""),
        (Value::Bytes(b""), "\"\""),
        (Value::Optional(Some(&Value::Optional(Some(&Value::Int(1))))), "1"),
        (Value::List(&[Value::Optional(Some(&Value::Int(1))), Value::Null]), "[1,null]"),
        (Value::String("a\u{7}\u{7f}\u{2028}"), "\"a\\u0007\u{7f}\u{2028}\""),
        (
            Value::Object(&Object {
                type_name: "Object.spec",
                fields: &[("replicas", Value::Int(3)), ("x", Value::List(&[]))],
            }),
            r#"{"replicas":3,"x":[]}"#,
        ),
    ] {
        assert_eq!(as_expression_value(&value).as_deref(), Ok(expected), "{value:?}");
    }
    let keyed = |key| {
        let entries = [Entry { key, value: Value::Null }];
        as_expression_value(&Value::Map(Map::new(arena.alloc_slice(&entries).unwrap(), &arena).unwrap()))
    };
    assert_eq!(keyed(Value::String("a")).as_deref(), Ok(r#"{"a":null}"#));
    assert_eq!(keyed(Value::Int(1)), Err(WriteError::Key("int")));
    assert_eq!(keyed(Value::Uint(1)), Err(WriteError::Key("uint")));
    assert_eq!(keyed(Value::Bool(true)), Err(WriteError::Key("bool")));
    assert_eq!(as_expression_value(&Value::Optional(None)), Err(WriteError::NoValue));
    assert_eq!(as_expression_value(&Value::Type("int")), Err(WriteError::Type("type")));
    assert_eq!(written(&Value::Int(i64::MAX)), "9223372036854775807");
    assert_eq!(written(&Value::Uint(u64::MAX)), "18446744073709551615");
}

#[test]
fn strings_are_escaped_as_by_go_on_request() {
    // As Go's json.Marshal prints it.
    let text = "a<b>&\u{2028}\u{2029}\u{2027}\u{202a}é\u{7f}\u{8}\u{c}\u{1}\"\\";
    let mut out = Vec::new();
    let options = WriteOptions { escape_html: true, ..WriteOptions::default() };
    write(&Value::String(text), &mut out, options).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "\"a\\u003cb\\u003e\\u0026\\u2028\\u2029\u{2027}\u{202a}é\u{7f}\\b\\f\\u0001\\\"\\\\\""
    );
}

#[test]
fn shared_parts_cannot_make_more_text_than_the_limit() {
    let arena = Arena::default();
    let mut value = Value::String("0123456789");
    for _ in 0..60 {
        value = Value::List(arena.alloc_slice(&[value, value]).unwrap());
    }
    let mut out = Vec::new();
    let options = WriteOptions { limit: 1000, ..WriteOptions::default() };
    assert_eq!(write(&value, &mut out, options), Err(WriteError::TooLarge { limit: 1000 }));
    assert!(out.is_empty());
    let exact = WriteOptions { limit: 4, ..WriteOptions::default() };
    assert_eq!(write(&Value::Null, &mut out, exact), Ok(()));
    assert_eq!(write(&Value::Bool(false), &mut out, exact), Err(WriteError::TooLarge { limit: 4 }));
}

#[test]
fn nothing_deeper_than_kubernetes_reads_is_written() {
    let arena = Arena::default();
    let mut value = Value::Null;
    for _ in 0..MAX_DEPTH {
        value = Value::List(arena.alloc_slice(&[value]).unwrap());
    }
    assert_eq!(written(&value).len(), 2 * MAX_DEPTH + 4);
    value = Value::List(arena.alloc_slice(&[value]).unwrap());
    assert_eq!(as_expression_value(&value), Err(WriteError::TooDeep));
}
