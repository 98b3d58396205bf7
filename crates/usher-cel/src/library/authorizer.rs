//! `authorizer`: may the requesting user do something else?

/// Answers one access check. The server implements it; the crate only describes the question.
pub trait Authorize {
    fn check(&self, check: &Check<'_>) -> Decision;
}

/// The attributes of a SubjectAccessReview that an expression has put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Check<'a> {
    /// `Some((namespace, name))` when the check is for a service account instead of the requesting user.
    pub service_account: Option<(&'a str, &'a str)>,
    /// A non-resource path; the resource fields are empty then.
    pub path: &'a str,
    pub group: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    pub verb: &'a str,
    pub field_selector: &'a str,
    pub label_selector: &'a str,
}

/// The answer to a [`Check`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    pub allowed: bool,
    pub reason: String,
    /// Text of the error that kept the authorizer from answering, if any.
    pub error: Option<String>,
}

/// The value of the variable `authorizer`: a check that nothing was said about yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Authorizer<'a> {
    pub check: Check<'a>,
}
