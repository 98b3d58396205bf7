use rstest::rstest;

use super::super::testing::check;
use super::*;
use crate::eval::{Arena, ErrorKind, Meter};
use Value::{Int, List, String};

const ABC: Value<'static> = List(&[String("a"), String("b"), String("c")]);

#[rstest]
#[case("charAt", &[String("abc"), Int(1)], Ok(String("b")), 1)]
#[case("charAt", &[String("né☃"), Int(2)], Ok(String("☃")), 1)]
#[case("charAt", &[String("abc"), Int(3)], Ok(String("")), 1)]
#[case("charAt", &[String("abc"), Int(4)], Err("index out of range: 4"), 1)]
#[case("charAt", &[String("abc"), Int(-1)], Err("index out of range: -1"), 1)]
#[case("indexOf", &[String("tacocat"), String("")], Ok(Int(0)), 0)]
#[case("indexOf", &[String("tacocat"), String(""), Int(10)], Ok(Int(7)), 0)]
#[case("indexOf", &[String("tacocat"), String("a"), Int(3)], Ok(Int(5)), 0)]
#[case("indexOf", &[String("tacocat"), String("a"), Int(10)], Ok(Int(-1)), 0)]
#[case("indexOf", &[String("tacocat"), String("a"), Int(-1)], Err("index out of range: -1"), 0)]
#[case("indexOf", &[String("tacocat"), String("at"), Int(6)], Ok(Int(-1)), 0)]
#[case("indexOf", &[String("ta©o©αT"), String("©")], Ok(Int(2)), 1)]
#[case("indexOf", &[String("ta©o©αT"), String("©"), Int(3)], Ok(Int(4)), 1)]
#[case("lastIndexOf", &[String("tacocat"), String("")], Ok(Int(7)), 0)]
#[case("lastIndexOf", &[String("tacocat"), String(""), Int(3)], Ok(Int(3)), 0)]
#[case("lastIndexOf", &[String("tacocat"), String(""), Int(30)], Ok(Int(7)), 0)]
#[case("lastIndexOf", &[String("tacocat"), String("a"), Int(30)], Ok(Int(-1)), 0)]
#[case("lastIndexOf", &[String("tacocat"), String("at"), Int(6)], Ok(Int(5)), 0)]
#[case("lastIndexOf", &[String("tacocat"), String("at"), Int(4)], Ok(Int(-1)), 0)]
#[case("lastIndexOf", &[String("tacocat"), String("t"), Int(-1)], Err("index out of range: -1"), 0)]
#[case("lastIndexOf", &[String("ta©o©αT"), String("©"), Int(3)], Ok(Int(2)), 1)]
#[case("lastIndexOf", &[String("ta©o©αT"), String("©")], Ok(Int(4)), 1)]
#[case("lastIndexOf", &[String("é"), String("ab")], Ok(Int(-1)), 0)]
#[case("lastIndexOf", &[String("aaé"), String("a"), Int(1)], Ok(Int(1)), 0)]
#[case("lastIndexOf", &[String("aaéaa"), String("aa"), Int(2)], Ok(Int(0)), 0)]
#[case("lastIndexOf", &[String(""), String("a")], Ok(Int(-1)), 0)]
#[case("join", &[ABC], Ok(String("abc")), 1)]
#[case("join", &[ABC, String(", ")], Ok(String("a, b, c")), 2)]
#[case("join", &[List(&[]), String(",")], Ok(String("")), 0)]
#[case("join", &[List(&[Int(1)])], Err("no such overload"), 0)]
#[case("join", &[List(&[String("a"), Int(1)])], Err("join: invalid input: 1"), 1)]
#[case("lowerAscii", &[String("TacoCÆt Xii")], Ok(String("tacocÆt xii")), 2)]
#[case("upperAscii", &[String("aé")], Ok(String("Aé")), 1)]
#[case("trim", &[String("\u{c}\n\r\t\u{b}text\u{85}\u{2000}\u{3000}")], Ok(String("text")), 2)]
#[case("trim", &[String("\u{feff}x\u{200b}")], Ok(String("\u{feff}x\u{200b}")), 1)]
#[case("replace", &[String("hello hello"), String("he"), String("we")], Ok(String("wello wello")), 3)]
#[case("replace", &[String("hello hello"), String("he"), String("we"), Int(1)], Ok(String("wello hello")), 3)]
#[case("replace", &[String("hello hello"), String("he"), String("we"), Int(0)], Ok(String("hello hello")), 3)]
#[case("replace", &[String("hello hello"), String("he"), String("we"), Int(-1)], Ok(String("wello wello")), 3)]
#[case("replace", &[String("né"), String(""), String("_")], Ok(String("_n_é_")), 1)]
#[case("replace", &[String("hello"), String(""), String("_"), Int(2)], Ok(String("_h_ello")), 1)]
#[case("replace", &[String("hello"), String("l"), String("")], Ok(String("heo")), 1)]
#[case("split", &[String("a,b,c"), String(",")], Ok(ABC), 1)]
#[case("split", &[String("a,b,c"), String(","), Int(0)], Ok(List(&[])), 1)]
#[case("split", &[String("a,b,c"), String(","), Int(1)], Ok(List(&[String("a,b,c")])), 1)]
#[case("split", &[String("a,b,c"), String(","), Int(2)], Ok(List(&[String("a"), String("b,c")])), 1)]
#[case("split", &[String("a,b,c"), String(","), Int(-1)], Ok(ABC), 1)]
#[case("split", &[String("abc"), String("")], Ok(ABC), 1)]
#[case("split", &[String("abc"), String(""), Int(2)], Ok(List(&[String("a"), String("bc")])), 1)]
#[case("split", &[String(""), String("")], Ok(List(&[])), 0)]
#[case("split", &[String(""), String(","), Int(1)], Ok(List(&[String("")])), 0)]
#[case("split", &[String(","), String(",")], Ok(List(&[String(""), String("")])), 1)]
#[case("substring", &[String("tacocat"), Int(4)], Ok(String("cat")), 1)]
#[case("substring", &[String("tacocat"), Int(7)], Ok(String("")), 1)]
#[case("substring", &[String("tacocat"), Int(8)], Err("index out of range: 8"), 1)]
#[case("substring", &[String("tacocat"), Int(-1)], Err("index out of range: -1"), 1)]
#[case("substring", &[String("ta©o©αT"), Int(2), Int(5)], Ok(String("©o©")), 1)]
#[case("substring", &[String("tacocat"), Int(2), Int(1)], Err("invalid substring range. start: 2, end: 1"), 1)]
#[case("substring", &[String("tacocat"), Int(-2), Int(-1)], Err("index out of range: -2"), 1)]
#[case("substring", &[String("tacocat"), Int(0), Int(8)], Err("index out of range: 8"), 1)]
#[case("substring", &[String("tacocat"), Int(9), Int(9)], Err("index out of range: 9"), 1)]
#[case("substring", &[String("tacocat"), Int(0), Int(i64::MAX)], Err("index out of range: 9223372036854775807"), 1)]
#[case("substring", &[String("tacocat"), Int(i64::MIN), Int(i64::MAX)], Err("index out of range: -9223372036854775808"), 1)]
fn strings_answer_as_in_version_2(
    #[case] function: &str,
    #[case] args: &[Value<'static>],
    #[case] expected: Result<Value<'static>, &str>,
    #[case] cost: u64,
) {
    check(function, Form::Member, args, expected, cost);
}

#[rstest]
#[case("a\"b\n\t\\", r#""a\"b\n\t\\""#, 1)]
#[case("\u{7}\u{8}\u{c}\u{b}\r", r#""\a\b\f\v\r""#, 1)]
#[case("\u{1}né\u{7f}abcdefg", "\"\u{1}né\u{7f}abcdefg\"", 2)]
fn quote_escapes_what_cel_has_escapes_for(
    #[case] text: &'static str,
    #[case] expected: &'static str,
    #[case] cost: u64,
) {
    check("strings.quote", Form::Global, &[String(text)], Ok(String(expected)), cost);
}

#[test]
fn a_replacement_that_explodes_hits_the_limit_of_memory() {
    let arena = Arena::with_limit(1 << 20);
    let long = "x".repeat(100_000);
    let args = [String(&long), String(""), String(&long)];
    let mut meter = Meter::new(u64::MAX);
    let mut call = Call { arena: &arena, meter: &mut meter, prepared: None, authorizer: None };
    assert_eq!(replace(&mut call, &args).unwrap_err().kind, ErrorKind::Memory);
}
