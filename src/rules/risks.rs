//! What a rule that can be served may do to a cluster that its author hardly wants: said when it is stored.
//!
//! What is wrong with every rule of its kind, wherever it is read, the compiler says itself. Here stands what is a question of the cluster that it is
//! put into, and only of rules in force.

use crate::api::{FailurePolicy, Mode, Operation, ResourceRule, RoutingRule};
use crate::diagnostic::{Code, Diagnostic};

/// The warnings, in the order of the fields.
pub(super) fn risks(written: &RoutingRule) -> Vec<Diagnostic> {
    if written.spec.mode != Mode::Enforce {
        return Vec::new();
    }
    [
        fails_for_everything(written),
        holds_up_deletions(written),
        refuses_everything(written),
        untested(written),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn resource_rules(written: &RoutingRule) -> &[ResourceRule] {
    written.spec.match_resources.as_ref().map(|resources| &*resources.resource_rules).unwrap_or_default()
}

fn has(list: &[String], names: &[&str]) -> bool {
    list.iter().any(|one| names.contains(&one.as_str()))
}

/// While no replica answers, such a rule holds up nearly every write to the API server.
fn fails_for_everything(written: &RoutingRule) -> Option<Diagnostic> {
    let everything =
        |rule: &ResourceRule| has(&rule.api_groups, &["*"]) && has(&rule.resources, &["*", "*/*"]);
    let index = resource_rules(written).iter().position(everything)?;
    (written.spec.failure_policy == FailurePolicy::Fail).then(|| {
        Diagnostic::warning(
            Code::FailsForEverything,
            "while Usher does not answer, requests of every kind are refused",
        )
        .at(format!("spec.match.resourceRules[{index}]"))
        .help("name groups and resources, or set spec.failurePolicy to Ignore")
    })
}

/// A namespace ends only when everything in it could be deleted.
fn holds_up_deletions(written: &RoutingRule) -> Option<Diagnostic> {
    let rejects = written.spec.routes.iter().any(|route| route.reject.is_some());
    let named = |rule: &ResourceRule| {
        rule.operations.iter().any(|operation| matches!(operation, Operation::All | Operation::Delete))
    };
    let index = resource_rules(written).iter().position(named)?;
    rejects.then(|| {
        Diagnostic::warning(
            Code::HoldsUpDeletions,
            "a namespace with an object whose deletion is refused never ends",
        )
        .at(format!("spec.match.resourceRules[{index}].operations"))
        .help("leave DELETE out, or let system:serviceaccount:kube-system:namespace-controller pass")
    })
}

/// A route that refuses whatever the rule matches, with nothing before it that could let a request pass.
fn refuses_everything(written: &RoutingRule) -> Option<Diagnostic> {
    let spec = &written.spec;
    let index =
        spec.routes.iter().position(|route| route.reject.is_some() && route.predicate.trim() == "true")?;
    let may_pass = spec.routes.iter().take(index).any(|route| route.pass.is_some());
    (!may_pass && spec.match_conditions.is_empty()).then(|| {
        Diagnostic::warning(Code::RefusesEverything, "every request that the rule matches is refused")
            .at(format!("spec.routes[{index}].predicate"))
            .help("try it with spec.mode Warn first")
    })
}

fn untested(written: &RoutingRule) -> Option<Diagnostic> {
    written.spec.tests.is_empty().then(|| {
        Diagnostic::warning(Code::Untested, "the rule is in force without a test")
            .at("spec.tests")
            .help("add one of a request that it lets through and one that it does not")
    })
}
