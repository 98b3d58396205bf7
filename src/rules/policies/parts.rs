//! What both kinds of policies have.

use std::sync::Arc;

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition as WrittenCondition, ParamKind, ParamRef, Variable as WrittenVariable,
};

use crate::api::PolicyMatchResources;
use crate::diagnostic::{Code, Diagnostic};
use crate::engine::matching::MatchConstraints;
use crate::engine::{
    FailurePolicy, MatchCondition, Mode, NotFound, Origin, Panics, ParamChoice, ParamReference, Params, Rule,
    Variable,
};
use crate::rules::compile::constraints::of_policy;
use crate::rules::compile::expressions::{Dialect, Rejected, Scope, Use};
use crate::rules::compile::findings::Findings;
use crate::rules::compile::selector::selector;
use crate::rules::compile::{is_identifier, params};
use crate::rules::guards::{Effects, guards};
use crate::rules::{Context, Kinds};

/// The common fields of a policy.
pub(super) struct Policy<'p> {
    pub(super) failure_policy: FailurePolicy,
    pub(super) match_constraints: Option<&'p PolicyMatchResources>,
    pub(super) match_conditions: &'p [WrittenCondition],
    pub(super) variables: &'p [WrittenVariable],
    pub(super) param_kind: Option<&'p ParamKind>,
}

/// The common fields of a binding.
#[derive(Clone, Copy, Default)]
pub(super) struct Binding<'p> {
    pub(super) param_ref: Option<&'p ParamRef>,
    pub(super) match_resources: Option<&'p PolicyMatchResources>,
}

/// A rule in the making.
pub(super) struct Builder {
    pub(super) rule: Rule,
    pub(super) scope: Scope,
    pub(super) effects: Effects,
    /// Findings that concern the shape of the policy: with an error among them there is no rule.
    pub(super) shape: Findings,
    /// Findings in expressions, which leave the policy in force.
    pub(super) expressions: Vec<Diagnostic>,
    binding: Findings,
}

impl Builder {
    pub(super) fn new(
        name: Arc<str>,
        origin: Origin,
        policy: &Policy<'_>,
        binding: Binding<'_>,
        context: &Context<'_>,
    ) -> Self {
        let mut shape = Findings::default();
        let mut of_binding = Findings::default();
        let constraints = constraints(policy, &mut shape);
        let binding_constraints = binding
            .match_resources
            .map(|resources| of_policy(resources, "spec.matchResources", &mut of_binding))
            .map(Box::new);
        check_names(policy, &mut shape);

        let names = policy.variables.iter().map(|variable| variable.name.as_str());
        let mut builder = Self {
            rule: Rule {
                name,
                namespace: None,
                origin,
                priority: 0,
                mode: Mode::Enforce,
                failure_policy: policy.failure_policy,
                constraints,
                binding_constraints,
                guards: Vec::new(),
                match_conditions: Vec::new(),
                params: None,
                variables: Vec::new(),
                routes: Vec::new(),
                audit_annotations: Vec::new(),
                broken: None,
                panics: Panics::default(),
            },
            scope: Scope::new(Dialect::Policy, context.version, policy.param_kind.is_some(), names),
            effects: Effects::default(),
            shape,
            expressions: Vec::new(),
            binding: of_binding,
        };
        if let Some(kind) = policy.param_kind {
            builder.params(kind, binding.param_ref, context.kinds);
        }
        builder.effects.params_may_fail = params::may_fail(builder.rule.params.as_ref());
        builder.conditions(policy.match_conditions);
        builder.variables(policy.variables);
        builder
    }

    /// Compiles an expression; what is wrong with it is taken down, and given back as Kubernetes words it.
    pub(super) fn compile(
        &mut self,
        source: &str,
        field: &str,
        place: Use,
    ) -> Result<crate::rules::compile::expressions::Checked, String> {
        match self.scope.compile(source, field, place) {
            Ok(mut checked) => {
                self.expressions.extend(checked.warning.take());
                Ok(checked)
            }
            Err(Rejected { diagnostics, text }) => {
                self.expressions.extend(diagnostics);
                Err(format!("compilation error: {text}"))
            }
        }
    }

    /// The whole policy is an evaluation error. The first reason is kept.
    pub(super) fn break_with(&mut self, reason: String) {
        self.rule.broken.get_or_insert_with(|| reason.into());
    }

    pub(super) fn finish(mut self) -> super::CompiledPolicy {
        let usable = !self.shape.has_errors() && !self.binding.has_errors();
        if self.rule.broken.is_some() {
            // A broken rule always does something.
            self.effects.annotates = true;
        }
        self.rule.guards = guards(self.effects);
        let all = |findings: Findings| findings.finish().unwrap_or_else(|findings| findings);
        let mut diagnostics = all(self.shape);
        diagnostics.extend(self.expressions);
        super::CompiledPolicy {
            rule: usable.then_some(self.rule),
            diagnostics,
            binding_diagnostics: all(self.binding),
        }
    }

    fn conditions(&mut self, written: &[WrittenCondition]) {
        self.shape.at_most("spec.matchConditions", written.len(), 64);
        for (index, condition) in written.iter().enumerate() {
            let field = format!("spec.matchConditions[{index}].expression");
            match self.compile(&condition.expression, &field, Use::MatchCondition) {
                Ok(checked) => {
                    self.effects.conditions.push(checked.necessary);
                    self.rule.match_conditions.push(MatchCondition {
                        name: condition.name.as_str().into(),
                        expression: checked.expression,
                    });
                }
                // The others can still be false, which beats the error.
                Err(text) => {
                    self.break_with(format!(
                        "expression '{}' resulted in error: {text}",
                        condition.expression.trim()
                    ));
                }
            }
        }
    }

