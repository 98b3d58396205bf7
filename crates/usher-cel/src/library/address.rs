//! Text to IP address and CIDR by Go's rules and with Go's error texts. Go `net/netip`.
//!
//! `std::net` accepts and refuses the same addresses, but says only "invalid IP address syntax"; policy authors see these texts.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;

use super::quote::Quoted;

/// Why a text is no address: what is wrong and, if known, from where on.
struct Fault<'a> {
    message: &'static str,
    rest: &'a str,
}

fn fault<T>(message: &'static str) -> Result<T, Fault<'static>> {
    Err(Fault { message, rest: "" })
}

fn fault_at<'a, T>(message: &'static str, rest: &'a str) -> Result<T, Fault<'a>> {
    Err(Fault { message, rest })
}

/// An address and its zone, empty when there is none. `netip.ParseAddr`.
///
/// # Errors
/// Go's text.
pub(super) fn parse_addr(text: &str) -> Result<(IpAddr, &str), String> {
    parse_any(text).map_err(|Fault { message, rest }| {
        let place = if rest.is_empty() { String::new() } else { format!(" (at {})", Quoted(rest)) };
        format!("ParseAddr({}): {message}{place}", Quoted(text))
    })
}

/// An address and a prefix length; bits beyond the prefix are kept. `netip.ParsePrefix`.
///
/// # Errors
/// Go's text.
pub(super) fn parse_prefix(text: &str) -> Result<IpNet, String> {
    let refuse = |why: String| format!("netip.ParsePrefix({}): {why}", Quoted(text));
    let (addr, bits) = text.rsplit_once('/').ok_or_else(|| refuse("no '/'".into()))?;
    let (addr, zone) = parse_addr(addr).map_err(refuse)?;
    if !zone.is_empty() {
        return Err(refuse("IPv6 zones cannot be present in a prefix".into()));
    }
    let bad_bits = || refuse(format!("bad bits after slash: {}", Quoted(bits)));
    if bits.is_empty()
        || !bits.bytes().all(|byte| byte.is_ascii_digit())
        || bits.len() > 1 && bits.starts_with('0')
    {
        return Err(bad_bits());
    }
    // Go reads a 64-bit int first: what does not fit is bad, what is merely too large is out of range.
    let length: i64 = bits.parse().map_err(|_| bad_bits())?;
    u8::try_from(length)
        .ok()
        .and_then(|length| IpNet::new(addr, length).ok())
        .ok_or_else(|| refuse("prefix length out of range".into()))
}

fn parse_any(text: &str) -> Result<(IpAddr, &str), Fault<'_>> {
    match text.bytes().find(|byte| matches!(byte, b'.' | b':' | b'%')) {
        Some(b'.') => Ok((IpAddr::V4(parse_v4(text)?.into()), "")),
        Some(b':') => parse_v6(text).map(|(addr, zone)| (IpAddr::V6(addr), zone)),
        Some(_) => fault("missing IPv6 address"),
        None => fault("unable to parse IP"),
    }
}

fn parse_v4(text: &str) -> Result<[u8; 4], Fault<'_>> {
    let bytes = text.as_bytes();
    let mut fields = [0u8; 4];
    let (mut position, mut value, mut digits) = (0, 0u32, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return fault("IPv4 field has octet with leading zero");
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return fault("IPv4 field has value >255");
                }
            }
            b'.' => {
                if at == 0 || at == bytes.len() - 1 || bytes[at - 1] == b'.' {
                    return fault_at("IPv4 field must have at least one digit", &text[at..]);
                }
                if position == 3 {
                    return fault("IPv4 address too long");
                }
                fields[position] = value as u8;
                position += 1;
                (value, digits) = (0, 0);
            }
            _ => return fault_at("unexpected character", &text[at..]),
        }
    }
    if position < 3 {
        return fault("IPv4 address too short");
    }
    fields[3] = value as u8;
    Ok(fields)
}

fn parse_v6(text: &str) -> Result<(Ipv6Addr, &str), Fault<'_>> {
    let (mut rest, zone) = match text.split_once('%') {
        Some((_, "")) => return fault("zone must be a non-empty string"),
        Some((addr, zone)) => (addr, zone),
        None => (text, ""),
    };
    let mut octets = [0u8; 16];
    let mut filled = 0;
    // Where `::` stands, in octets.
    let mut ellipsis = None;
    if let Some(after) = rest.strip_prefix("::") {
        ellipsis = Some(0);
        rest = after;
        if rest.is_empty() {
            return Ok((Ipv6Addr::UNSPECIFIED, zone));
        }
    }
    while filled < 16 {
        let (group, digits) = parse_group(rest)?;
        if rest.as_bytes().get(digits) == Some(&b'.') {
            if ellipsis.is_none() && filled != 12 {
                return fault_at(
                    "embedded IPv4 address must replace the final 2 fields of the address",
                    rest,
                );
            }
            if filled + 4 > 16 {
                return fault_at(
                    "too many hex fields to fit an embedded IPv4 at the end of the address",
                    rest,
                );
            }
            octets[filled..filled + 4].copy_from_slice(&parse_v4(rest)?);
            filled += 4;
            rest = "";
            break;
        }
        octets[filled..filled + 2].copy_from_slice(&group.to_be_bytes());
        filled += 2;
        rest = &rest[digits..];
        if rest.is_empty() {
            break;
        }
        if !rest.starts_with(':') {
            return fault_at("unexpected character, want colon", rest);
        }
        if rest.len() == 1 {
            return fault_at("colon must be followed by more characters", rest);
        }
        rest = &rest[1..];
        if let Some(after) = rest.strip_prefix(':') {
            if ellipsis.is_some() {
                return fault_at("multiple :: in address", rest);
            }
            ellipsis = Some(filled);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return fault_at("trailing garbage after address", rest);
    }
    match ellipsis {
        None if filled < 16 => return fault("address string too short"),
        Some(_) if filled == 16 => return fault("the :: must expand to at least one field of zeros"),
        Some(at) => {
            octets[at..].rotate_right(16 - filled);
        }
        None => {}
    }
    Ok((octets.into(), zone))
}

