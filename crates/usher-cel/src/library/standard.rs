//! Standard functions that are neither conversions nor accessors of time: `size`, `contains`, `startsWith`, `endsWith`, `matches`.
//! cel-go `common/stdlib`; costs as its `interpreter/runtimecost.go`.

use super::cost;
use super::overload::{Call, Form, Implementation, Overload, Prepared, Ty};
use super::re2::{self, RegexBudget};
use crate::eval::{EvalError, EvalResult, Value, actual_size};

const STRINGS: &[Ty] = &[Ty::String, Ty::String];
const LIST: &[Ty] = &[Ty::List(&Ty::Param("A"))];
const MAP: &[Ty] = &[Ty::Map(&Ty::Param("A"), &Ty::Param("B"))];

pub(super) const OVERLOADS: &[Overload] = &[
    overload("size", Form::Global, &[Ty::Bytes], Ty::Int, size),
    overload("size", Form::Global, LIST, Ty::Int, size),
    overload("size", Form::Global, MAP, Ty::Int, size),
    overload("size", Form::Global, &[Ty::String], Ty::Int, size),
    overload("size", Form::Member, &[Ty::Bytes], Ty::Int, size),
    overload("size", Form::Member, LIST, Ty::Int, size),
    overload("size", Form::Member, MAP, Ty::Int, size),
    overload("size", Form::Member, &[Ty::String], Ty::Int, size),
    overload("contains", Form::Member, STRINGS, Ty::Bool, contains),
    overload("startsWith", Form::Member, STRINGS, Ty::Bool, starts_with).from_1_37(),
    overload("startsWith", Form::Member, STRINGS, Ty::Bool, starts_with_by_text).before_1_37(),
    overload("endsWith", Form::Member, STRINGS, Ty::Bool, ends_with).from_1_37(),
    overload("endsWith", Form::Member, STRINGS, Ty::Bool, ends_with_by_text).before_1_37(),
    overload("matches", Form::Global, STRINGS, Ty::Bool, matches).with_prepare(prepare_pattern).from_1_37(),
    overload("matches", Form::Global, STRINGS, Ty::Bool, matches_for_one)
        .with_prepare(prepare_pattern)
        .before_1_37(),
    overload("matches", Form::Member, STRINGS, Ty::Bool, matches).with_prepare(prepare_pattern),
];

const fn overload(
    name: &'static str,
    form: Form,
    params: &'static [Ty],
    result: Ty,
    call: Implementation,
) -> Overload {
    Overload { name, form, params, result, since: 23, until: u8::MAX, call, prepare: None }
}

fn size<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let value = args.first().ok_or_else(EvalError::no_such_overload)?;
    Ok(Value::Int(i64::try_from(actual_size(value)).unwrap_or(i64::MAX)))
}

fn contains<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, part) = strings(args)?;
    call.charge(cost::contains(cost::size(text), cost::size(part)))?;
    Ok(Value::Bool(text.contains(part)))
}

/// Only the prefix is looked at, and only that is charged.
fn starts_with<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, prefix) = strings(args)?;
    call.charge(cost::traversal(cost::size(prefix)))?;
    Ok(Value::Bool(text.starts_with(prefix)))
}

fn ends_with<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, suffix) = strings(args)?;
    call.charge(cost::traversal(cost::size(suffix)))?;
    Ok(Value::Bool(text.ends_with(suffix)))
}

/// As [`starts_with`], which up to Kubernetes 1.36 costs by the text, of which it does not look at more than the prefix either.
fn starts_with_by_text<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, prefix) = strings(args)?;
    call.charge(cost::traversal(cost::size(text)))?;
    Ok(Value::Bool(text.starts_with(prefix)))
}

/// As [`ends_with`], up to Kubernetes 1.36.
fn ends_with_by_text<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, suffix) = strings(args)?;
    call.charge(cost::traversal(cost::size(text)))?;
    Ok(Value::Bool(text.ends_with(suffix)))
}

/// A pattern that is no constant is compiled in every call, as in Kubernetes. Nothing is kept: a cache would hold memory that no limit
/// counts.
fn matches<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, pattern) = strings(args)?;
    call.charge(cost::regex(cost::size(text), cost::size(pattern)))?;
    search(call, text, pattern)
}

