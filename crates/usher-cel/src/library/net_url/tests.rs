use rstest::rstest;

use super::*;

#[rstest]
#[case(
    "https://User:p%40ss@Example.com:80/a%2Fb/c d?q=1&r#frag",
    "https",
    "Example.com:80",
    "/a/b/c%20d",
    "q=1&r"
)]
#[case("https://a/b%2Fc", "https", "a", "/b%2Fc", "")]
#[case("/path?x=1", "", "", "/path", "x=1")]
#[case("//host/path", "", "host", "/path", "")]
#[case("HTTP://[::1]:8080", "http", "[::1]:8080", "", "")]
#[case("http://[fe80::1%25en0]/", "http", "[fe80::1%en0]", "/", "")]
#[case("mailto:a@b.c", "mailto", "", "", "")]
#[case("http://a?", "http", "a", "", "")]
#[case("*", "", "", "*", "")]
#[case("http://h/%C3%A4(x)[y]", "http", "h", "/%C3%A4(x)[y]", "")]
#[case("http://h/\"", "http", "h", "/%22", "")]
#[case("http://%C3%A4", "http", "ä", "", "")]
#[case("mongodb://a:1,b:2/db", "mongodb", "a:1,b:2", "/db", "")]
fn urls_have_parts(
    #[case] text: &str,
    #[case] scheme: &str,
    #[case] host: &str,
    #[case] path: &str,
    #[case] query: &str,
) {
    check_request_uri(text.split('#').next().unwrap_or_default()).expect("a request URI");
    let url = parse(text).expect("a URL");
    assert_eq!((&*url.scheme, &*url.host, &*url.escaped_path, url.raw_query), (scheme, host, path, query));
}

#[rstest]
#[case("", "empty url")]
#[case("path", "invalid URI for request")]
#[case("../x", "invalid URI for request")]
#[case(":x", "missing protocol scheme")]
#[case("http://a\n", "net/url: invalid control character in URL")]
#[case("http://a b/", "invalid character \" \" in host name")]
#[case("http://a/%zz", "invalid URL escape \"%zz\"")]
#[case("http://a/%2", "invalid URL escape \"%2\"")]
#[case("http://a%20/", "invalid URL escape \"%20\"")]
#[case("http://a:b/", "invalid port \":b\" after host")]
#[case("http://a:1:2/", "invalid port \":1:2\" after host")]
#[case("http://[::1/", "missing ']' in host")]
#[case("http://x[::1]/", "invalid IP-literal")]
#[case("http://[1.2.3.4]/", "invalid IP-literal")]
#[case("http://[x]/", "invalid host: ParseAddr(\"x\"): unable to parse IP")]
#[case("http://u|@a/", "net/url: invalid userinfo")]
fn what_is_no_request_uri_is_refused_in_gos_words(#[case] text: &str, #[case] why: &str) {
    assert_eq!(check_request_uri(text), Err(format!("parse {}: {why}", Quoted(text))));
}

#[rstest]
#[case("HTTP://h/p", "http://h/p")]
#[case("http://u:p@h", "http://u:p@h")]
#[case("http:/p", "http:/p")]
#[case("http:///p", "http:///p")]
#[case("http://h/a b?", "http://h/a%20b?")]
#[case("http://h#f g", "http://h#f%20g")]
#[case("http:", "http:")]
fn a_url_can_be_put_together_again(#[case] text: &str, #[case] canonical: &str) {
    assert_eq!(parse(text).expect("a URL").canonical, canonical);
}

#[rstest]
#[case("a:80", "a", "80")]
#[case("a", "a", "")]
#[case("[::1]:443", "::1", "443")]
#[case("[::1]", "::1", "")]
#[case("a:", "a", "")]
fn hosts_split_into_name_and_port(#[case] host: &str, #[case] name: &str, #[case] port: &str) {
    assert_eq!(split_host(host), (name, port));
}

#[test]
fn bad_pairs_of_a_query_are_left_out() {
    let pairs: Vec<_> = query_pairs("a=1+2&b=%zz&c;d=1&&e&=f&a=%C3%A4").collect();
    let pairs: Vec<_> = pairs.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(pairs, [("a", "1 2"), ("e", ""), ("", "f"), ("a", "ä")]);
}
