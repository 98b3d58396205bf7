//! Regular expressions: `find`, `findAll`. apiserver `pkg/cel/library/regex.go`; `matches` is a standard function.

use std::borrow::Cow;

use super::cost;
use super::overload::{Call, Overload, Prepared, Ty};
use super::re2::{self, Regex, RegexBudget};
use crate::eval::{EvalError, EvalResult, Value};

const SINCE: u8 = 24;
const TEXT_AND_PATTERN: &[Ty] = &[Ty::String, Ty::String];
const TEXTS: Ty = Ty::List(&Ty::String);

pub(super) const OVERLOADS: &[Overload] = &[
    Overload::member(SINCE, "find", TEXT_AND_PATTERN, Ty::String, find).with_prepare(prepare),
    Overload::member(SINCE, "findAll", TEXT_AND_PATTERN, TEXTS, find_all).with_prepare(prepare),
    Overload::member(SINCE, "findAll", &[Ty::String, Ty::String, Ty::Int], TEXTS, find_all)
        .with_prepare(prepare),
];

/// Compiles a constant pattern once. As in Kubernetes a wrong one is an error of the expression, not of its evaluation.
fn prepare(args: &[Option<&str>], budget: &RegexBudget) -> Result<Option<Prepared>, String> {
    match args {
        [_, Some(pattern), ..] => re2::compile(pattern, budget).map(|regex| Some(Prepared::Regex(regex))),
        _ => Ok(None),
    }
}

fn find<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(text), Value::String(pattern)] = *args else {
        return Err(EvalError::no_such_overload());
    };
    call.charge(cost::regex(cost::size(text), cost::size(pattern)))?;
    let regex = regex(call, pattern)?;
    Ok(Value::String(regex.find(text).unwrap_or_default()))
}

/// The third argument bounds the number of matches; a negative one does not.
fn find_all<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, pattern, limit) = match *args {
        [Value::String(text), Value::String(pattern)] => (text, pattern, None),
        [Value::String(text), Value::String(pattern), Value::Int(limit)] => {
            (text, pattern, usize::try_from(limit).ok())
        }
        _ => return Err(EvalError::no_such_overload()),
    };
    call.charge(cost::regex(cost::size(text), cost::size(pattern)))?;
    let regex = regex(call, pattern)?;
    let mut list = call.arena.list(0)?;
    // An empty match right behind another match does not count, in Go as in the crate.
    for found in regex.find_iter(text).take(limit.unwrap_or(usize::MAX)) {
        call.meter.tick()?;
        list.push(Value::String(found))?;
    }
    Ok(Value::List(list.finish()))
}

fn regex<'a>(call: &Call<'_, '_, 'a>, pattern: &str) -> Result<Cow<'a, Regex>, Box<EvalError>> {
    if let Some(Prepared::Regex(regex)) = call.prepared {
        return Ok(Cow::Borrowed(regex));
    }
    call.meter.check_interrupt()?;
    let regex = re2::compile(pattern, &RegexBudget::default());
    regex.map(Cow::Owned).map_err(|error| EvalError::invalid(format!("Illegal regex: {error}")))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::{Library, show, string};
    use super::*;
    use crate::library::Form;

    #[rstest]
    #[case("abc 123 def", "[0-9]+", r#""123""#, r#"["123"]"#, 8)]
    #[case("abc", "x", r#""""#, "[]", 2)]
    #[case("baaac", "a*", r#""""#, r#"["", "aaa", ""]"#, 2)]
    #[case("äöü", "", r#""""#, r#"["", "", "", ""]"#, 0)]
    #[case(
        "x",
        "(",
        "Illegal regex: error parsing regexp: missing closing ): `(`",
        "Illegal regex: error parsing regexp: missing closing ): `(`",
        2
    )]
    fn matches_are_found(
        #[case] text: &str,
        #[case] pattern: &str,
        #[case] first: &str,
        #[case] all: &str,
        #[case] cost: u64,
    ) {
        let library = Library::default();
        assert_eq!(show(library.member("find", &[string(text), string(pattern)])), first);
        assert_eq!(show(library.member("findAll", &[string(text), string(pattern)])), all);
        assert_eq!(library.spent(), cost);
    }

    #[rstest]
    #[case(-1, r#"["a", "b", "c"]"#)]
    #[case(0, "[]")]
    #[case(2, r#"["a", "b"]"#)]
    #[case(i64::MAX, r#"["a", "b", "c"]"#)]
    fn the_number_of_matches_can_be_bounded(#[case] limit: i64, #[case] expected: &str) {
        let library = Library::default();
        let answer = library.member("findAll", &[string("abc"), string("[a-z]"), Value::Int(limit)]);
        assert_eq!(show(answer), expected);
    }

    #[test]
    fn a_constant_pattern_is_compiled_beforehand() {
        let prepared =
            prepare(&[None, Some("b+")], &RegexBudget::default()).expect("compiles").expect("is constant");
        let library = Library::default();
        // The pattern of the call is not looked at any more.
        let answer = library.call("find", Form::Member, &[string("abbc"), string("(")], Some(&prepared));
        assert_eq!(show(answer), r#""bb""#);
        assert!(
            prepare(&[Some("text"), None], &RegexBudget::default()).expect("nothing to compile").is_none()
        );
        assert_eq!(
            prepare(&[None, Some("(")], &RegexBudget::default()).unwrap_err(),
            "error parsing regexp: missing closing ): `(`"
        );
    }
}
