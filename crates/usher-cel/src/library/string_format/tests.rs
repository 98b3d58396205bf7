use rstest::rstest;

use super::super::Form;
use super::super::testing::{Library, check};
use super::*;
use crate::eval::{Arena, Entry, Map, Meter};
use Value::{Bool, Bytes, Double, Duration, Int, List, Null, Optional, Type, Uint};

#[rstest]
#[case("%s", &[Value::String("hi")], "hi")]
#[case("%s", &[Bytes(b"hi")], "hi")]
#[case("%s", &[Double(1.0)], "1")]
#[case("%s", &[Double(1e21)], "1e+21")]
#[case("%s", &[Double(f64::INFINITY)], "+Inf")]
#[case("%s", &[Bool(true)], "true")]
#[case("%s", &[Null], "null")]
#[case("%s", &[Type("int")], "int")]
#[case("%s", &[Duration(1_500_000_000)], "1.5s")]
#[case("%s", &[List(&[List(&[Int(1), Uint(2)]), List(&[])])], "[[1, 2], []]")]
#[case("%s", &[List(&[Value::String("a\"\n\u{1}é\u{200b}"), Null])], r#"["a\"\n\x01é\u200b", null]"#)]
#[case("%s", &[List(&[Bytes(b"z"), Type("int")])], r#"[b"z", int]"#)]
#[case("%s", &[List(&[Double(3.25), Double(1e21), Double(f64::NAN)])], "[3.250000, 1000000000000000000000.000000, \"NaN\"]")]
#[case("%s", &[List(&[Double(f64::NEG_INFINITY)])], "[\"-Inf\"]")]
#[case("%s", &[List(&[Duration(1_500_000_000)])], r#"[duration("1.5s")]"#)]
#[case("%d", &[Int(-1_234_567)], "-1234567")]
#[case("%.3d", &[Int(1)], "1")]
#[case("%d", &[Uint(u64::MAX)], "18446744073709551615")]
#[case("%f", &[Double(1234.5)], "1,234.500000")]
#[case("%.3f", &[Double(-1234.5678)], "-1,234.568")]
#[case("%f", &[Value::String("-Infinity")], "-∞")]
#[case("%e", &[Double(1_052.032_911_275)], "1.052033×10⁰³")]
#[case("%.3e", &[Double(0.000_123_45)], "1.234500×10⁻⁰⁴")]
#[case("%e", &[Value::String("NaN")], "   NaN")]
#[case("%b", &[Int(-5)], "-101")]
#[case("%b", &[Bool(true)], "1")]
#[case("%b", &[Int(i64::MIN)], "-1000000000000000000000000000000000000000000000000000000000000000")]
#[case("%o", &[Int(-8)], "-10")]
#[case("%x", &[Int(-255)], "-ff")]
#[case("%X", &[Uint(255)], "FF")]
#[case("%x", &[Value::String("hé")], "68c3a9")]
#[case("%X", &[Bytes(b"\xff\x00")], "FF00")]
#[case("%%", &[], "%")]
#[case("é%sé%s", &[Value::String("ü"), Int(1)], "éüé1")]
#[case("a", &[Value::String("unused")], "a")]
fn clauses_print_as_in_version_2(
    #[case] format: &'static str,
    #[case] values: &'static [Value<'static>],
    #[case] expected: &'static str,
) {
    let cost = cost::traversal(cost::size(format));
    check("format", Form::Member, &[Value::String(format), List(values)], Ok(Value::String(expected)), cost);
}

#[rstest]
#[case("%", &[Int(1)], "unexpected end of string")]
#[case("%", &[], "index 0 out of range")]
#[case("%s %s", &[Int(1)], "index 1 out of range")]
#[case("%y", &[Int(1)], "could not parse formatting clause: unrecognized formatting clause \"y\"")]
#[case("%-5d", &[Int(1)], "could not parse formatting clause: unrecognized formatting clause \"-\"")]
#[case("%é", &[Int(1)], "could not parse formatting clause: unrecognized formatting clause \"Ã\"")]
#[case("%.", &[Int(1)], "could not parse formatting clause: error while parsing precision: could not find end of precision specifier")]
#[case("%.3", &[Int(1)], "could not parse formatting clause: error while parsing precision: could not find end of precision specifier")]
#[case("%.f", &[Double(1.5)], "could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing \"\": invalid syntax")]
#[case("%.99999999999999999999f", &[Double(1.5)], "could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing \"99999999999999999999\": value out of range")]
#[case("%d", &[Double(1.5)], "error during formatting: decimal clause can only be used on integers, was given double")]
#[case("%f", &[Value::String("1.5")], "error during formatting: fixed-point clause can only be used on doubles, was given string")]
#[case("%e", &[Int(1)], "error during formatting: scientific clause can only be used on doubles, was given int")]
#[case("%b", &[Double(1.5)], "error during formatting: only integers and bools can be formatted as binary, was given double")]
#[case("%o", &[Bool(true)], "error during formatting: octal clause can only be used on integers, was given bool")]
#[case("%x", &[Bool(true)], "error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given bool")]
#[case("%s", &[Bytes(b"\xff")], "error during formatting: could not convert argument \"invalid UTF-8 in bytes, cannot convert to string\" to string")]
#[case("%s", &[Optional(None)], "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type")]
#[case("%s", &[List(&[Optional(None)])], "error during formatting: no formatting function for optional_type")]
fn clauses_that_do_not_fit_say_so(
    #[case] format: &'static str,
    #[case] values: &'static [Value<'static>],
    #[case] expected: &str,
) {
    check("format", Form::Member, &[Value::String(format), List(values)], Err(expected), 0);
}

#[test]
fn maps_print_in_the_order_of_their_keys_texts() {
    let arena = Arena::default();
    let entries = [
        Entry { key: Uint(2), value: Int(1) },
        Entry { key: Value::String("x"), value: Bytes(b"z") },
        Entry { key: Bool(true), value: Value::Map(Map::EMPTY) },
        Entry { key: Int(10), value: Double(1.5) },
    ];
    let map = Value::Map(Map::new(&entries, &arena).unwrap());
    let library = Library::default();
    let values = [map];
    let text = library.member("format", &[Value::String("%s"), List(&values)]).unwrap();
    assert!(matches!(text, Value::String(r#"{"x":b"z", 10:1.500000, 2:1, true:{}}"#)), "{text:?}");
}

#[test]
fn lists_of_any_depth_are_printed() {
    let arena = Arena::default();
    let mut nested = List(&[]);
    for _ in 0..100_000 {
        nested = List(arena.alloc_slice(&[nested]).unwrap());
    }
    let library = Library::default();
    let values = [nested];
    let text = library.member("format", &[Value::String("%s"), List(&values)]).unwrap();
    assert!(matches!(text, Value::String(text) if text.len() == 200_002));
}

#[test]
fn a_text_that_is_too_long_hits_the_limit_of_memory() {
    let arena = Arena::with_limit(1 << 20);
    let long = "x".repeat(100_000);
    let values = [Value::String(&long); 100];
    let clauses = "%s".repeat(100);
    let args = [Value::String(&clauses), List(&values)];
    let mut meter = Meter::new(u64::MAX);
    let mut call = Call { arena: &arena, meter: &mut meter, prepared: None, authorizer: None };
    assert_eq!(format(&mut call, &args).unwrap_err().kind, crate::eval::ErrorKind::Memory);
}
