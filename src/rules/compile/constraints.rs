//! `match` of a rule, `matchConstraints` of a policy, `matchResources` of a binding.

use k8s_openapi::api::admissionregistration::v1::NamedRuleWithOperations;

use super::findings::Findings;
use super::selector::selector;
use crate::api::{self, LabelSelector, MatchResources, PolicyMatchResources};
use crate::diagnostic::Code;
use crate::engine::Operation;
use crate::engine::matching::{
    MatchConstraints, MatchPolicy, OperationSet, ResourcePattern, ResourceRule, RuleScope,
};

/// Either way to write it, borrowed.
struct Written<'w> {
    rules: Vec<WrittenRule<'w>>,
    exclude: Vec<WrittenRule<'w>>,
    namespace_selector: Option<&'w LabelSelector>,
    object_selector: Option<&'w LabelSelector>,
}

struct WrittenRule<'w> {
    api_groups: &'w [String],
    api_versions: &'w [String],
    resources: &'w [String],
    operations: Vec<&'w str>,
    resource_names: &'w [String],
    scope: &'w str,
}

/// Translates a rule's `match`.
pub(super) fn of_rule(written: &MatchResources, field: &str, findings: &mut Findings) -> MatchConstraints {
    let policy = match written.match_policy {
        api::MatchPolicy::Equivalent => MatchPolicy::Equivalent,
        api::MatchPolicy::Exact => MatchPolicy::Exact,
    };
    let written = Written {
        rules: written.resource_rules.iter().map(WrittenRule::of_rule).collect(),
        exclude: written.exclude_resource_rules.iter().map(WrittenRule::of_rule).collect(),
        namespace_selector: written.namespace_selector.as_ref(),
        object_selector: written.object_selector.as_ref(),
    };
    translate(&written, policy, field, findings)
}

/// Translates what a policy or a binding has. `matchPolicy` defaults to `Equivalent`, selectors to everything.
pub(crate) fn of_policy(
    written: &PolicyMatchResources,
    field: &str,
    findings: &mut Findings,
) -> MatchConstraints {
    let policy = match written.match_policy.as_deref() {
        None | Some("Equivalent") => MatchPolicy::Equivalent,
        Some("Exact") => MatchPolicy::Exact,
        Some(other) => {
            let message = format!("`{other}` is no match policy");
            findings.error(
                Code::InvalidValue,
                format!("{field}.matchPolicy"),
                message,
                "write Equivalent or Exact",
            );
            MatchPolicy::Equivalent
        }
    };
    let written = Written {
        rules: written.resource_rules.iter().flatten().map(WrittenRule::of_policy).collect(),
        exclude: written.exclude_resource_rules.iter().flatten().map(WrittenRule::of_policy).collect(),
        namespace_selector: written.namespace_selector.as_ref(),
        object_selector: written.object_selector.as_ref(),
    };
    translate(&written, policy, field, findings)
}

impl<'w> WrittenRule<'w> {
    fn of_rule(rule: &'w api::ResourceRule) -> Self {
        Self {
            api_groups: &rule.api_groups,
            api_versions: &rule.api_versions,
            resources: &rule.resources,
            operations: rule.operations.iter().map(|operation| operation_name(*operation)).collect(),
            resource_names: &rule.resource_names,
            scope: match rule.scope {
                api::Scope::All => "*",
                api::Scope::Cluster => "Cluster",
                api::Scope::Namespaced => "Namespaced",
            },
        }
    }

    fn of_policy(rule: &'w NamedRuleWithOperations) -> Self {
        Self {
            api_groups: rule.api_groups.as_deref().unwrap_or_default(),
            api_versions: rule.api_versions.as_deref().unwrap_or_default(),
            resources: rule.resources.as_deref().unwrap_or_default(),
            operations: rule.operations.iter().flatten().map(String::as_str).collect(),
            resource_names: rule.resource_names.as_deref().unwrap_or_default(),
            scope: rule.scope.as_deref().unwrap_or("*"),
        }
    }
}

fn operation_name(operation: api::Operation) -> &'static str {
    match operation {
        api::Operation::All => "*",
        api::Operation::Create => "CREATE",
        api::Operation::Update => "UPDATE",
        api::Operation::Delete => "DELETE",
        api::Operation::Connect => "CONNECT",
    }
}

