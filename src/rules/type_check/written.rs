//! The expressions of a rule or policy as they are written, in the order of their evaluation.

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition as PolicyCondition, ParamKind, Variable as PolicyVariable,
};
use usher_cel::KubernetesVersion;

use crate::api::{
    self, MutatingAdmissionPolicy, PolicyMatchResources, RoutingRule, ValidatingAdmissionPolicy,
};
use crate::rules::compile::expressions::{Dialect, Use};
use crate::rules::item::Item;

/// What the checks of a rule or policy need of it.
#[derive(Debug)]
pub(crate) struct Written<'w> {
    pub(crate) dialect: Dialect,
    /// The version of Kubernetes whose CEL they are written in.
    pub(crate) version: KubernetesVersion,
    /// API version and kind of the parameters.
    pub(crate) params: Option<(&'w str, &'w str)>,
    pub(crate) rules: Vec<WrittenRule<'w>>,
    pub(crate) expressions: Vec<WrittenExpression<'w>>,
}

/// One resource rule.
#[derive(Debug)]
pub(crate) struct WrittenRule<'w> {
    pub(crate) groups: &'w [String],
    pub(crate) versions: &'w [String],
    pub(crate) resources: &'w [String],
}

/// One expression.
#[derive(Debug)]
pub(crate) struct WrittenExpression<'w> {
    pub(crate) field: String,
    pub(crate) source: &'w str,
    pub(crate) place: Use,
    /// The name of the variable that it is the value of.
    pub(crate) variable: Option<&'w str>,
}

impl<'w> Written<'w> {
    /// `None` for a binding, which has no expressions.
    pub(crate) fn of(item: &'w Item, version: KubernetesVersion) -> Option<Self> {
        let written = match item {
            Item::RoutingRule(rule) => Self::of_rule(rule),
            Item::ValidatingAdmissionPolicy(policy) => Self::of_validating(policy),
            Item::MutatingAdmissionPolicy(policy) => Self::of_mutating(policy),
            Item::ValidatingAdmissionPolicyBinding(_) | Item::MutatingAdmissionPolicyBinding(_) => {
                return None;
            }
        };
        Some(Self { version, ..written })
    }

    fn of_rule(rule: &'w RoutingRule) -> Self {
        let spec = &rule.spec;
        let mut written = Self {
            dialect: Dialect::RoutingRule,
            version: KubernetesVersion::default(),
            params: spec.params.as_ref().map(|params| (&*params.api_version, &*params.kind)),
            rules: Vec::new(),
            expressions: Vec::new(),
        };
        for rule in spec.match_resources.iter().flat_map(|written| &written.resource_rules) {
            written.rules.push(WrittenRule {
                groups: &rule.api_groups,
                versions: &rule.api_versions,
                resources: &rule.resources,
            });
        }
        for (index, condition) in spec.match_conditions.iter().enumerate() {
            written.add(
                format!("spec.matchConditions[{index}].expression"),
                &condition.expression,
                Use::MatchCondition,
            );
        }
        for (index, variable) in spec.variables.iter().enumerate() {
            written.variable(index, &variable.name, &variable.expression);
        }
        for (index, route) in spec.routes.iter().enumerate() {
            let field = format!("spec.routes[{index}]");
            written.add(format!("{field}.predicate"), &route.predicate, Use::Predicate);
            written.handlers(route, &field);
        }
        written
    }

    fn handlers(&mut self, route: &'w api::Route, field: &str) {
        let messages = [
            ("reject", route.reject.as_ref().and_then(|reject| reject.message_expression.as_deref())),
            ("warn", route.warn.as_ref().and_then(|warn| warn.message_expression.as_deref())),
        ];
        for (name, source) in messages {
            if let Some(source) = source {
                self.add(format!("{field}.{name}.messageExpression"), source, Use::Message);
            }
        }
        if let Some(mutate) = &route.mutate {
            let ways = [
                ("jsonPatch", &mutate.json_patch, Use::JsonPatch),
                ("applyConfiguration", &mutate.apply_configuration, Use::ApplyConfiguration),
            ];
            for (name, source, place) in ways {
                if let Some(source) = source {
                    self.add(format!("{field}.mutate.{name}"), source, place);
                }
            }
        }
        let annotations = [
            ("pass.auditAnnotations", route.pass.as_ref().map(|pass| &pass.audit_annotations)),
            ("audit.annotations", route.audit.as_ref().map(|audit| &audit.annotations)),
        ];
        for (name, annotations) in annotations {
            for (index, annotation) in annotations.into_iter().flatten().enumerate() {
                let field = format!("{field}.{name}[{index}].valueExpression");
                self.add(field, &annotation.value_expression, Use::AuditAnnotation);
            }
        }
    }

