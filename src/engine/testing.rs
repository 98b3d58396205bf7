//! Builders for tests: rules and requests in a line.

use std::sync::Arc;

use super::matching::{MatchConstraints, OperationSet, ResourcePattern, ResourceRule};
use super::request::{GroupVersionKind, GroupVersionResource, Operation, Request, UserInfo};
use super::rule::{FailurePolicy, Handler, Message, Mode, Origin, Reason, Route, Rule};

/// A rule about every call, without routes.
pub(crate) fn mk_rule(name: &str) -> Rule {
    Rule {
        name: name.into(),
        namespace: None,
        origin: Origin::RoutingRule,
        priority: 0,
        mode: Mode::Enforce,
        failure_policy: FailurePolicy::Fail,
        constraints: MatchConstraints::default(),
        binding_constraints: None,
        guards: Vec::new(),
        match_conditions: Vec::new(),
        params: None,
        variables: Vec::new(),
        routes: Vec::new(),
        audit_annotations: Vec::new(),
    }
}

pub(crate) fn mk_route(name: &str, handler: Handler) -> Route {
    Route { name: name.into(), predicate: None, holds_when: true, handler, audit_annotations: Vec::new() }
}

pub(crate) fn mk_reject(text: &str) -> Handler {
    let message = Message { text: Some(Arc::from(text)), expression: None };
    Handler::Reject { message, reason: Reason::Invalid }
}

/// `group/version/pattern`, all operations.
pub(crate) fn mk_resource_rule(text: &str) -> ResourceRule {
    let mut parts = text.splitn(3, '/');
    let mut part = || parts.next().unwrap_or_default();
    ResourceRule {
        api_groups: vec![part().into()],
        api_versions: vec![part().into()],
        resources: vec![ResourcePattern::parse(part())],
        operations: OperationSet::ALL,
        ..ResourceRule::default()
    }
}

/// A Pod called `p` that alice creates in the namespace `default`.
pub(crate) fn mk_request() -> Request<'static> {
    Request {
        uid: "1",
        kind: GroupVersionKind { group: "", version: "v1", kind: "Pod" },
        resource: GroupVersionResource { group: "", version: "v1", resource: "pods" },
        name: "p",
        namespace: "default",
        operation: Operation::Create,
        user_info: UserInfo {
            username: "alice",
            groups: vec!["system:authenticated"],
            ..UserInfo::default()
        },
        object: Some(r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"app":"web"}}}"#),
        ..Request::default()
    }
}
