//! URLs as Go's `net/url` reads them. No crate is used: they follow the WHATWG standard, which repairs what Go refuses, lower-cases hosts
//! and drops default ports.
//!
//! Text that is not UTF-8 after unescaping is kept with U+FFFD in place of the bytes, since CEL strings are UTF-8.

use std::borrow::Cow;

use super::address;
use super::quote::Quoted;

/// The parts of a URL that expressions can ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParsedUrl<'t> {
    /// Lower case.
    pub(super) scheme: String,
    /// With port and brackets, unescaped.
    pub(super) host: Cow<'t, str>,
    pub(super) escaped_path: Cow<'t, str>,
    pub(super) raw_query: &'t str,
    /// The whole URL put together again: equality is that of this text.
    pub(super) canonical: String,
}

/// An absolute URI or an absolute path, as in the first line of an HTTP request. `url.ParseRequestURI`.
///
/// # Errors
/// Go's text.
pub(super) fn check_request_uri(text: &str) -> Result<(), String> {
    parse_parts(text, true).map(|_| ()).map_err(|why| explain(text, &why))
}

/// Any URL; what follows a `#` is the fragment. `url.Parse`.
///
/// # Errors
/// Go's text.
pub(super) fn parse(text: &str) -> Result<ParsedUrl<'_>, String> {
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let parts = parse_parts(rest, false).map_err(|why| explain(rest, &why))?;
    let fragment = escaped(fragment, Part::Fragment).map_err(|why| explain(text, &why))?;
    let canonical = parts.canonical(&fragment);
    Ok(ParsedUrl {
        scheme: parts.scheme,
        host: lossy(parts.host),
        escaped_path: parts.escaped_path,
        raw_query: parts.raw_query,
        canonical,
    })
}

/// Host without port and brackets, and the port. `URL.Hostname`, `URL.Port`.
pub(super) fn split_host(host: &str) -> (&str, &str) {
    let (mut name, mut port) = (host, "");
    if let Some(colon) = host.rfind(':')
        && is_optional_port(&host[colon..])
    {
        (name, port) = (&host[..colon], &host[colon + 1..]);
    }
    if let Some(inner) = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        name = inner;
    }
    (name, port)
}

/// Keys and values of a query in order. Pairs with a semicolon or a bad escape are left out, and so is everything when there are more
/// pairs than Go's limit. `URL.Query`.
pub(super) fn query_pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    const MAX_PAIRS: usize = 10_000;
    let query = if query.bytes().filter(|byte| *byte == b'&').count() < MAX_PAIRS { query } else { "" };
    query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')).filter_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let unescape = |text| unescape(text, Part::Query).ok().map(lossy);
        Some((unescape(key)?, unescape(value)?))
    })
}

struct Parts<'t> {
    scheme: String,
    opaque: &'t str,
    /// Escaped again; `None` when there is no `@`.
    user: Option<String>,
    /// Unescaped, maybe not UTF-8.
    host: Cow<'t, [u8]>,
    omits_host: bool,
    escaped_path: Cow<'t, str>,
    has_query: bool,
    raw_query: &'t str,
}

fn parse_parts(text: &str, is_request: bool) -> Result<Parts<'_>, String> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err("net/url: invalid control character in URL".into());
    }
    if text.is_empty() && is_request {
        return Err("empty url".into());
    }
    let mut parts = Parts {
        scheme: String::new(),
        opaque: "",
        user: None,
        host: Cow::Borrowed(b""),
        omits_host: false,
        escaped_path: Cow::Borrowed(""),
        has_query: false,
        raw_query: "",
    };
    if text == "*" {
        parts.escaped_path = Cow::Borrowed("*");
        return Ok(parts);
    }
    let (scheme, rest) = split_scheme(text)?;
    parts.scheme = scheme.to_ascii_lowercase();
    let (mut rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    parts.raw_query = query.unwrap_or_default();
    // Go keeps a `?` with nothing behind it.
    parts.has_query = query.is_some();
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            parts.opaque = rest;
            return Ok(parts);
        }
        if is_request {
            return Err("invalid URI for request".into());
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".into());
        }
    }
    let may_have_host = !scheme.is_empty() || !is_request && !rest.starts_with("///");
    if let Some(authority) = rest.strip_prefix("//").filter(|_| may_have_host) {
        let end = authority.find('/').unwrap_or(authority.len());
        rest = &authority[end..];
        (parts.user, parts.host) = parse_authority(&parts.scheme, &authority[..end])?;
    } else {
        parts.omits_host = !scheme.is_empty() && rest.starts_with('/');
    }
    parts.escaped_path = escaped(rest, Part::Path)?;
    Ok(parts)
}

impl Parts<'_> {
    /// `URL.String`.
    fn canonical(&self, fragment: &str) -> String {
        let mut text = String::new();
        if !self.scheme.is_empty() {
            text += &self.scheme;
            text.push(':');
        }
        if self.opaque.is_empty() {
            let has_authority = !self.host.is_empty() || self.user.is_some();
            let has_path = !self.escaped_path.is_empty();
            if has_authority || !self.scheme.is_empty() && !self.omits_host && has_path {
                text += "//";
                if let Some(user) = &self.user {
                    text += user;
                    text.push('@');
                }
                text += &escape(&self.host, Part::Host);
            }
            text += &self.escaped_path;
        } else {
            text += self.opaque;
        }
        if self.has_query {
            text.push('?');
            text += self.raw_query;
        }
        if !fragment.is_empty() {
            text.push('#');
            text += fragment;
        }
        text
    }
}

