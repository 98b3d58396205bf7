//! `RoutingRule` to [`Rule`]: everything that can be wrong with a rule is found here, at once, with its field and its place in the text.

pub(crate) mod constraints;
mod cost;
pub(crate) mod expressions;
pub(crate) mod findings;
mod handlers;
pub(crate) mod params;
mod patches;
pub(crate) mod selector;

use std::sync::Arc;

use usher_cel::KubernetesVersion;

use crate::api::{self, RoutingRule};
use crate::diagnostic::{Code, Diagnostic};
use crate::engine::matching::MatchConstraints;
use crate::engine::{
    Fact, FailurePolicy, Guard, MatchCondition, Mode, Origin, Panics, Protected, Rule, Variable,
};
use crate::rules::Kinds;
use crate::rules::guards::{Effects, guards};
use crate::rules::inline_tests::run_tests;
use expressions::{Dialect, Scope, Use};
use findings::Findings;

/// Most entries of match conditions, variables and routes; Kubernetes' limit for the first. Those behind are not looked at.
const MAX_ITEMS: usize = 64;
/// Most tests of a rule.
const MAX_TESTS: usize = 128;

/// A rule that can be served.
#[derive(Debug)]
pub struct Compiled {
    pub rule: Rule,
    /// What is allowed but hardly meant.
    pub warnings: Vec<Diagnostic>,
}

/// What a rule's meaning depends on besides itself.
#[derive(Clone, Copy, Debug)]
pub struct Context<'c> {
    pub kinds: &'c Kinds,
    pub protected: &'c Protected,
    /// The version of Kubernetes whose CEL expressions are written in.
    pub version: KubernetesVersion,
}

/// Compiles a rule and runs its tests: whether a rule can be served.
///
/// # Errors
/// As [`compile`], and a finding for each test that fails.
pub fn accept(written: &RoutingRule, context: &Context<'_>) -> Result<Compiled, Vec<Diagnostic>> {
    let mut compiled = compile(written, context)?;
    if written.spec.tests.is_empty() {
        return Ok(compiled);
    }
    // The tests get a rule of their own, which they may change; that happens once per version of a rule.
    let failures = run_tests(compile(written, context)?.rule, written, context.kinds);
    if failures.is_empty() {
        return Ok(compiled);
    }
    compiled.warnings.extend(failures);
    Err(compiled.warnings)
}

/// Compiles a rule. Its `tests` are not run: see [`accept`].
///
/// # Errors
/// All findings, warnings included, if one of them is an error.
pub fn compile(written: &RoutingRule, context: &Context<'_>) -> Result<Compiled, Vec<Diagnostic>> {
    let mut findings = Findings::default();
    let rule = rule(written, context, &mut findings);
    let warnings = findings.finish()?;
    Ok(Compiled { rule, warnings })
}

/// What answers in the place of a new rule that does not compile: requests that it would match get its `failurePolicy`, with `reason` as
/// the text. `None` when it cannot be told which requests those are, or when the rule would not be evaluated anyhow.
pub fn placeholder(written: &RoutingRule, reason: &str) -> Option<Rule> {
    let mut findings = Findings::default();
    let constraints = constraints(written, &mut findings);
    if findings.has_errors() || written.spec.mode == api::Mode::Disabled {
        return None;
    }
    Some(Rule { constraints, broken: Some(reason.into()), ..empty(written) })
}

