//! Networks: `cidr`, `isCIDR` and what they contain. apiserver `pkg/cel/library/cidr.go`.
//!
//! Bits beyond the prefix are accepted and kept, whatever the upstream documentation says; `masked()` clears them.

use std::net::IpAddr;

use ipnet::IpNet;

use super::opaque::OpaqueValue;
use super::overload::{Call, Overload, Ty};
use super::quote::Quoted;
use super::{address, cost, ip};
use crate::eval::{EvalError, EvalResult, Value};

const TYPE: Ty = Ty::Opaque("net.CIDR");

const SINCE: u8 = 30;
const CIDR: &[Ty] = &[TYPE];
const CIDR_AND_TEXT: &[Ty] = &[TYPE, Ty::String];
const TEXT: &[Ty] = &[Ty::String];

pub(super) const OVERLOADS: &[Overload] = &[
    Overload::global(SINCE, "cidr", TEXT, TYPE, cidr),
    Overload::global(SINCE, "isCIDR", TEXT, Ty::Bool, is_cidr),
    Overload::global(SINCE, "string", CIDR, Ty::String, to_string),
    Overload::member(SINCE, "containsIP", CIDR_AND_TEXT, Ty::Bool, contains_ip_text),
    Overload::member(SINCE, "containsIP", &[TYPE, ip::TYPE], Ty::Bool, contains_ip),
    Overload::member(SINCE, "containsCIDR", CIDR_AND_TEXT, Ty::Bool, contains_cidr_text),
    Overload::member(SINCE, "containsCIDR", &[TYPE, TYPE], Ty::Bool, contains_cidr),
    Overload::member(SINCE, "ip", CIDR, ip::TYPE, addr),
    Overload::member(SINCE, "prefixLength", CIDR, Ty::Int, prefix_length),
    Overload::member(SINCE, "masked", CIDR, TYPE, masked),
];

fn parse(text: &str) -> Result<IpNet, Box<EvalError>> {
    // Upstream says it twice.
    const WHAT: &str = "network address parse error during conversion from string";
    let net = address::parse_prefix(text)
        .map_err(|error| EvalError::invalid(format!("{WHAT}: {WHAT}: {error}")))?;
    if ip::is_mapped(net.addr()) {
        let error = format!("{WHAT}: IPv4-mapped IPv6 address {} is not allowed", Quoted(text));
        return Err(EvalError::invalid(error));
    }
    Ok(net)
}

fn cidr<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(text)] = *args else { return Err(EvalError::no_such_overload()) };
    call.charge(cost::traversal(cost::size(text)))?;
    OpaqueValue::Cidr(parse(text)?).into_value(call.arena)
}

fn is_cidr<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(text)] = *args else { return Err(EvalError::no_such_overload()) };
    call.charge(cost::traversal(cost::size(text)))?;
    Ok(Value::Bool(parse(text).is_ok()))
}

fn to_string<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(Value::String(call.arena.alloc_str(&receiver(args)?.to_string())?))
}

fn contains_ip_text<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let net = receiver(args)?;
    let [_, Value::String(text)] = *args else { return Err(EvalError::no_such_overload()) };
    call.charge(ip_cost(net) + cost::traversal(cost::size(text)))?;
    // Upstream loses what is wrong with the text.
    let addr = ip::parse(text).map_err(|_| EvalError::no_such_overload())?;
    Ok(Value::Bool(net.contains(&addr)))
}

fn contains_ip<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let net = receiver(args)?;
    let [_, Value::Opaque(OpaqueValue::Ip(addr))] = *args else { return Err(EvalError::no_such_overload()) };
    call.charge(ip_cost(net))?;
    Ok(Value::Bool(net.contains(addr)))
}

fn contains_cidr_text<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let net = receiver(args)?;
    let [_, Value::String(text)] = *args else { return Err(EvalError::no_such_overload()) };
    call.charge(cidr_cost(net) + cost::traversal(cost::size(text)))?;
    Ok(Value::Bool(contains(net, parse(text)?)))
}

fn contains_cidr<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let net = receiver(args)?;
    let [_, Value::Opaque(OpaqueValue::Cidr(other))] = *args else {
        return Err(EvalError::no_such_overload());
    };
    call.charge(cidr_cost(net))?;
    Ok(Value::Bool(contains(net, *other)))
}

fn addr<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    OpaqueValue::Ip(receiver(args)?.addr()).into_value(call.arena)
}

fn prefix_length<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(Value::Int(receiver(args)?.prefix_len().into()))
}

fn masked<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    OpaqueValue::Cidr(receiver(args)?.trunc()).into_value(call.arena)
}

/// Host bits of either side do not matter.
fn contains(net: IpNet, other: IpNet) -> bool {
    let same_family =
        matches!((net.addr(), other.addr()), (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)));
    same_family && net.prefix_len() <= other.prefix_len() && net.contains(&other.addr())
}

/// A network's size, for costs, is the number of bytes that its prefix touches.
fn size(net: IpNet) -> u64 {
    u64::from(net.prefix_len()).div_ceil(8)
}

fn ip_cost(net: IpNet) -> u64 {
    cost::network(size(net), false)
}

fn cidr_cost(net: IpNet) -> u64 {
    cost::network(size(net), true)
}

