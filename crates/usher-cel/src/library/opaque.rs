//! Values of the libraries' own types.

use std::net::IpAddr;

use ipnet::IpNet;

use super::authorizer;
use crate::eval::{Arena, EvalResult, Value};

/// The closed set of library types. Everything in here is `Copy` and borrows from the arena or the input: the arena runs no
/// destructors.
#[derive(Clone, Copy, Debug)]
pub enum OpaqueValue<'a> {
    Authorizer(authorizer::Authorizer<'a>),
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
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
        }
    }

    /// CEL's `==` between two values of library types; different types are not equal.
    pub fn equals(&self, other: &OpaqueValue<'_>) -> bool {
        match (self, other) {
            (Self::Ip(a), OpaqueValue::Ip(b)) => a == b,
            (Self::Cidr(a), OpaqueValue::Cidr(b)) => a == b,
            _ => false,
        }
    }
}
