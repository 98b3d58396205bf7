//! The CEL variables that every expression of a rule may read, each with its fixed number.

use usher_cel::Env;

/// `object`: the object as it stands now; in the mutating phase with the changes of earlier routes and rules.
pub const OBJECT: u32 = 0;
/// `oldObject`.
pub const OLD_OBJECT: u32 = 1;
/// `request`, without the objects; its empty fields are missing keys, as in Kubernetes.
pub const REQUEST: u32 = 2;
/// `request.object`: Usher's alias of `object`.
pub const REQUEST_OBJECT: u32 = 3;
/// `request.oldObject`: Usher's alias of `oldObject`.
pub const REQUEST_OLD_OBJECT: u32 = 4;
/// `request.options`; a variable of its own so that reading another field of `request` does not parse it.
pub const REQUEST_OPTIONS: u32 = 5;
/// `params`.
pub const PARAMS: u32 = 6;
/// `namespaceObject`.
pub const NAMESPACE_OBJECT: u32 = 7;
/// `authorizer`.
pub const AUTHORIZER: u32 = 8;
/// `authorizer.requestResource`.
pub const AUTHORIZER_REQUEST_RESOURCE: u32 = 9;
/// `variables.NAME` of the rule's first variable; the others follow in order.
pub const FIRST_VARIABLE: u32 = 10;

/// Names in the order of their slots.
pub const NAMES: [&str; FIRST_VARIABLE as usize] = [
    "object",
    "oldObject",
    "request",
    "request.object",
    "request.oldObject",
    "request.options",
    "params",
    "namespaceObject",
    "authorizer",
    "authorizer.requestResource",
];

/// An environment that knows the variables above. A rule's own variables are declared after these, in their order, as
/// `variables.NAME`: each then gets the slot [`FIRST_VARIABLE`] + its index.
pub fn base_env() -> Env {
    let mut env = Env::new();
    for name in NAMES {
        env.declare(name);
    }
    env
}