fn explain(url: &str, why: &str) -> String {
    format!("parse {}: {why}", Quoted(url))
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_authority<'t>(scheme: &str, authority: &'t str) -> Result<(Option<String>, Cow<'t, [u8]>), String> {
    let Some((user, host)) = authority.rsplit_once('@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let host = parse_host(scheme, host)?;
    let is_user = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !user.bytes().all(is_user) {
        return Err("net/url: invalid userinfo".into());
    }
    let again = |text| Ok::<_, String>(escape(&unescape(text, Part::UserInfo)?, Part::UserInfo).into_owned());
    let user = match user.split_once(':') {
        Some((name, password)) => format!("{}:{}", again(name)?, again(password)?),
        None => again(user)?,
    };
    Ok((Some(user), host))
}

fn parse_host<'t>(scheme: &str, host: &'t str) -> Result<Cow<'t, [u8]>, String> {
    match host.rfind('[') {
        Some(0) => return parse_bracketed_host(host),
        Some(_) => return Err("invalid IP-literal".into()),
        None => {}
    }
    if let Some(first) = host.find(':') {
        // Some databases use lists of hosts with ports; Go is strict only where the web is concerned.
        let colon = if matches!(scheme, "http" | "https") { first } else { host.rfind(':').unwrap_or(first) };
        check_port(&host[colon..])?;
    }
    unescape(host, Part::Host)
}

/// `[fe80::1%25en0]:80`: behind `%25` stands a zone, which may be escaped more freely than the rest.
fn parse_bracketed_host(host: &str) -> Result<Cow<'_, [u8]>, String> {
    let close = host.rfind(']').ok_or("missing ']' in host")?;
    let (name, port) = (&host[1..close], &host[close + 1..]);
    check_port(port)?;
    let name = match name.find("%25") {
        Some(zone) => {
            let addr = lossy(unescape(&name[..zone], Part::Host)?);
            format!("{addr}{}", lossy(unescape(&name[zone..], Part::Zone)?))
        }
        None => lossy(unescape(name, Part::Host)?).into_owned(),
    };
    let (addr, _) = address::parse_addr(&name).map_err(|why| format!("invalid host: {why}"))?;
    if addr.is_ipv4() {
        return Err("invalid IP-literal".into());
    }
    Ok(Cow::Owned(format!("[{name}]{port}").into_bytes()))
}

fn check_port(port: &str) -> Result<(), String> {
    if is_optional_port(port) { Ok(()) } else { Err(format!("invalid port {} after host", Quoted(port))) }
}

fn is_optional_port(port: &str) -> bool {
    port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Which rules of escaping hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Host,
    Zone,
    UserInfo,
    Query,
    Fragment,
}

/// A path or fragment in escaped form: as it was written if that is valid, else in the one escaping that Go makes.
fn escaped(text: &str, part: Part) -> Result<Cow<'_, str>, String> {
    let plain = unescape(text, part)?;
    let is_valid = |byte: u8| {
        matches!(byte, b'!' | b'\'' | b'(' | b')' | b'*' | b'[' | b']' | b'%') || is_plain(byte, part)
    };
    let is_delimiter = |byte: u8| matches!(byte, b'$' | b'&' | b'+' | b',' | b';' | b'=' | b':' | b'@');
    if text.bytes().all(|byte| is_valid(byte) || is_delimiter(byte)) {
        return Ok(Cow::Borrowed(text));
    }
    Ok(Cow::Owned(escape(&plain, part).into_owned()))
}

fn unescape(text: &str, part: Part) -> Result<Cow<'_, [u8]>, String> {
    let bytes = text.as_bytes();
    let mut plain = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                let Some(byte) = hex_pair(&bytes[at + 1..]) else {
                    // Go cuts at the byte; cut before a code point that would be torn.
                    let end = (at..=(at + 3).min(bytes.len())).rev().find(|end| text.is_char_boundary(*end));
                    return Err(bad_escape(&text[at..end.unwrap_or(at)]));
                };
                let is_percent = byte == b'%';
                let is_bad = match part {
                    Part::Host => byte < 0x80 && !is_percent,
                    Part::Zone => !is_percent && byte != b' ' && !is_plain(byte, Part::Host),
                    _ => false,
                };
                if is_bad {
                    return Err(bad_escape(&text[at..at + 3]));
                }
                plain.push(byte);
                at += 3;
            }
            byte => {
                let in_host = matches!(part, Part::Host | Part::Zone);
                if in_host && byte.is_ascii() && !is_plain(byte, part) {
                    return Err(format!("invalid character {} in host name", Quoted(&text[at..=at])));
                }
                plain.push(if byte == b'+' && part == Part::Query { b' ' } else { byte });
                at += 1;
            }
        }
    }
    Ok(if plain == bytes { Cow::Borrowed(bytes) } else { Cow::Owned(plain) })
}

fn bad_escape(text: &str) -> String {
    format!("invalid URL escape {}", Quoted(text))
}

fn hex_pair(bytes: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let [high, low, ..] = bytes else { return None };
    Some(digit(*high)? << 4 | digit(*low)?)
}

fn escape(bytes: &[u8], part: Part) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && bytes.iter().all(|byte| is_plain(*byte, part))
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::new();
    for byte in bytes {
        if is_plain(*byte, part) {
            text.push(char::from(*byte));
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    Cow::Owned(text)
}

/// Whether a byte stands for itself. Go `shouldEscape`.
fn is_plain(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
        return true;
    }
    match part {
        Part::Host | Part::Zone => b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Part::Path => b"$&+,/:;=@".contains(&byte),
        Part::UserInfo => b"$&+,;=".contains(&byte),
        Part::Query => false,
        Part::Fragment => b"$&+,/:;=?@!()*".contains(&byte),
    }
}

fn lossy(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    match bytes {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

#[cfg(test)]
mod tests;
