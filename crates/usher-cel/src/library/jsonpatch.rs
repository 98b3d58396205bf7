//! JSON Patch: `jsonpatch.escapeKey`, one segment of a JSON Pointer (RFC 6901). apiserver `pkg/cel/library/jsonpatch.go`.

use super::cost;
use super::overload::{Call, Overload, Ty};
use crate::eval::{EvalError, EvalResult, Value};

/// Offered by Kubernetes in mutating policies only; the environment of an expression decides.
pub(super) const OVERLOADS: &[Overload] =
    &[Overload::global(32, "jsonpatch.escapeKey", &[Ty::String], Ty::String, escape_key)];

fn escape_key<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(key)] = *args else { return Err(EvalError::no_such_overload()) };
    call.charge(cost::traversal(cost::size(key)))?;
    if !key.contains(['~', '/']) {
        return Ok(Value::String(key));
    }
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = key;
    while let Some(at) = rest.find(['~', '/']) {
        parts.push(&rest[..at]);
        parts.push(if rest.as_bytes()[at] == b'~' { "~0" } else { "~1" });
        rest = &rest[at + 1..];
    }
    parts.push(rest);
    Ok(Value::String(call.arena.concat(&parts)?))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::{Library, show, string};

    #[rstest]
    #[case::nothing_to_escape("app", "app", 1)]
    #[case::slash("example.com/name", "example.com~1name", 2)]
    #[case::tilde("a~b", "a~0b", 1)]
    #[case::each_once("~1/~0", "~01~1~00", 1)]
    #[case::empty("", "", 0)]
    fn a_key_is_escaped_as_a_json_pointer_segment(
        #[case] key: &str,
        #[case] escaped: &str,
        #[case] cost: u64,
    ) {
        let library = Library::default();
        let answer = library.global("jsonpatch.escapeKey", &[string(key)]).expect("escapes");
        assert_eq!((show(Ok(answer)), library.spent()), (format!("{escaped:?}"), cost));
    }
}
