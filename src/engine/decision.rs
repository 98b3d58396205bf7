//! The answer to a request: what happens, and apart from it what was found.

use std::sync::Arc;

use usher_cel::eval::ErrorKind;

use super::trace::Trace;

/// What happens to a request. Owns its data, so that it outlives the request's memory.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// In evaluation order; the first one gives the response its code and reason. Empty: the request is allowed.
    pub rejections: Vec<Rejection>,
    /// RFC 6902 operations as a JSON array, verified to apply to the object as received. `None` when nothing changes; never empty.
    pub patch: Option<Vec<u8>>,
    /// The object after the patch, as JSON; kept for people and for chaining, not sent.
    pub patched_object: Option<Vec<u8>>,
    /// Header-safe and within the API server's limits.
    pub warnings: Vec<String>,
    /// Bare keys (the API server prefixes the webhook's name) and values, in evaluation order, keys unique.
    pub audit_annotations: Vec<(String, String)>,
    /// What each candidate rule found, in evaluation order.
    pub outcomes: Vec<RuleOutcome>,
    /// The request is of the set that is never intercepted: no rule was looked at.
    pub protected: bool,
    /// How it came about, if that was asked for.
    pub trace: Option<Box<Trace>>,
}

/// One refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub rule: Arc<str>,
    pub route: Option<Arc<str>>,
    /// For the user; without the names of rule and route.
    pub message: String,
    /// `metav1.StatusReason`: `Invalid`, `Forbidden`, `RequestEntityTooLarge` …
    pub reason: &'static str,
    /// HTTP status code that belongs to the reason, 4xx or 5xx.
    pub code: u16,
    /// Set when the refusal is an evaluation error under failure policy Fail, not a route that said so.
    pub error: Option<ErrorKind>,
}

/// What one candidate rule found.
#[derive(Clone, Debug)]
pub struct RuleOutcome {
    pub rule: Arc<str>,
    pub finding: Finding,
    /// The route that the finding is about, if it is about one.
    pub route: Option<Arc<str>>,
    /// In Kubernetes' cost units: all expressions of the rule, for one parameter object. It stands in the first outcome of these, the others
    /// have 0.
    pub cost: u64,
    /// What the rule's author should know, though it changed nothing for this request.
    pub warning: Option<String>,
}

/// What was found, whatever the rule's mode and failure policy make of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Not matched: by `match`, by a condition, or no route's predicate was true.
    NoMatch,
    /// The route's handler acted (`reject`, `mutate`, `pass`, `warn`, `audit`), by its name.
    Match { handler: &'static str },
    /// An expression had no value.
    Error { kind: ErrorKind, message: String },
}

impl Decision {
    pub fn allowed(&self) -> bool {
        self.rejections.is_empty()
    }
}

impl Finding {
    pub fn is_match(&self) -> bool {
        matches!(self, Self::Match { .. })
    }
}
