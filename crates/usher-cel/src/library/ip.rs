//! IP addresses: `ip`, `isIP`, `ip.isCanonical`, what kind an address is. apiserver `pkg/cel/library/ip.go`.
//!
//! Zones, IPv4-mapped IPv6 addresses and leading zeros are refused; kinds are those of Go's `net/netip`.

use std::net::{IpAddr, Ipv4Addr};

use super::address;
use super::cost;
use super::opaque::OpaqueValue;
use super::overload::{Call, Overload, Ty};
use super::quote::Quoted;
use crate::eval::{EvalError, EvalResult, Value};

pub(super) const TYPE: Ty = Ty::Opaque("net.IP");

const SINCE: u8 = 30;
const IP: &[Ty] = &[TYPE];
const TEXT: &[Ty] = &[Ty::String];

pub(super) const OVERLOADS: &[Overload] = &[
    Overload::global(SINCE, "ip", TEXT, TYPE, ip),
    Overload::global(SINCE, "isIP", TEXT, Ty::Bool, is_ip),
    Overload::global(SINCE, "ip.isCanonical", TEXT, Ty::Bool, is_canonical),
    Overload::global(SINCE, "string", IP, Ty::String, to_string),
    Overload::member(SINCE, "family", IP, Ty::Int, family),
    Overload::member(SINCE, "isUnspecified", IP, Ty::Bool, |call, args| property(call, args, is_unspecified)),
    Overload::member(SINCE, "isLoopback", IP, Ty::Bool, |call, args| property(call, args, is_loopback)),
    Overload::member(SINCE, "isLinkLocalMulticast", IP, Ty::Bool, |call, args| {
        property(call, args, is_link_local_multicast)
    }),
    Overload::member(SINCE, "isLinkLocalUnicast", IP, Ty::Bool, |call, args| {
        property(call, args, is_link_local_unicast)
    }),
    Overload::member(SINCE, "isGlobalUnicast", IP, Ty::Bool, |call, args| {
        property(call, args, is_global_unicast)
    }),
];

/// Reads an address as the `ip` function does.
///
/// # Errors
/// Kubernetes' text.
pub(super) fn parse(text: &str) -> Result<IpAddr, Box<EvalError>> {
    let (addr, zone) = address::parse_addr(text).map_err(|error| {
        EvalError::invalid(format!(
            "IP Address {} parse error during conversion from string: {error}",
            Quoted(text)
        ))
    })?;
    if !zone.is_empty() {
        return Err(EvalError::invalid(format!(
            "IP address {} with zone value is not allowed",
            Quoted(text)
        )));
    }
    if is_mapped(addr) {
        return Err(EvalError::invalid(format!("IPv4-mapped IPv6 address {} is not allowed", Quoted(text))));
    }
    Ok(addr)
}

pub(super) fn is_mapped(addr: IpAddr) -> bool {
    matches!(addr, IpAddr::V6(addr) if addr.to_ipv4_mapped().is_some())
}

fn ip<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let text = text(args)?;
    call.charge(cost::traversal(cost::size(text)))?;
    OpaqueValue::Ip(parse(text)?).into_value(call.arena)
}

fn is_ip<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let text = text(args)?;
    call.charge(cost::traversal(cost::size(text)))?;
    Ok(Value::Bool(parse(text).is_ok()))
}

fn is_canonical<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let text = text(args)?;
    call.charge(cost::double_traversal(cost::size(text)))?;
    Ok(Value::Bool(parse(text)?.to_string() == text))
}

fn to_string<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(Value::String(call.arena.alloc_str(&addr(args)?.to_string())?))
}

fn family<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(Value::Int(if addr(args)?.is_ipv4() { 4 } else { 6 }))
}

fn property<'a>(
    call: &mut Call<'_, '_, 'a>,
    args: &[Value<'a>],
    holds: fn(IpAddr) -> bool,
) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(Value::Bool(holds(addr(args)?)))
}

fn is_unspecified(addr: IpAddr) -> bool {
    addr.is_unspecified()
}

fn is_loopback(addr: IpAddr) -> bool {
    addr.is_loopback()
}

