//! The CEL variables that every expression of a rule may read, each with its fixed number.

use std::sync::LazyLock;

use usher_cel::Env;
use usher_cel::check::Type;

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
    for (slot, name) in (0_u32..).zip(NAMES) {
        env.declare_typed(name, type_of(slot));
    }
    env
}

/// The type with which Kubernetes declares a variable (apiserver `pkg/admission/plugin/cel/compile.go`).
pub fn type_of(slot: u32) -> Type {
    static REQUEST_TYPE: LazyLock<Type> =
        LazyLock::new(|| request(&[("object", Type::Dyn), ("oldObject", Type::Dyn)]));
    static NAMESPACE_TYPE: LazyLock<Type> = LazyLock::new(namespace);
    match slot {
        REQUEST => REQUEST_TYPE.clone(),
        NAMESPACE_OBJECT => NAMESPACE_TYPE.clone(),
        AUTHORIZER => Type::Opaque("kubernetes.authorization.Authorizer"),
        AUTHORIZER_REQUEST_RESOURCE => Type::Opaque("kubernetes.authorization.ResourceCheck"),
        _ => Type::Dyn,
    }
}

/// The type of `request` in Kubernetes' policies, which do not have Usher's aliases of the objects in it.
pub fn policy_request_type() -> Type {
    static POLICY_REQUEST_TYPE: LazyLock<Type> = LazyLock::new(|| request(&[]));
    POLICY_REQUEST_TYPE.clone()
}

/// `BuildRequestType`: an AdmissionRequest without `uid`, `object` and `oldObject`.
fn request(aliases: &[(&'static str, Type)]) -> Type {
    let text = || Type::String;
    let kind = || {
        Type::object(
            "kubernetes.GroupVersionKind",
            [("group", text()), ("version", text()), ("kind", text())],
        )
    };
    let resource = || {
        Type::object(
            "kubernetes.GroupVersionResource",
            [("group", text()), ("version", text()), ("resource", text())],
        )
    };
    let user = Type::object(
        "kubernetes.UserInfo",
        [
            ("username", text()),
            ("uid", text()),
            ("groups", Type::list(text())),
            ("extra", Type::map(text(), Type::list(text()))),
        ],
    );
    let fields = [
        ("kind", kind()),
        ("resource", resource()),
        ("subResource", text()),
        ("requestKind", kind()),
        ("requestResource", resource()),
        ("requestSubResource", text()),
        ("name", text()),
        ("namespace", text()),
        ("operation", text()),
        ("userInfo", user),
        ("dryRun", Type::Bool),
        ("options", Type::Dyn),
    ];
    Type::object("kubernetes.AdmissionRequest", fields.into_iter().chain(aliases.iter().cloned()))
}

/// `BuildNamespaceType`; times are declared as such although they are strings at run time, as in Kubernetes.
fn namespace() -> Type {
    let text = || Type::String;
    let condition = Type::object(
        "kubernetes.NamespaceCondition",
        [
            ("status", text()),
            ("type", text()),
            ("lastTransitionTime", Type::Timestamp),
            ("message", text()),
            ("reason", text()),
        ],
    );
    let metadata = Type::object(
        "kubernetes.NamespaceMetadata",
        [
            ("name", text()),
            ("generateName", text()),
            ("namespace", text()),
            ("labels", Type::map(text(), text())),
            ("annotations", Type::map(text(), text())),
            ("UID", text()),
            ("creationTimestamp", Type::Timestamp),
            ("deletionGracePeriodSeconds", Type::Int),
            ("deletionTimestamp", Type::Timestamp),
            ("generation", Type::Int),
            ("resourceVersion", text()),
            ("finalizers", Type::list(text())),
        ],
    );
    let spec = Type::object("kubernetes.NamespaceSpec", [("finalizers", Type::list(text()))]);
    let status = Type::object(
        "kubernetes.NamespaceStatus",
        [("conditions", Type::list(condition)), ("phase", text())],
    );
    Type::object("kubernetes.Namespace", [("metadata", metadata), ("spec", spec), ("status", status)])
}

#[cfg(test)]
mod tests;