fn rule(written: &RoutingRule, context: &Context<'_>, findings: &mut Findings) -> Rule {
    let spec = &written.spec;
    check_whole(written, findings);
    let constraints = constraints(written, findings);
    let params = spec
        .params
        .as_ref()
        .and_then(|params| params::of_rule(params, "spec.params", context.kinds, findings));
    let mut effects = Effects { params_may_fail: params::may_fail(params.as_ref()), ..Effects::default() };

    let names = spec.variables.iter().map(|variable| variable.name.as_str());
    let mut scope = Scope::new(Dialect::RoutingRule, context.version, spec.params.is_some(), names);
    let mut match_conditions = Vec::new();
    for (index, condition) in spec.match_conditions.iter().take(MAX_ITEMS).enumerate() {
        let field = format!("spec.matchConditions[{index}].expression");
        let checked = handlers::compile(&scope, &condition.expression, field, Use::MatchCondition, findings);
        let Some(checked) = checked else { continue };
        effects.conditions.push(checked.necessary);
        match_conditions
            .push(MatchCondition { name: condition.name.as_str().into(), expression: checked.expression });
    }
    let mut variables = Vec::with_capacity(spec.variables.len());
    for (index, variable) in spec.variables.iter().take(MAX_ITEMS).enumerate() {
        let field = format!("spec.variables[{index}].expression");
        match scope.add_variable(&variable.name, &variable.expression, &field) {
            Ok((expression, warning)) => {
                findings.add_all(warning);
                variables.push(Variable { name: variable.name.as_str().into(), expression });
            }
            Err(rejected) => findings.add_all(rejected.diagnostics),
        }
    }
    let mut routes = Vec::with_capacity(spec.routes.len());
    for (index, route) in spec.routes.iter().take(MAX_ITEMS).enumerate() {
        let field = format!("spec.routes[{index}]");
        let Some((route, necessary)) = handlers::route(route, &field, &scope, findings) else { continue };
        effects.routes.push(Some((necessary, route.holds_when)));
        routes.push(route);
    }
    let guards = guards(effects);
    if !findings.has_errors() {
        warn_about_reach(&constraints, &guards, context.protected, findings);
    }
    Rule { constraints, guards, match_conditions, params, variables, routes, ..empty(written) }
}