fn receiver(args: &[Value<'_>]) -> Result<IpNet, Box<EvalError>> {
    match args {
        [Value::Opaque(OpaqueValue::Cidr(net)), ..] => Ok(*net),
        _ => Err(EvalError::no_such_overload()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::{Library, show, string};

    #[rstest]
    #[case("192.168.0.0/24", "true")]
    #[case("192.168.0.1/16", "true")]
    #[case("2001:db8::/32", "true")]
    #[case("0.0.0.0/0", "true")]
    #[case("192.168.0.0/", "false")]
    #[case("192.168.0.0", "false")]
    #[case("::ffff:1.2.3.4/120", "false")]
    #[case("fe80::1%eth0/64", "false")]
    fn texts_are_judged(#[case] text: &str, #[case] is_cidr: &str) {
        assert_eq!(show(Library::default().global("isCIDR", &[string(text)])), is_cidr);
    }

    #[rstest]
    #[case(
        "192.168.0.0/",
        "network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"192.168.0.0/\"): bad bits after slash: \"\""
    )]
    #[case(
        "::ffff:1.2.3.4/120",
        "network address parse error during conversion from string: IPv4-mapped IPv6 address \"::ffff:1.2.3.4/120\" is not allowed"
    )]
    fn what_is_no_network_is_an_error(#[case] text: &str, #[case] error: &str) {
        assert_eq!(show(Library::default().global("cidr", &[string(text)])), error);
    }

    #[rstest]
    #[case("192.168.0.0/24", "192.168.0.1", "true")]
    #[case("192.168.0.9/24", "192.168.0.1", "true")]
    #[case("192.168.0.0/24", "192.168.1.1", "false")]
    #[case("0.0.0.0/0", "9.9.9.9", "true")]
    #[case("0.0.0.0/0", "::", "false")]
    #[case("2001:db8::/32", "2001:db8::1", "true")]
    #[case("2001:db8::/32", "2001:dc8::1", "false")]
    fn a_network_contains_addresses(#[case] net: &str, #[case] addr: &str, #[case] contained: &str) {
        let library = Library::default();
        let net = library.global("cidr", &[string(net)]).expect("a network");
        let ip = library.global("ip", &[string(addr)]).expect("an address");
        assert_eq!(show(library.member("containsIP", &[net, string(addr)])), contained);
        assert_eq!(show(library.member("containsIP", &[net, ip])), contained);
    }

    #[rstest]
    #[case("192.168.0.0/24", "192.168.0.0/25", "true")]
    #[case("192.168.0.0/24", "192.168.0.9/24", "true")]
    #[case("192.168.0.0/24", "192.168.0.1/32", "true")]
    #[case("192.168.0.0/24", "192.168.0.0/23", "false")]
    #[case("192.168.0.0/24", "192.169.0.1/32", "false")]
    #[case("0.0.0.0/0", "10.0.0.0/8", "true")]
    #[case("0.0.0.0/0", "::/0", "false")]
    #[case("2001:db8::/32", "2001:db8::/33", "true")]
    #[case("2001:db8::/32", "2001:db8::/31", "false")]
    fn a_network_contains_networks(#[case] net: &str, #[case] other: &str, #[case] contained: &str) {
        let library = Library::default();
        let net = library.global("cidr", &[string(net)]).expect("a network");
        let typed = library.global("cidr", &[string(other)]).expect("a network");
        assert_eq!(show(library.member("containsCIDR", &[net, string(other)])), contained);
        assert_eq!(show(library.member("containsCIDR", &[net, typed])), contained);
    }

    #[rstest]
    #[case("192.168.0.1/24", "\"192.168.0.1\"", "24", "\"192.168.0.0/24\"", "\"192.168.0.1/24\"")]
    #[case("2001:DB8:1::/32", "\"2001:db8:1::\"", "32", "\"2001:db8::/32\"", "\"2001:db8:1::/32\"")]
    fn a_network_has_parts(
        #[case] text: &str,
        #[case] addr: &str,
        #[case] length: &str,
        #[case] masked: &str,
        #[case] printed: &str,
    ) {
        let library = Library::default();
        let net = library.global("cidr", &[string(text)]).expect("a network");
        let text = |value| show(library.global("string", &[value]));
        assert_eq!(text(library.member("ip", &[net]).expect("an address")), addr);
        assert_eq!(show(library.member("prefixLength", &[net])), length);
        assert_eq!(text(library.member("masked", &[net]).expect("a network")), masked);
        assert_eq!(text(net), printed);
    }

    #[test]
    fn a_text_that_is_no_address_has_no_overload() {
        let library = Library::default();
        let net = library.global("cidr", &[string("10.0.0.0/8")]).expect("a network");
        assert_eq!(show(library.member("containsIP", &[net, string("x")])), "no such overload");
    }

    #[test]
    fn costs_follow_the_prefix_length_and_the_text() {
        let library = Library::default();
        let net = library.global("cidr", &[string("2001:db8::/32")]).expect("a network");
        assert_eq!(library.spent(), 2);
        library.member("containsIP", &[net, string("2001:db8::1")]).expect("an answer");
        assert_eq!(library.spent(), 2 + 1 + 2);
        library.member("containsCIDR", &[net, net]).expect("an answer");
        assert_eq!(library.spent(), 5 + 1 + 1 + 1);
    }
}