/// `matches(text, pattern)` up to Kubernetes 1.36, which charges nothing for the search; so it counts as work.
fn matches_for_one<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, pattern) = strings(args)?;
    call.charge(1)?;
    call.meter.work(cost::regex(cost::size(text), cost::size(pattern)))?;
    search(call, text, pattern)
}

fn search<'a>(call: &mut Call<'_, '_, 'a>, text: &str, pattern: &str) -> EvalResult<'a> {
    if let Some(Prepared::Regex(regex)) = call.prepared {
        return Ok(Value::Bool(regex.is_match(text)));
    }
    call.meter.check_interrupt()?;
    let regex = re2::compile(pattern, &RegexBudget::default()).map_err(EvalError::invalid)?;
    Ok(Value::Bool(regex.is_match(text)))
}

/// Kubernetes refuses wrong literal patterns when the expression is compiled (`cel.ValidateRegexLiterals`).
fn prepare_pattern(constants: &[Option<&str>], budget: &RegexBudget) -> Result<Option<Prepared>, String> {
    let [_, Some(pattern)] = constants else { return Ok(None) };
    let regex = re2::compile(pattern, budget)?;
    Ok(Some(Prepared::Regex(regex)))
}

fn strings<'a>(args: &[Value<'a>]) -> Result<(&'a str, &'a str), Box<EvalError>> {
    match args {
        [Value::String(a), Value::String(b)] => Ok((a, b)),
        _ => Err(EvalError::no_such_overload()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::{Library, check};
    use super::*;
    use Value::{Bool, Bytes, Int, List, Null, String};

    #[rstest]
    #[case(String("né☃"), Ok(Int(3)))]
    #[case(Bytes("né☃".as_bytes()), Ok(Int(6)))]
    #[case(List(&[Null, Null]), Ok(Int(2)))]
    #[case(Value::Map(crate::eval::Map::EMPTY), Ok(Int(0)))]
    #[case(Int(1), Err("no such overload"))]
    fn size_counts_code_points_bytes_items_entries(
        #[case] value: Value<'static>,
        #[case] expected: Result<Value<'static>, &str>,
    ) {
        check("size", Form::Global, &[value], expected, 1);
        check("size", Form::Member, &[value], expected, 1);
    }

    #[rstest]
    #[case("contains", "0123456789x", "123", true, 2)]
    #[case("contains", "0123456789x", "", true, 0)]
    #[case("contains", "abc", "d", false, 1)]
    #[case("startsWith", "0123456789x", "012", true, 1)]
    #[case("startsWith", "é", "\u{c3}", false, 1)]
    #[case("endsWith", "0123456789x", "", true, 0)]
    #[case("endsWith", "0123456789x", "0123456789x", true, 2)]
    #[case("matches", "0123456789x", "^0.*x$", true, 4)]
    #[case("matches", "0123456789x", "^1", false, 2)]
    #[case("matches", "", "", true, 0)]
    fn tests_of_strings_cost_what_cel_go_charges(
        #[case] function: &str,
        #[case] text: &'static str,
        #[case] other: &'static str,
        #[case] expected: bool,
        #[case] cost: u64,
    ) {
        check(function, Form::Member, &[String(text), String(other)], Ok(Bool(expected)), cost);
    }

    #[test]
    fn a_constant_pattern_is_compiled_once() {
        let overload =
            &super::super::find("matches", Form::Member, crate::KubernetesVersion::NEWEST).unwrap()[0];
        let prepare = overload.prepare.unwrap();
        let prepared = prepare(&[None, Some("^a+$")], &RegexBudget::default()).unwrap();
        let library = Library::default();
        let args = [String("aaa"), String("^a+$")];
        assert!(matches!(library.call("matches", Form::Member, &args, prepared.as_ref()), Ok(Bool(true))));
        assert!(prepare(&[Some("a"), None], &RegexBudget::default()).unwrap().is_none());
        let error = prepare(&[None, Some("[")], &RegexBudget::default()).unwrap_err();
        assert_eq!(error, "error parsing regexp: missing closing ]: `[`");
    }

    #[test]
    fn a_wrong_pattern_is_an_error_of_the_call() {
        let args = [String("a"), String("a**")];
        let expected = "error parsing regexp: invalid nested repetition operator: `**`";
        check("matches", Form::Global, &args, Err(expected), 0);
    }
}
