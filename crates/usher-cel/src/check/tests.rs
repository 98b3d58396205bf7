//! What the comparison with cel-go in `tests/kubernetes_library.rs` does not show: helps, containers, limits.

use std::time::{Duration, Instant};

use rstest::rstest;

use crate::check::Type;
use crate::{Env, Issues};

fn env() -> Env {
    let mut env = Env::new();
    env.declare("object");
    env.declare_typed("person", Type::object("test.Person", [("name", Type::String), ("age", Type::Int)]));
    env.declare_typed("variables.images", Type::list(Type::String));
    env
}

fn refused(source: &str) -> Issues {
    env().compile(source).expect_err(source)
}

#[rstest]
#[case::name("objct.a", "did you mean `object`?")]
#[case::function("sze('a')", "did you mean `size`?")]
#[case::member_as_global(
    "startsWith('a', 'b')",
    "`startsWith` is a member function: write `x.startsWith(…)`"
)]
#[case::global_as_member("'1'.int()", "`int` is no member function: write `int(x)`")]
#[case::field("person.nme", "did you mean `name`?")]
#[case::no_field("person.x", "the fields are name, age")]
#[case::mixed("[1, 'a']", "elements of a literal must have one type; wrap each one in dyn()")]
fn a_mistake_comes_with_help(#[case] source: &str, #[case] help: &str) {
    assert_eq!(refused(source).0[0].help.as_deref(), Some(help));
}

#[test]
fn everything_that_is_wrong_is_reported_once_in_the_order_of_the_text() {
    let issues = refused("a + 1 == b && person.name > 1 || ['x', 2].all(c, c.d())");
    let messages: Vec<&str> = issues.0.iter().map(|issue| issue.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "undeclared reference to 'a' (in container '')",
            "undeclared reference to 'b' (in container '')",
            "found no matching overload for '_>_' applied to '(string, int)'",
            "undeclared reference to 'd' (in container '')",
        ]
    );
}

#[rstest]
#[case("object.a", "dyn")]
#[case("variables.images", "list(string)")]
#[case("has(variables.images)", "bool")]
#[case("variables.images.map(i, {i: person.age})", "list(map(string, int))")]
#[case("[1].all(person, person == 1)", "bool")]
#[case("object.?a.optMap(x, x + 1)", "optional_type(int)")]
#[case("type(person)", "type(test.Person)")]
fn expressions_have_types(#[case] source: &str, #[case] ty: &str) {
    let program = env().compile(source).unwrap_or_else(|issues| panic!("{issues}"));
    assert_eq!(program.result_type().to_string(), ty);
}

#[test]
fn names_are_looked_for_in_the_container_first() {
    let mut env = Env::new().with_container("a.b");
    env.declare_typed("a.b.x", Type::Int);
    env.declare_typed("a.x", Type::String);
    env.declare_typed("x", Type::Bool);
    let type_of = |source: &str| env.compile(source).map(|program| program.result_type().clone());
    assert_eq!(type_of("x"), Ok(Type::Int));
    assert_eq!(type_of(".x"), Ok(Type::Bool));
    assert_eq!(type_of("y").unwrap_err().0[0].message, "undeclared reference to 'y' (in container 'a.b')");
}

#[test]
fn without_type_checks_everything_is_dyn() {
    let program = Env::new().without_type_checks().compile("1 + 'a' == unknown").unwrap();
    assert_eq!(*program.result_type(), Type::Dyn);
}

#[rstest]
#[case::sums("1", " + 1")]
#[case::empty_lists("[]", " + []")]
#[case::lists_of_empty_lists("[[], []]", " + [[], []]")]
#[case::fields("object", ".a")]
#[case::calls("object", ".map(x, {x: x})")]
#[case::growing_lists("[1]", ".map(x, [x])")]
#[case::terms("true", " && object.a == 'b'")]
#[case::errors("1", " + 'a' + x")]
#[case::unknown_in_scope("optional.of([])", ".optMap(x, x + [])")]
#[case::alternatives("object.a", " in ['a', object.b] || object.a")]
fn long_texts_are_checked_in_time(#[case] start: &str, #[case] more: &str) {
    let source = start.to_owned() + &more.repeat(60_000 / more.len());
    // The parser has limits of its own; shorter texts pass them.
    let ast = [1, 2, 4, 8, 16, 32, 64, 128, 256, 1024].iter().find_map(|part| {
        let count = 60_000 / more.len() / part;
        crate::parse::parse(&source[..start.len() + count * more.len()]).ok()
    });
    let ast = ast.expect("a part of it can be parsed");
    let begun = Instant::now();
    let _ = super::check(&ast, &env());
    // 50 ms with optimisation; tests run without, beside others.
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn a_chain_of_unknown_types_is_followed_to_its_end() {
    let source = format!("[[]].map(x, x{})", " + [] + x".repeat(100));
    let compiled = env().compile(&source);
    assert!(
        compiled.is_ok(),
        "{}",
        compiled.err().map(|issues| issues.0[0].message.clone()).unwrap_or_default()
    );
}
