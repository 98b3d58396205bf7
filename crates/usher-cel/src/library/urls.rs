//! URLs: `url`, `isURL` and their parts. apiserver `pkg/cel/library/urls.go`.
//!
//! Accepted are absolute URIs and absolute paths.

use std::borrow::Cow;
use std::collections::HashMap;

use super::opaque::OpaqueValue;
use super::overload::{Call, Overload, Ty};
use super::{cost, net_url};
use crate::eval::{Arena, Entry, EvalError, EvalResult, Map, Value};

const TYPE: Ty = Ty::Opaque("kubernetes.URL");

const SINCE: u8 = 24;
const TEXT: &[Ty] = &[Ty::String];
const URL: &[Ty] = &[TYPE];

pub(super) const OVERLOADS: &[Overload] = &[
    Overload::global(SINCE, "url", TEXT, TYPE, url),
    Overload::global(SINCE, "isURL", TEXT, Ty::Bool, is_url),
    Overload::member(SINCE, "getScheme", URL, Ty::String, |call, args| part(call, args, |url| url.scheme)),
    Overload::member(SINCE, "getHost", URL, Ty::String, |call, args| part(call, args, |url| url.host)),
    Overload::member(SINCE, "getHostname", URL, Ty::String, |call, args| {
        part(call, args, |url| net_url::split_host(url.host).0)
    }),
    Overload::member(SINCE, "getPort", URL, Ty::String, |call, args| {
        part(call, args, |url| net_url::split_host(url.host).1)
    }),
    Overload::member(SINCE, "getEscapedPath", URL, Ty::String, |call, args| {
        part(call, args, |url| url.escaped_path)
    }),
    Overload::member(SINCE, "getQuery", URL, Ty::Map(&Ty::String, &Ty::List(&Ty::String)), get_query),
];

/// A parsed URL in the arena.
#[derive(Clone, Copy, Debug)]
pub struct Url<'a> {
    scheme: &'a str,
    host: &'a str,
    escaped_path: &'a str,
    raw_query: &'a str,
    /// What equality compares.
    pub(super) canonical: &'a str,
}

fn url<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(text)] = *args else { return Err(EvalError::no_such_overload()) };
    call.charge(cost::traversal(cost::size(text)))?;
    let parsed = net_url::check_request_uri(text).and_then(|()| net_url::parse(text)).map_err(|error| {
        EvalError::invalid(format!("URL parse error during conversion from string: {error}"))
    })?;
    let url = Url {
        scheme: call.arena.alloc_str(&parsed.scheme)?,
        host: keep(call.arena, parsed.host)?,
        escaped_path: keep(call.arena, parsed.escaped_path)?,
        raw_query: parsed.raw_query,
        canonical: call.arena.alloc_str(&parsed.canonical)?,
    };
    OpaqueValue::Url(url).into_value(call.arena)
}

fn is_url<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(text)] = *args else { return Err(EvalError::no_such_overload()) };
    // Upstream names no cost for it, which means one unit.
    call.charge(1)?;
    Ok(Value::Bool(net_url::check_request_uri(text).is_ok()))
}

fn part<'a>(
    call: &mut Call<'_, '_, 'a>,
    args: &[Value<'a>],
    part: fn(&Url<'a>) -> &'a str,
) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(Value::String(part(receiver(args)?)))
}

/// Keys in the order of their first appearance.
fn get_query<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let arena = call.arena;
    let mut by_key: HashMap<Cow<'a, str>, usize> = HashMap::new();
    let mut lists: Vec<(&'a str, Vec<Value<'a>>)> = Vec::new();
    for (key, value) in net_url::query_pairs(receiver(args)?.raw_query) {
        call.meter.tick()?;
        let value = Value::String(keep(arena, value)?);
        match by_key.get(&key) {
            Some(at) => lists[*at].1.push(value),
            None => {
                lists.push((keep(arena, key.clone())?, vec![value]));
                by_key.insert(key, lists.len() - 1);
            }
        }
    }
    let mut entries = arena.list(lists.len())?;
    for (key, values) in &lists {
        entries.push(Entry { key: Value::String(key), value: Value::List(arena.alloc_slice(values)?) })?;
    }
    Ok(Value::Map(Map::new(entries.finish(), arena)?))
}

fn keep<'a>(arena: &'a Arena, text: Cow<'a, str>) -> Result<&'a str, Box<EvalError>> {
    match text {
        Cow::Borrowed(text) => Ok(text),
        Cow::Owned(text) => arena.alloc_str(&text),
    }
}

fn receiver<'a>(args: &[Value<'a>]) -> Result<&'a Url<'a>, Box<EvalError>> {
    match args {
        [Value::Opaque(OpaqueValue::Url(url))] => Ok(url),
        _ => Err(EvalError::no_such_overload()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::{Library, show, string};

    #[rstest]
    #[case("getScheme", r#""https""#)]
    #[case("getHost", r#""example.com:80""#)]
    #[case("getHostname", r#""example.com""#)]
    #[case("getPort", r#""80""#)]
    #[case("getEscapedPath", r#""/a%20b""#)]
    #[case("getQuery", r#"{"k": ["1", "2"], "x": [""]}"#)]
    fn a_url_has_parts(#[case] part: &str, #[case] expected: &str) {
        let library = Library::default();
        let url = library.global("url", &[string("https://example.com:80/a b?k=1&x&k=2")]).expect("a URL");
        assert_eq!(library.spent(), 4);
        assert_eq!((show(library.member(part, &[url])), library.spent()), (expected.to_owned(), 5));
    }

    #[rstest]
    #[case("/path", "true")]
    #[case("https://a", "true")]
    #[case("path", "false")]
    #[case("https://a b", "false")]
    fn texts_are_judged(#[case] text: &str, #[case] is_url: &str) {
        assert_eq!(show(Library::default().global("isURL", &[string(text)])), is_url);
    }

    #[test]
    fn what_is_no_url_is_an_error() {
        let error = "URL parse error during conversion from string: parse \"../x\": invalid URI for request";
        assert_eq!(show(Library::default().global("url", &[string("../x")])), error);
    }

    #[rstest]
    #[case("HTTPS://a/b c", "https://a/b%20c", true)]
    #[case("https://a", "https://a/", false)]
    #[case("https://%ff", "https://%fe", false)]
    fn urls_are_equal_when_they_read_the_same(#[case] a: &str, #[case] b: &str, #[case] equal: bool) {
        let library = Library::default();
        let [a, b] = [a, b].map(|text| library.global("url", &[string(text)]).expect("a URL"));
        assert_eq!(crate::eval::equal(&a, &b), equal);
    }
}