    fn variables(&mut self, written: &[WrittenVariable]) {
        for (index, variable) in written.iter().enumerate() {
            let field = format!("spec.variables[{index}].expression");
            let name: Arc<str> = variable.name.as_str().into();
            match self.scope.add_variable(&variable.name, &variable.expression, &field) {
                Ok((expression, warning)) => {
                    self.expressions.extend(warning);
                    self.rule.variables.push(Variable { name, expression });
                }
                // What reads it is refused by the scope; it only keeps its place.
                Err(rejected) => {
                    self.expressions.extend(rejected.diagnostics);
                    if let Ok(null) = self.scope.compile("null", &field, Use::Variable) {
                        self.rule.variables.push(Variable { name, expression: null.expression });
                    }
                }
            }
        }
    }

    /// apiserver `policy/generic/policy_dispatcher.go`, `CollectParams`: what cannot be found out about parameters is an error of the policy
    /// or the binding, which counts whatever the binding's actions are.
    fn params(&mut self, kind: &ParamKind, reference: Option<&ParamRef>, kinds: &Kinds) {
        let api_version = kind.api_version.as_deref().unwrap_or_default();
        let name = kind.kind.as_deref().unwrap_or_default();
        let namespaced = match kinds.namespaced(api_version, name) {
            Some(namespaced) => namespaced,
            None => {
                let message = format!("{name} of {api_version} is not known");
                let help = "add its CustomResourceDefinition to the rules";
                self.expressions
                    .push(Diagnostic::error(Code::UnknownParamKind, message).at("spec.paramKind").help(help));
                self.break_with(format!(
                    "failed to configure policy: failed to find resource referenced by paramKind: '{api_version}, Kind={name}'"
                ));
                return;
            }
        };
        let reference = reference.and_then(|reference| self.param_reference(reference, namespaced));
        self.rule.params =
            Some(Params { api_version: api_version.into(), kind: name.into(), namespaced, reference });
    }

    fn param_reference(&mut self, written: &ParamRef, namespaced: bool) -> Option<ParamReference> {
        let choice = match (written.name.as_deref(), &written.selector) {
            (Some(name), None) => ParamChoice::Name(name.into()),
            (None, Some(written)) => {
                ParamChoice::Selector(selector(Some(written), "spec.paramRef.selector", &mut self.binding))
            }
            (name, _) => {
                let message = if name.is_some() {
                    "both name and selector are set"
                } else {
                    "neither name nor selector is set"
                };
                self.binding.error(
                    Code::InvalidValue,
                    "spec.paramRef",
                    message,
                    "set one of name and selector",
                );
                return None;
            }
        };
        if !namespaced && written.namespace.as_deref().is_some_and(|namespace| !namespace.is_empty()) {
            self.binding.warning(
                Code::InvalidValue,
                "spec.paramRef.namespace",
                "the kind of the parameters is cluster-scoped: its objects are in no namespace",
                "leave namespace out",
            );
            self.break_with(
                "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
                    .to_owned(),
            );
        }
        let not_found = match written.parameter_not_found_action.as_deref() {
            Some("Allow") => NotFound::Allow,
            Some("Deny") => NotFound::Deny,
            other => {
                self.binding.error(
                    Code::InvalidValue,
                    "spec.paramRef.parameterNotFoundAction",
                    match other {
                        Some(other) => format!("`{other}` is no action"),
                        None => "it is not said what a missing parameter means".to_owned(),
                    },
                    "write Allow or Deny",
                );
                NotFound::Deny
            }
        };
        let namespace = written.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        Some(ParamReference { choice, namespace: namespace.map(Into::into), not_found })
    }
}

fn constraints(policy: &Policy<'_>, findings: &mut Findings) -> MatchConstraints {
    let written = policy.match_constraints;
    if written.is_none_or(|written| written.resource_rules.as_ref().is_none_or(Vec::is_empty)) {
        findings.error(
            Code::MissingField,
            "spec.matchConstraints.resourceRules",
            "a policy must say which resources it is about",
            "add at least one resource rule",
        );
    }
    written.map(|written| of_policy(written, "spec.matchConstraints", findings)).unwrap_or_default()
}

fn check_names(policy: &Policy<'_>, findings: &mut Findings) {
    let conditions = policy.match_conditions.iter().map(|condition| condition.name.as_str());
    findings.unique("spec.matchConditions", "name", conditions);
    findings.unique("spec.variables", "name", policy.variables.iter().map(|variable| variable.name.as_str()));
    for (index, variable) in policy.variables.iter().enumerate() {
        if !is_identifier(&variable.name) {
            findings.error(
                Code::InvalidValue,
                format!("spec.variables[{index}].name"),
                format!("`{}` is no CEL identifier", variable.name),
                "write letters, digits and `_`, not beginning with a digit",
            );
        }
    }
}

/// `POLICY/BINDING`; a policy that is tried without a binding has its own name.
pub(super) fn rule_name(policy: Option<&str>, binding: Option<&str>) -> Arc<str> {
    let policy = policy.unwrap_or_default();
    match binding {
        Some(binding) => format!("{policy}/{binding}").into(),
        None => policy.into(),
    }
}

/// `failurePolicy`, which is Fail unless it says otherwise.
pub(super) fn failure_policy(written: Option<&str>) -> FailurePolicy {
    match written {
        Some("Ignore") => FailurePolicy::Ignore,
        _ => FailurePolicy::Fail,
    }
}
