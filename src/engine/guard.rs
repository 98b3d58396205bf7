//! Guards: facts of the envelope that an expression tests with `==` or `in`, known without evaluating it.

use super::request::Request;

/// A condition on one fact of the envelope without which a rule does nothing: no route acts and no evaluation fails.
///
/// Taken from expressions such as `request.namespace == 'a' && …` when **every** route of the rule, or one of its match
/// conditions, is false without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    pub fact: Fact,
    /// The fact must be one of these.
    pub values: Vec<Box<str>>,
    /// Whether the rule may also do something when the fact is absent. True for a bare `request.namespace == 'a'`: there the
    /// absent key is an evaluation error, which is for the failure policy to judge. False when absence was excluded
    /// (`has(request.namespace) && …`, `request.?namespace.orValue('') == 'a'`).
    pub or_absent: bool,
}

/// The facts that guards may be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fact {
    /// `request.namespace`
    Namespace,
    /// `request.name`
    Name,
    /// `request.userInfo.username`
    UserName,
    /// `request.kind.kind`
    Kind,
    /// `request.operation`
    Operation,
    /// `request.subResource`
    SubResource,
}

impl Fact {
    /// Most telling first: the index keys a rule by the first of these that it has a guard for.
    pub const ALL: [Self; 6] =
        [Self::Name, Self::Namespace, Self::UserName, Self::Kind, Self::SubResource, Self::Operation];

    /// The fact of a request; empty when it is absent.
    #[inline]
    pub fn of<'b>(self, request: &Request<'b>) -> &'b str {
        match self {
            Self::Namespace => request.namespace,
            Self::Name => request.name,
            Self::UserName => request.user_info.username,
            Self::Kind => request.kind.kind,
            Self::Operation => request.operation.as_str(),
            Self::SubResource => request.sub_resource,
        }
    }
}

impl Guard {
    pub fn admits(&self, request: &Request<'_>) -> bool {
        let fact = self.fact.of(request);
        if fact.is_empty() { self.or_absent } else { self.values.iter().any(|value| **value == *fact) }
    }
}
