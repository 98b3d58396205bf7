//! Values of the libraries' own types.

use super::authorizer;

/// The closed set of library types. Everything in here is `Copy` and borrows from the arena or the input: the arena runs no
/// destructors.
#[derive(Clone, Copy, Debug)]
pub enum OpaqueValue<'a> {
    Authorizer(authorizer::Authorizer<'a>),
}

impl OpaqueValue<'_> {
    /// The CEL type name, as `type(x)` prints it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Authorizer(_) => "kubernetes.authorization.Authorizer",
        }
    }

    /// CEL's `==` between two values of library types; different types are not equal.
    pub fn equals(&self, _other: &OpaqueValue<'_>) -> bool {
        match self {
            Self::Authorizer(_) => false,
        }
    }
}
