//! Builders for tests: rules and requests in a line.

use std::sync::Arc;

use super::matching::{MatchConstraints, OperationSet, ResourcePattern, ResourceRule};
use super::request::{GroupVersionKind, GroupVersionResource, Operation, Request, UserInfo};
use super::rule::{
    FailurePolicy, Handler, MatchCondition, Message, Mode, Mutation, Origin, Panics, Reason, Route, Rule,
};
use super::{Expression, Protected, RuleIndex, RuleSet, slots};

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
        broken: None,
        panics: Panics::default(),
    }
}

pub(crate) fn mk_route(name: &str, handler: Handler) -> Route {
    Route { name: name.into(), predicate: None, holds_when: true, handler, audit_annotations: Vec::new() }
}

pub(crate) fn mk_reject(text: &str) -> Handler {
    let message = Message { text: Some(Arc::from(text)), expression: None };
    Handler::Reject { message, reason: Reason::Invalid, code: Reason::Invalid.code() }
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

/// Compiles an expression of a rule that has these variables.
pub(crate) fn mk_expression_with(text: &str, variables: &[&str]) -> Expression {
    let mut env = slots::base_env().with_mutation_types();
    for (slot, name) in (slots::FIRST_VARIABLE..).zip(variables) {
        assert_eq!(env.declare(&format!("variables.{name}")), slot);
    }
    Expression::new(env.compile(text).unwrap_or_else(|issues| panic!("{text}: {issues:?}")))
}

pub(crate) fn mk_expression(text: &str) -> Expression {
    mk_expression_with(text, &[])
}

/// A route that acts when the predicate is true.
pub(crate) fn mk_route_if(name: &str, predicate: &str, handler: Handler) -> Route {
    Route { predicate: Some(mk_expression(predicate)), ..mk_route(name, handler) }
}

pub(crate) fn mk_json_patch(text: &str) -> Handler {
    Handler::Mutate(Mutation::JsonPatch(Box::new(mk_expression(text))))
}

pub(crate) fn mk_apply_configuration(text: &str) -> Handler {
    Handler::Mutate(Mutation::ApplyConfiguration(Box::new(mk_expression(text))))
}

pub(crate) fn mk_condition(name: &str, text: &str) -> MatchCondition {
    MatchCondition { name: name.into(), expression: mk_expression(text) }
}

/// Publishes rules, with nothing protected.
pub(crate) fn mk_rule_set(rules: impl IntoIterator<Item = Rule>) -> RuleSet {
    let mut index = RuleIndex::new(Protected::nothing());
    for rule in rules {
        index.apply(Arc::new(rule));
    }
    index.snapshot()
}