    fn of_validating(policy: &'w ValidatingAdmissionPolicy) -> Self {
        let Some(spec) = &policy.spec else { return Self::of_policy(None, None, None, None) };
        let mut written = Self::of_policy(
            spec.param_kind.as_ref(),
            spec.match_constraints.as_ref(),
            spec.match_conditions.as_deref(),
            spec.variables.as_deref(),
        );
        for (index, validation) in spec.validations.iter().flatten().enumerate() {
            let field = format!("spec.validations[{index}]");
            written.add(format!("{field}.expression"), &validation.expression, Use::Predicate);
            if let Some(source) =
                validation.message_expression.as_deref().filter(|source| !source.trim().is_empty())
            {
                written.add(format!("{field}.messageExpression"), source, Use::Message);
            }
        }
        for (index, annotation) in spec.audit_annotations.iter().flatten().enumerate() {
            let field = format!("spec.auditAnnotations[{index}].valueExpression");
            written.add(field, &annotation.value_expression, Use::AuditAnnotation);
        }
        written
    }

    fn of_mutating(policy: &'w MutatingAdmissionPolicy) -> Self {
        let spec = &policy.spec;
        let mut written = Self::of_policy(
            spec.param_kind.as_ref(),
            spec.match_constraints.as_ref(),
            Some(&spec.match_conditions),
            Some(&spec.variables),
        );
        for (index, mutation) in spec.mutations.iter().enumerate() {
            let field = format!("spec.mutations[{index}]");
            if let Some(patch) = &mutation.json_patch {
                written.add(format!("{field}.jsonPatch.expression"), &patch.expression, Use::JsonPatch);
            }
            if let Some(configuration) = &mutation.apply_configuration {
                let field = format!("{field}.applyConfiguration.expression");
                written.add(field, &configuration.expression, Use::ApplyConfiguration);
            }
        }
        written
    }

    fn of_policy(
        params: Option<&'w ParamKind>,
        resources: Option<&'w PolicyMatchResources>,
        conditions: Option<&'w [PolicyCondition]>,
        variables: Option<&'w [PolicyVariable]>,
    ) -> Self {
        let params = params.map(|kind| {
            (kind.api_version.as_deref().unwrap_or_default(), kind.kind.as_deref().unwrap_or_default())
        });
        let mut written = Self {
            dialect: Dialect::Policy,
            version: KubernetesVersion::default(),
            params,
            rules: Vec::new(),
            expressions: Vec::new(),
        };
        for rule in resources.and_then(|resources| resources.resource_rules.as_deref()).into_iter().flatten()
        {
            written.rules.push(WrittenRule {
                groups: rule.api_groups.as_deref().unwrap_or_default(),
                versions: rule.api_versions.as_deref().unwrap_or_default(),
                resources: rule.resources.as_deref().unwrap_or_default(),
            });
        }
        for (index, condition) in conditions.into_iter().flatten().enumerate() {
            written.add(
                format!("spec.matchConditions[{index}].expression"),
                &condition.expression,
                Use::MatchCondition,
            );
        }
        for (index, variable) in variables.into_iter().flatten().enumerate() {
            written.variable(index, &variable.name, &variable.expression);
        }
        written
    }

    fn variable(&mut self, index: usize, name: &'w str, source: &'w str) {
        let at = self.add(format!("spec.variables[{index}].expression"), source, Use::Variable);
        self.expressions[at].variable = Some(name);
    }

    /// Gives back its place among the expressions.
    fn add(&mut self, field: String, source: &'w str, place: Use) -> usize {
        self.expressions.push(WrittenExpression { field, source, place, variable: None });
        self.expressions.len() - 1
    }
}
