//! Values of the libraries' own types.

use std::net::IpAddr;

use ipnet::IpNet;

use super::authorizer::{Answer, Authorizer, Check};
use super::format::Format;
use super::quantity::Quantity;
use super::semver::Semver;
use super::urls::Url;
use crate::eval::{Arena, EvalResult, Value};

/// The closed set of library types. Everything in here is `Copy` and borrows from the arena or the input: the arena runs no
/// destructors.
#[derive(Clone, Copy, Debug)]
pub enum OpaqueValue<'a> {
    Authorizer(Authorizer<'a>),
    PathCheck(Check<'a>),
    GroupCheck(Check<'a>),
    ResourceCheck(Check<'a>),
    Decision(Answer<'a>),
    Quantity(Quantity<'a>),
    Semver(Semver<'a>),
    Format(Format),
    Url(Url<'a>),
    Ip(IpAddr),
    Cidr(IpNet),
}

impl<'a> OpaqueValue<'a> {
    /// Moves the value into the arena.
    pub(super) fn into_value(self, arena: &'a Arena) -> EvalResult<'a> {
        Ok(Value::Opaque(arena.alloc(self)?))
    }

    /// The CEL type name, as `type(x)` prints it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Authorizer(_) => "kubernetes.authorization.Authorizer",
            Self::PathCheck(_) => "kubernetes.authorization.PathCheck",
            Self::GroupCheck(_) => "kubernetes.authorization.GroupCheck",
            Self::ResourceCheck(_) => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
        }
    }

    /// The size as costs count it, apiserver `IP.Size` and `CIDR.Size`: bytes of an address, begun bytes of a prefix. 1 for everything else.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr(net) => usize::from(net.prefix_len()).div_ceil(8),
            _ => 1,
        }
    }

    /// CEL's `==` between two values of library types; different types are not equal.
    pub fn equals(&self, other: &OpaqueValue<'_>) -> bool {
        match (self, other) {
            (Self::Ip(a), OpaqueValue::Ip(b)) => a == b,
            (Self::Cidr(a), OpaqueValue::Cidr(b)) => a == b,
            (Self::Quantity(a), OpaqueValue::Quantity(b)) => a.compare(b).is_eq(),
            (Self::Semver(a), OpaqueValue::Semver(b)) => a.compare(b).is_eq(),
            (Self::Format(a), OpaqueValue::Format(b)) => a == b,
            (Self::Url(a), OpaqueValue::Url(b)) => a.canonical == b.canonical,
            _ => false,
        }
    }
}