fn empty(written: &RoutingRule) -> Rule {
    let spec = &written.spec;
    Rule {
        name: Arc::from(written.metadata.name.as_deref().unwrap_or_default()),
        namespace: None,
        origin: Origin::RoutingRule,
        priority: spec.priority,
        mode: match spec.mode {
            api::Mode::Enforce => Mode::Enforce,
            api::Mode::Warn => Mode::Warn,
            api::Mode::Audit => Mode::Audit,
            api::Mode::Shadow => Mode::Shadow,
            api::Mode::Disabled => Mode::Disabled,
        },
        failure_policy: match spec.failure_policy {
            api::FailurePolicy::Fail => FailurePolicy::Fail,
            api::FailurePolicy::Ignore => FailurePolicy::Ignore,
        },
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

fn constraints(written: &RoutingRule, findings: &mut Findings) -> MatchConstraints {
    let resources = written.spec.match_resources.as_ref();
    resources.map(|resources| constraints::of_rule(resources, "spec.match", findings)).unwrap_or_default()
}

/// What concerns the rule as a whole: names, lengths, parts that do not go together.
fn check_whole(written: &RoutingRule, findings: &mut Findings) {
    let spec = &written.spec;
    match written.metadata.name.as_deref() {
        None | Some("") => {
            findings.error(Code::MissingName, "metadata.name", "the rule has no name", "give it one");
        }
        Some(name) if !selector::is_dns_subdomain(name) => findings.error(
            Code::InvalidValue,
            "metadata.name",
            format!("`{name}` is no name of an object"),
            "write lower-case letters, digits, `-` and `.`, with a letter or digit at both ends",
        ),
        Some(_) => {}
    }
    findings.at_most("spec.matchConditions", spec.match_conditions.len(), MAX_ITEMS);
    findings.at_most("spec.variables", spec.variables.len(), MAX_ITEMS);
    findings.at_most("spec.routes", spec.routes.len(), MAX_ITEMS);
    findings.at_most("spec.tests", spec.tests.len(), MAX_TESTS);
    findings.unique("spec.matchConditions", "name", spec.match_conditions.iter().map(|item| &*item.name));
    findings.unique("spec.variables", "name", spec.variables.iter().map(|item| &*item.name));
    findings.unique("spec.routes", "name", spec.routes.iter().map(|item| &*item.name));
    findings.unique("spec.tests", "name", spec.tests.iter().map(|item| &*item.name));
    for (index, condition) in spec.match_conditions.iter().enumerate() {
        if !selector::is_qualified_name(&condition.name) {
            findings.error(
                Code::InvalidValue,
                format!("spec.matchConditions[{index}].name"),
                format!("`{}` is no name of a condition", condition.name),
                "write a name such as `exclude-leases` or `example.com/exclude-leases`",
            );
        }
    }
    for (index, variable) in spec.variables.iter().enumerate() {
        if !is_identifier(&variable.name) {
            findings.error(
                Code::InvalidValue,
                format!("spec.variables[{index}].name"),
                format!("`{}` is no CEL identifier", variable.name),
                "write letters, digits and `_`, not beginning with a digit and no word of the language",
            );
        }
    }
    if spec.routes.is_empty() {
        findings.error(
            Code::MissingField,
            "spec.routes",
            "the rule has no routes",
            "add a route: a name, a predicate and a handler",
        );
    }
    let limited = matches!(spec.mode, api::Mode::Warn | api::Mode::Audit);
    if limited
        && !spec.routes.is_empty()
        && spec.routes.iter().all(|route| route.mutate.is_some() || route.pass.is_some())
    {
        findings.error(
            Code::NoEffect,
            "spec.mode",
            format!("mode {:?} has no effect on a rule that only mutates or passes", spec.mode),
            "use mode Shadow to try it",
        );
    }
    for (index, test) in spec.tests.iter().enumerate() {
        if let Some(route) = &test.expect.route
            && !spec.routes.iter().any(|known| known.name == *route)
        {
            let names = spec.routes.iter().map(|route| route.name.as_str());
            let help = match usher_cel::compile::nearest(route, names.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the routes are {}", names.collect::<Vec<_>>().join(", ")),
            };
            let field = format!("spec.tests[{index}].expect.route");
            findings.error(Code::InvalidValue, field, format!("the rule has no route `{route}`"), &help);
        }
    }
}

/// Says where a rule reaches further than its author may think, and where less far.
fn warn_about_reach(
    constraints: &MatchConstraints,
    guards: &[Guard],
    protected: &Protected,
    findings: &mut Findings,
) {
    if constraints.resource_rules.is_empty() && guards.is_empty() {
        findings.warning(
            Code::MatchesEverything,
            "spec.match",
            "the rule looks at every request of the API server",
            "name the resources in spec.match.resourceRules",
        );
    }
    for (index, rule) in constraints.resource_rules.iter().enumerate() {
        for (at, pattern) in rule.resources.iter().enumerate() {
            let covered = protected.kinds.iter().any(|kind| {
                rule.api_groups.contains(&kind.group)
                    && (kind.resource == pattern.resource || &*kind.resource == "*")
            });
            if covered {
                findings.warning(
                    Code::NeverIntercepted,
                    format!("spec.match.resourceRules[{index}].resources[{at}]"),
                    format!(
                        "requests for `{}` are never intercepted, so that a cluster can always be mended",
                        pattern.resource
                    ),
                    "leave it out",
                );
            }
        }
    }
    for guard in guards.iter().filter(|guard| guard.fact == Fact::Namespace) {
        let left_out: Vec<&str> = guard
            .values
            .iter()
            .filter(|value| protected.namespaces.contains(value))
            .map(AsRef::as_ref)
            .collect();
        if !left_out.is_empty() {
            findings.warning(
                Code::NeverIntercepted,
                "spec",
                format!(
                    "requests in the namespace {} are never intercepted, so that a cluster can always be mended",
                    left_out.join(", ")
                ),
                "name other namespaces",
            );
        }
    }
}

/// A name that can stand behind `variables.`.
pub(crate) fn is_identifier(name: &str) -> bool {
    const RESERVED: &[&str] = &["true", "false", "null", "in"];
    !RESERVED.contains(&name)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
}

#[cfg(test)]
mod guarded;
#[cfg(test)]
mod tests;