/// 224.0.0.0/24, and ff02::/16 with any flags.
fn is_link_local_multicast(addr: IpAddr) -> bool {
    match addr {
        IpAddr::V4(addr) => addr.octets()[..3] == [224, 0, 0],
        IpAddr::V6(addr) => addr.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local_unicast(addr: IpAddr) -> bool {
    match addr {
        IpAddr::V4(addr) => addr.is_link_local(),
        IpAddr::V6(addr) => addr.is_unicast_link_local(),
    }
}

/// Private and unique local addresses count as global, as in Go.
fn is_global_unicast(addr: IpAddr) -> bool {
    addr != IpAddr::V4(Ipv4Addr::BROADCAST)
        && !addr.is_unspecified()
        && !addr.is_loopback()
        && !addr.is_multicast()
        && !is_link_local_unicast(addr)
}

fn text<'a>(args: &[Value<'a>]) -> Result<&'a str, Box<EvalError>> {
    match args {
        [Value::String(text)] => Ok(text),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn addr(args: &[Value<'_>]) -> Result<IpAddr, Box<EvalError>> {
    match args {
        [Value::Opaque(OpaqueValue::Ip(addr))] => Ok(*addr),
        _ => Err(EvalError::no_such_overload()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::{Library, show, string};

    #[rstest]
    #[case("192.168.0.1", "true", "true")]
    #[case("2001:db8::68", "true", "true")]
    #[case("2001:DB8::68", "true", "false")]
    #[case("2001:db8:0::68", "true", "false")]
    #[case(
        "192.168.0.1.0",
        "false",
        "IP Address \"192.168.0.1.0\" parse error during conversion from string: ParseAddr(\"192.168.0.1.0\"): IPv4 address too long"
    )]
    #[case("fe80::1%eth0", "false", "IP address \"fe80::1%eth0\" with zone value is not allowed")]
    #[case("::ffff:1.2.3.4", "false", "IPv4-mapped IPv6 address \"::ffff:1.2.3.4\" is not allowed")]
    #[case(
        "10.0.0.01",
        "false",
        "IP Address \"10.0.0.01\" parse error during conversion from string: ParseAddr(\"10.0.0.01\"): IPv4 field has octet with leading zero"
    )]
    fn texts_are_judged(#[case] text: &str, #[case] is_ip: &str, #[case] is_canonical: &str) {
        let library = Library::default();
        assert_eq!(show(library.global("isIP", &[string(text)])), is_ip);
        assert_eq!(show(library.global("ip.isCanonical", &[string(text)])), is_canonical);
    }

    #[rstest]
    #[case::v4("192.168.0.1", "4", "isGlobalUnicast")]
    #[case::v4_unspecified("0.0.0.0", "4", "isUnspecified")]
    #[case::v4_loopback("127.9.9.9", "4", "isLoopback")]
    #[case::v4_multicast("224.0.0.1", "4", "isLinkLocalMulticast")]
    #[case::v4_other_multicast("224.0.1.1", "4", "")]
    #[case::v4_link_local("169.254.169.254", "4", "isLinkLocalUnicast")]
    #[case::v4_broadcast("255.255.255.255", "4", "")]
    #[case::v6("2001:db8::abcd", "6", "isGlobalUnicast")]
    #[case::v6_unique_local("fd00::1", "6", "isGlobalUnicast")]
    #[case::v6_unspecified("::", "6", "isUnspecified")]
    #[case::v6_loopback("::1", "6", "isLoopback")]
    #[case::v6_multicast("ff02::1", "6", "isLinkLocalMulticast")]
    #[case::v6_multicast_with_flags("ff32::1", "6", "isLinkLocalMulticast")]
    #[case::v6_other_multicast("ff00::1", "6", "")]
    #[case::v6_link_local("febf::1", "6", "isLinkLocalUnicast")]
    fn an_address_has_a_family_and_at_most_one_kind(
        #[case] text: &str,
        #[case] family: &str,
        #[case] kind: &str,
    ) {
        let library = Library::default();
        let ip = library.global("ip", &[string(text)]).expect("an address");
        assert_eq!(show(library.member("family", &[ip])), family);
        let kinds =
            ["isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast"];
        let holding: Vec<_> =
            kinds.into_iter().filter(|kind| show(library.member(kind, &[ip])) == "true").collect();
        assert_eq!(holding.join(","), kind);
    }

    #[rstest]
    #[case("192.168.0.1", 2 + 1)]
    #[case("2001:DB8:0:0::68", 2 + 1)]
    fn an_address_becomes_canonical_text(#[case] text: &str, #[case] cost: u64) {
        let library = Library::default();
        let ip = library.global("ip", &[string(text)]).expect("an address");
        let printed = show(library.global("string", &[ip]));
        assert_eq!(
            (printed, library.spent()),
            (format!("{:?}", text.to_lowercase().replace(":0:0::", "::")), cost)
        );
    }
}
