//! What was compiled: a rule, whatever kind of object it came from.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::expression::Expression;
use super::guard::Guard;
use super::matching::MatchConstraints;
use super::request::Phase;

/// One compiled rule. Made by `rules::compile` from a `RoutingRule`, or from one binding of an imported policy.
#[derive(Debug)]
pub struct Rule {
    /// As shown to people; unique among the rules of its origin and namespace.
    pub name: Arc<str>,
    /// Set for a rule that lives in, and is confined to, one namespace.
    pub namespace: Option<Arc<str>>,
    pub origin: Origin,
    /// Higher first.
    pub priority: i32,
    pub mode: Mode,
    /// What an evaluation error means.
    pub failure_policy: FailurePolicy,
    pub constraints: MatchConstraints,
    /// The `matchResources` of an imported policy's binding: narrows `constraints`. Its empty resource rules mean "any".
    pub binding_constraints: Option<Box<MatchConstraints>>,
    /// Facts of the envelope without which the rule does nothing at all; taken from its predicates and match conditions.
    pub guards: Vec<Guard>,
    pub match_conditions: Vec<MatchCondition>,
    pub params: Option<Params>,
    /// In order; a variable reads only earlier ones.
    pub variables: Vec<Variable>,
    pub routes: Vec<Route>,
    /// Annotations of the rule as a whole (`ValidatingAdmissionPolicy`'s `auditAnnotations`): made whenever it matches.
    pub audit_annotations: Vec<AuditAnnotation>,
    /// The rule could not be compiled, with the text that says why: what it matches, and what its conditions (as far as they could be
    /// compiled) do not sort out, has an evaluation error with this text, in either phase.
    pub broken: Option<Arc<str>>,
    pub panics: Panics,
}

/// How often evaluations of a rule panicked in this process: the one thing about a rule that changes. A rule that was compiled anew begins
/// anew.
#[derive(Debug, Default)]
pub struct Panics(AtomicU32);

impl Panics {
    /// After so many a rule is not evaluated any more: a defect that has shown itself three times is one that requests can reach, and unwinding costs
    /// more than any evaluation.
    pub const MOST: u32 = 3;

    /// Whether the rule is evaluated no more.
    pub fn is_quarantined(&self) -> bool {
        self.count() >= Self::MOST
    }

    pub fn count(&self) -> u32 {
        self.0.load(Relaxed)
    }

    pub(super) fn add(&self) {
        // It need not count on: a request that comes later does not evaluate the rule.
        self.0.fetch_add(1, Relaxed);
    }
}

/// The kind of object that a rule came from; semantics differ a little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    RoutingRule,
    ValidatingAdmissionPolicy { policy: Arc<str>, binding: Arc<str>, actions: Actions },
    MutatingAdmissionPolicy { policy: Arc<str>, binding: Arc<str> },
}

/// What a rule may do with its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    #[default]
    Enforce,
    /// Rejections become warnings; no patch.
    Warn,
    /// Rejections become audit annotations; no patch.
    Audit,
    /// Nothing leaves the decision's outcomes.
    Shadow,
    /// Not evaluated.
    Disabled,
}

/// `validationActions` of a binding, or what a [`Mode`] comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    pub deny: bool,
    pub warn: bool,
    pub audit: bool,
}

/// What an evaluation error means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FailurePolicy {
    /// The request is rejected.
    #[default]
    Fail,
    /// As if the rule, or the route, had not matched.
    Ignore,
}

#[derive(Debug)]
pub struct MatchCondition {
    pub name: Arc<str>,
    pub expression: Expression,
}

#[derive(Debug)]
pub struct Variable {
    /// Without the prefix `variables.`.
    pub name: Arc<str>,
    pub expression: Expression,
}

/// Where parameter objects come from. The rule is evaluated once for each.
#[derive(Clone, Debug)]
pub struct Params {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    /// Whether objects of the kind live in namespaces.
    pub namespaced: bool,
    /// `None`: an imported policy whose binding has no `paramRef`; evaluated once with `params` null.
    pub reference: Option<ParamReference>,
}

#[derive(Clone, Debug)]
pub struct ParamReference {
    pub choice: ParamChoice,
    /// `None` with a namespaced kind: the namespace of the request.
    pub namespace: Option<Arc<str>>,
    pub not_found: NotFound,
}

#[derive(Clone, Debug)]
pub enum ParamChoice {
    Name(Arc<str>),
    /// An empty selector chooses all.
    Selector(super::matching::LabelSelector),
}

/// `parameterNotFoundAction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// The rule does nothing.
    Allow,
    /// An evaluation error.
    Deny,
}

/// One predicate and its handler.
#[derive(Debug)]
pub struct Route {
    pub name: Arc<str>,
    /// `None` always holds.
    pub predicate: Option<Expression>,
    /// The value of the predicate at which the handler acts: true for routes, false for imported validations.
    pub holds_when: bool,
    pub handler: Handler,
    /// Made when the handler acts.
    pub audit_annotations: Vec<AuditAnnotation>,
}