/// The hexadecimal group that `rest` begins with, and how many digits it has.
fn parse_group(rest: &str) -> Result<(u16, usize), Fault<'_>> {
    let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
    match digits {
        0 => fault_at("each colon-separated field must have at least one digit", rest),
        1..=4 => Ok((u16::from_str_radix(&rest[..digits], 16).unwrap_or_default(), digits)),
        _ => fault_at("each group must have 4 or less digits", rest),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1.2.3.4", "1.2.3.4")]
    #[case("255.255.255.255", "255.255.255.255")]
    #[case("::", "::")]
    #[case("::1", "::1")]
    #[case("1::", "1::")]
    #[case("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8")]
    #[case("1:2::7:8", "1:2::7:8")]
    #[case("2001:DB8::68", "2001:db8::68")]
    #[case("::1.2.3.4", "::102:304")]
    #[case("64:ff9b::1.2.3.4", "64:ff9b::102:304")]
    #[case("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304")]
    #[case("1:0:0:2:0:0:0:3", "1:0:0:2::3")]
    fn addresses_are_read_and_printed_canonically(#[case] text: &str, #[case] canonical: &str) {
        let (addr, zone) = parse_addr(text).expect("an address");
        assert_eq!((addr.to_string().as_str(), zone), (canonical, ""));
    }

    #[rstest]
    #[case("", "unable to parse IP")]
    #[case("abc", "unable to parse IP")]
    #[case("%eth0", "missing IPv6 address")]
    #[case("1.2.3", "IPv4 address too short")]
    #[case("1.2.3.4.5", "IPv4 address too long")]
    #[case("1.2.3.04", "IPv4 field has octet with leading zero")]
    #[case("1.2.3.256", "IPv4 field has value >255")]
    #[case("1..3.4", r#"IPv4 field must have at least one digit (at ".3.4")"#)]
    #[case("1.2.3.a", r#"unexpected character (at "a")"#)]
    #[case("::1%", "zone must be a non-empty string")]
    #[case("1:::2", r#"each colon-separated field must have at least one digit (at ":2")"#)]
    #[case("1::2::3", r#"multiple :: in address (at ":3")"#)]
    #[case("1:2:3", "address string too short")]
    #[case("1:2:3:4:5:6:7:8:9", r#"trailing garbage after address (at "9")"#)]
    #[case("1:2:3:4::5:6:7:8", "the :: must expand to at least one field of zeros")]
    #[case("12345::", r#"each group must have 4 or less digits (at "12345::")"#)]
    #[case("1:", r#"colon must be followed by more characters (at ":")"#)]
    #[case("1:g", r#"each colon-separated field must have at least one digit (at "g")"#)]
    #[case("1:2g", r#"unexpected character, want colon (at "g")"#)]
    #[case(
        "1:1.2.3.4",
        r#"embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")"#
    )]
    #[case(
        "::1:2:3:4:5:6:7:1.2.3.4",
        r#"too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")"#
    )]
    fn what_is_no_address_is_refused_in_gos_words(#[case] text: &str, #[case] why: &str) {
        let error = parse_addr(text).expect_err("no address");
        assert_eq!(error, format!("ParseAddr({}): {why}", Quoted(text)));
    }

    #[rstest]
    #[case("10.0.0.0", "no '/'")]
    #[case("10.0.0/8", r#"ParseAddr("10.0.0"): IPv4 address too short"#)]
    #[case("fe80::1%eth0/64", "IPv6 zones cannot be present in a prefix")]
    #[case("10.0.0.0/", r#"bad bits after slash: """#)]
    #[case("10.0.0.0/08", r#"bad bits after slash: "08""#)]
    #[case("10.0.0.0/+8", r#"bad bits after slash: "+8""#)]
    #[case("10.0.0.0/99999999999999999999", r#"bad bits after slash: "99999999999999999999""#)]
    #[case("10.0.0.0/33", "prefix length out of range")]
    #[case("::/129", "prefix length out of range")]
    fn what_is_no_cidr_is_refused_in_gos_words(#[case] text: &str, #[case] why: &str) {
        let error = parse_prefix(text).expect_err("no CIDR");
        assert_eq!(error, format!("netip.ParsePrefix({}): {why}", Quoted(text)));
    }

    #[test]
    fn a_cidr_keeps_its_host_bits() {
        assert_eq!(parse_prefix("192.168.0.1/16").expect("a CIDR").to_string(), "192.168.0.1/16");
    }
}
