//! What differs between the versions of Kubernetes that expressions can be compiled for. The answers are those of the API server's code of 1.36,
//! which `tests/cluster/oracle-1.36` gives, and of 1.37.

use rstest::rstest;
use usher_cel::eval::Activation;
use usher_cel::{Arena, Env, EvalResult, KubernetesVersion, Meter, Value};

struct Object;

impl<'a> Activation<'a> for Object {
    fn variable(&self, _slot: u32, _meter: &mut Meter<'_>) -> EvalResult<'a> {
        Ok(Value::Int(5))
    }
}

fn env(version: &str) -> Env {
    let mut env = Env::new().for_version(version.parse().expect("a version"));
    env.declare("object");
    env
}

/// The value or the message of the error, and the cost.
fn evaluated(expression: &str, version: &str) -> (String, u64) {
    let program = env(version).compile(expression).expect("the expression is sound");
    let (arena, mut meter) = (Arena::default(), Meter::new(1_000_000));
    let answer = program.evaluate(&Object, &arena, &mut meter);
    let text = answer.map_or_else(|error| error.message, |value| value.to_string());
    (text, meter.spent())
}

#[rstest]
#[case::included("[1].includes(1)", "1.37", "includes")]
#[case::sorted("[2, 1].sort() == [1, 2]", "1.34", "sort")]
#[case::sorted_by("[2, 1].sortBy(x, x) == [1, 2]", "1.34", "sortBy")]
#[case::ranges("lists.range(3) == [0, 1, 2]", "1.34", "lists.range")]
#[case::versions("isSemver('1.0.0')", "1.33", "isSemver")]
#[case::two_variables("[1].all(i, x, x > i)", "1.32", "all")]
#[case::transformed("[1].transformList(i, x, x + i) == [1]", "1.32", "transformList")]
#[case::formats("format.named('uuid').hasValue()", "1.31", "format.named")]
fn what_is_too_new_is_an_error_that_names_its_version(
    #[case] expression: &str,
    #[case] since: &str,
    #[case] name: &str,
) {
    let since: KubernetesVersion = since.parse().expect("a version");
    for version in KubernetesVersion::all() {
        let answer = env(&version.to_string()).compile(expression);
        if version >= since {
            assert!(answer.is_ok(), "{version}: {answer:?}");
            continue;
        }
        let issues = answer.expect_err("it is too new");
        let expected =
            format!("`{name}` comes with Kubernetes {since}, and rules are compiled for {version}");
        assert!(
            issues.0.iter().any(|issue| issue.help.as_ref().is_some_and(|help| help.contains(&expected))),
            "{version}: {issues:?}"
        );
    }
}

#[test]
fn nothing_that_is_too_new_is_proposed() {
    let issues = env("1.36").compile("[1].include(1)").expect_err("there is no such function");
    assert_eq!(issues.0[0].help, None);
    let issues = env("1.37").compile("[1].include(1)").expect_err("there is no such function");
    assert_eq!(issues.0[0].help.as_deref(), Some("did you mean `includes`?"));
}

#[rstest]
#[case::fields("object.`a-b` == 1")]
#[case::tests_of_fields("has(object.`a-b`)")]
fn names_in_backquotes_come_with_1_37(#[case] expression: &str) {
    let issues = env("1.36").compile(expression).expect_err("it is too new");
    assert_eq!(issues.0[0].message, "unsupported syntax: '`'");
    let help = issues.0[0].help.as_deref().unwrap_or_default();
    assert!(help.contains("1.37") && help.contains("['a-b']"), "{help}");
    assert!(env("1.37").compile(expression).is_ok());
}

#[rstest]
#[case::or_value_of_no_optional("object.orValue(2)", ("5", 1), ("no such overload", 1))]
#[case::or_of_no_optional("object.or(optional.of(1))", ("5", 1), ("no such overload", 1))]
#[case::prefixes_cost_by_the_text("'a'.startsWith('0123456789a')", ("false", 1), ("false", 2))]
#[case::suffixes_cost_by_the_text("'0123456789a'.endsWith('a')", ("true", 2), ("true", 1))]
#[case::a_search_by_the_global_function("matches('a', '0123456789')", ("false", 1), ("false", 3))]
#[case::a_search_by_the_member("'a'.matches('0123456789')", ("false", 3), ("false", 3))]
fn answers_and_costs_are_those_of_the_version(
    #[case] expression: &str,
    #[case] old: (&str, u64),
    #[case] new: (&str, u64),
) {
    for (version, (text, cost)) in [("1.30", old), ("1.36", old), ("1.37", new)] {
        assert_eq!(evaluated(expression, version), (text.to_owned(), cost), "{version}");
    }
}

#[test]
fn durations_of_numbers_are_declared_up_to_1_36_and_never_work() {
    assert_eq!(
        evaluated("duration(int(object))", "1.36").0,
        "type conversion error from 'int' to 'google.protobuf.Duration'"
    );
    let text = |version: &str, expression: &str| {
        env(version).compile(expression).expect_err("there is none").0.remove(0).message
    };
    assert!(text("1.36", "duration(1)").starts_with("invalid duration argument"));
    assert!(text("1.37", "duration(1)").starts_with("found no matching overload"));
}
