//! Requests that are always answered with yes, whatever the rules say: what a cluster needs to repair itself.

use super::request::Request;

/// The protected namespaces and kinds. A setting may narrow the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    pub namespaces: Vec<Box<str>>,
    pub kinds: Vec<ProtectedKind>,
}

/// Kinds of one API group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedKind {
    pub group: Box<str>,
    /// Plural; `*` for all of the group.
    pub resource: Box<str>,
}

/// Cluster state that no rule may hold up: (group, resource).
const RESOURCES: &[(&str, &str)] = &[
    ("", "nodes"),
    ("coordination.k8s.io", "leases"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("certificates.k8s.io", "certificatesigningrequests"),
    ("admissionregistration.k8s.io", "*"),
    ("usher.dev", "*"),
];

impl Protected {
    /// The whole set, with Usher's own namespace.
    pub fn new(own_namespace: &str) -> Self {
        let namespaces = [own_namespace, "kube-system", "kube-node-lease"];
        Self {
            namespaces: namespaces.into_iter().filter(|name| !name.is_empty()).map(Box::from).collect(),
            kinds: RESOURCES
                .iter()
                .map(|(group, resource)| ProtectedKind {
                    group: (*group).into(),
                    resource: (*resource).into(),
                })
                .collect(),
        }
    }

    /// Protects nothing: for commands that try rules without a cluster.
    pub fn nothing() -> Self {
        Self { namespaces: Vec::new(), kinds: Vec::new() }
    }

    /// Why the request is never intercepted, if it is so.
    pub fn covers(&self, request: &Request<'_>) -> bool {
        let names = |group: &str, resource: &str| {
            self.kinds
                .iter()
                .any(|kind| *kind.group == *group && (&*kind.resource == "*" || *kind.resource == *resource))
        };
        let in_namespace = !request.namespace.is_empty()
            && self.namespaces.iter().any(|namespace| **namespace == *request.namespace);
        in_namespace
            || names(request.resource.group, request.resource.resource)
            || request.request_resource.is_some_and(|original| names(original.group, original.resource))
    }
}

impl Default for Protected {
    fn default() -> Self {
        Self::new("usher-system")
    }
}