#[derive(Debug)]
pub enum Handler {
    Reject {
        message: Message,
        reason: Reason,
        /// HTTP status code of the response; usually the reason's.
        code: u16,
    },
    Mutate(Mutation),
    Pass(Scope),
    Warn(Message),
    Audit,
}

/// How far a `pass` reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The rest of this rule.
    #[default]
    Rule,
    /// The rest of the phase.
    All,
}

#[derive(Debug)]
pub enum Mutation {
    /// CEL that gives a list of `JSONPatch`.
    JsonPatch(Box<Expression>),
    /// CEL that gives an `Object`, to be merged into the object.
    ApplyConfiguration(Box<Expression>),
    /// RFC 6902 operations as a JSON array, checked when the rule was compiled.
    Patches(Box<str>),
}

/// Text for the user: the expression's if it gives a usable one, else `text`, else a text that quotes the predicate.
#[derive(Debug, Default)]
pub struct Message {
    pub text: Option<Arc<str>>,
    pub expression: Option<Box<Expression>>,
}

/// Why a request is rejected, in the API's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    Unauthorized,
    Forbidden,
    #[default]
    Invalid,
    RequestEntityTooLarge,
    BadRequest,
    Conflict,
    TooManyRequests,
}

#[derive(Debug)]
pub struct AuditAnnotation {
    /// Bare key: at most 63 letters, digits, `-`, `_` and `.`; see [`super::is_annotation_key`].
    pub key: Arc<str>,
    /// Gives a string, or null for no annotation.
    pub value: Expression,
}

impl Rule {
    /// Whether an evaluation in this phase can have any effect. A rule of which only a `pass` for itself belongs to the phase has none.
    pub fn acts_in(&self, phase: Phase) -> bool {
        match self.origin {
            Origin::ValidatingAdmissionPolicy { .. } if phase == Phase::Mutating => return false,
            Origin::MutatingAdmissionPolicy { .. } if phase == Phase::Validating => return false,
            _ if self.broken.is_some() => return true,
            _ => {}
        }
        let rule_annotates = phase == Phase::Validating && !self.audit_annotations.is_empty();
        rule_annotates
            || self.routes.iter().any(|route| {
                let inert =
                    matches!(route.handler, Handler::Pass(Scope::Rule)) && route.audit_annotations.is_empty();
                route.belongs_to(phase) && !inert
            })
    }

    /// What happens to this rule's rejections.
    pub fn actions(&self) -> Actions {
        match (&self.origin, self.mode) {
            (Origin::ValidatingAdmissionPolicy { actions, .. }, Mode::Enforce) => *actions,
            (_, mode) => mode.actions(),
        }
    }

    /// Every expression, for what they read.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let conditions = self.match_conditions.iter().map(|condition| &condition.expression);
        let variables = self.variables.iter().map(|variable| &variable.expression);
        let annotations = self.audit_annotations.iter().map(|annotation| &annotation.value);
        conditions.chain(variables).chain(annotations).chain(self.routes.iter().flat_map(Route::expressions))
    }
}

impl Route {
    pub fn belongs_to(&self, phase: Phase) -> bool {
        match self.handler {
            Handler::Pass(_) => true,
            Handler::Mutate(_) => phase == Phase::Mutating,
            Handler::Reject { .. } | Handler::Warn(_) | Handler::Audit => phase == Phase::Validating,
        }
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let handler = match &self.handler {
            Handler::Reject { message, .. } | Handler::Warn(message) => message.expression.as_deref(),
            Handler::Mutate(Mutation::JsonPatch(expression) | Mutation::ApplyConfiguration(expression)) => {
                Some(&**expression)
            }
            Handler::Mutate(Mutation::Patches(_)) | Handler::Pass(_) | Handler::Audit => None,
        };
        let annotations = self.audit_annotations.iter().map(|annotation| &annotation.value);
        self.predicate.iter().chain(handler).chain(annotations)
    }
}

impl Handler {
    /// Its name in the API.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Reject { .. } => "reject",
            Self::Mutate(_) => "mutate",
            Self::Pass(_) => "pass",
            Self::Warn(_) => "warn",
            Self::Audit => "audit",
        }
    }
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "Enforce",
            Self::Warn => "Warn",
            Self::Audit => "Audit",
            Self::Shadow => "Shadow",
            Self::Disabled => "Disabled",
        }
    }

    fn actions(self) -> Actions {
        Actions { deny: self == Self::Enforce, warn: self == Self::Warn, audit: self == Self::Audit }
    }
}

impl Reason {
    /// `metav1.StatusReason`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::Invalid => "Invalid",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::BadRequest => "BadRequest",
            Self::Conflict => "Conflict",
            Self::TooManyRequests => "TooManyRequests",
        }
    }

    /// The HTTP status code that belongs to it.
    pub fn code(self) -> u16 {
        match self {
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::Invalid => 422,
            Self::RequestEntityTooLarge => 413,
            Self::BadRequest => 400,
            Self::Conflict => 409,
            Self::TooManyRequests => 429,
        }
    }
}