fn translate(
    written: &Written<'_>,
    match_policy: MatchPolicy,
    field: &str,
    findings: &mut Findings,
) -> MatchConstraints {
    let rules = |list: &[WrittenRule<'_>], name: &str, findings: &mut Findings| {
        findings.at_most(&format!("{field}.{name}"), list.len(), 64);
        list.iter()
            .enumerate()
            .map(|(index, rule)| resource_rule(rule, &format!("{field}.{name}[{index}]"), findings))
            .collect()
    };
    MatchConstraints {
        resource_rules: rules(&written.rules, "resourceRules", findings),
        exclude_resource_rules: rules(&written.exclude, "excludeResourceRules", findings),
        namespace_selector: selector(
            written.namespace_selector,
            &format!("{field}.namespaceSelector"),
            findings,
        ),
        object_selector: selector(written.object_selector, &format!("{field}.objectSelector"), findings),
        match_policy,
    }
}

/// Kubernetes `apis/admissionregistration/validation`, `validateRuleWithOperations`.
fn resource_rule(written: &WrittenRule<'_>, field: &str, findings: &mut Findings) -> ResourceRule {
    let boxed = |list: &[String]| list.iter().map(|text| text.as_str().into()).collect();
    let groups: Vec<&str> = written.api_groups.iter().map(String::as_str).collect();
    let versions: Vec<&str> = written.api_versions.iter().map(String::as_str).collect();
    check_list(&groups, &format!("{field}.apiGroups"), "the API groups; `\"\"` is the core group", findings);
    check_list(&versions, &format!("{field}.apiVersions"), "the versions, or `*`", findings);
    check_list(&written.operations, &format!("{field}.operations"), "the operations, or `*`", findings);
    if let Some(index) = versions.iter().position(|version| version.is_empty()) {
        findings.error(
            Code::InvalidValue,
            format!("{field}.apiVersions[{index}]"),
            "an API version cannot be empty",
            "write a version such as `v1`, or `*`",
        );
    }
    check_resources(written.resources, &format!("{field}.resources"), findings);
    let mut operations = OperationSet::default();
    for (index, name) in written.operations.iter().enumerate() {
        match Operation::parse(name) {
            _ if *name == "*" => operations = OperationSet::ALL,
            Some(operation) => operations = operations.with(operation),
            None => findings.error(
                Code::InvalidValue,
                format!("{field}.operations[{index}]"),
                format!("`{name}` is no operation"),
                "write CREATE, UPDATE, DELETE, CONNECT or `*`",
            ),
        }
    }
    let scope = match written.scope {
        "*" => RuleScope::Any,
        "Cluster" => RuleScope::Cluster,
        "Namespaced" => RuleScope::Namespaced,
        other => {
            let message = format!("`{other}` is no scope");
            findings.error(
                Code::InvalidValue,
                format!("{field}.scope"),
                message,
                "write Cluster, Namespaced or `*`",
            );
            RuleScope::Any
        }
    };
    findings.at_most(&format!("{field}.resourceNames"), written.resource_names.len(), 256);
    ResourceRule {
        api_groups: boxed(written.api_groups),
        api_versions: boxed(written.api_versions),
        resources: written.resources.iter().map(|text| ResourcePattern::parse(text)).collect(),
        operations,
        scope,
        resource_names: boxed(written.resource_names),
    }
}

fn check_list(list: &[&str], field: &str, what: &str, findings: &mut Findings) {
    if list.is_empty() {
        findings.error(
            Code::MissingField,
            field,
            "empty: the rule would match nothing",
            &format!("list {what}"),
        );
    }
    if list.len() > 1 && list.contains(&"*") {
        findings.error(
            Code::InvalidValue,
            field,
            "`*` stands beside other entries",
            "`*` means all of them; leave the others out",
        );
    }
}

fn check_resources(resources: &[String], field: &str, findings: &mut Findings) {
    if resources.is_empty() {
        findings.error(
            Code::MissingField,
            field,
            "empty: the rule would match nothing",
            "list the resources by their plural, such as `pods`",
        );
    }
    for (index, resource) in resources.iter().enumerate() {
        let field = format!("{field}[{index}]");
        let parts: Vec<&str> = resource.split('/').collect();
        if parts.len() > 2 || parts.contains(&"") {
            findings.error(
                Code::InvalidValue,
                field,
                format!("`{resource}` is no resource"),
                "write `pods`, `pods/exec` or `pods/*`",
            );
        } else if resource.bytes().any(|byte| byte.is_ascii_uppercase()) {
            let help = format!(
                "resources are written as in URLs: lower case and plural, such as `{}s`",
                lower(resource)
            );
            findings.warning(Code::NoEffect, field, format!("no resource is called `{resource}`"), &help);
        }
    }
}

fn lower(text: &str) -> String {
    text.to_ascii_lowercase()
}
