//! `MutatingAdmissionPolicy`.

use super::CompiledPolicy;
use super::parts::{Binding, Builder, Policy, rule_name};
use crate::api::{self, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, PatchType};
use crate::diagnostic::Code;
use crate::engine::matching::MatchConstraints;
use crate::engine::{FailurePolicy, Handler, Mutation, Operation, Origin, Route};
use crate::rules::Context;
use crate::rules::compile::expressions::Use;
use crate::rules::guards::Necessary;

/// Compiles one binding of a policy; without one, as if a binding covered everything: see [`super::compile_validating`].
pub fn compile_mutating(
    policy: &MutatingAdmissionPolicy,
    binding: Option<&MutatingAdmissionPolicyBinding>,
    context: &Context<'_>,
) -> CompiledPolicy {
    let spec = &policy.spec;
    let policy_name = policy.metadata.name.as_deref();
    let binding_name = binding.and_then(|binding| binding.metadata.name.as_deref());
    let origin = Origin::MutatingAdmissionPolicy {
        policy: policy_name.unwrap_or_default().into(),
        binding: binding_name.unwrap_or_default().into(),
    };
    let parts = Policy {
        failure_policy: match spec.failure_policy {
            None | Some(api::FailurePolicy::Fail) => FailurePolicy::Fail,
            Some(api::FailurePolicy::Ignore) => FailurePolicy::Ignore,
        },
        match_constraints: spec.match_constraints.as_ref(),
        match_conditions: &spec.match_conditions,
        variables: &spec.variables,
        param_kind: spec.param_kind.as_ref(),
    };
    let bound = binding.map_or_else(Binding::default, |binding| Binding {
        param_ref: binding.spec.param_ref.as_ref(),
        match_resources: binding.spec.match_resources.as_ref(),
    });
    let name = rule_name(policy_name, binding_name);
    let mut builder = Builder::new(name, origin, &parts, bound, context);
    without_delete(&mut builder.rule.constraints);
    if spec.mutations.is_empty() {
        builder.shape.error(
            Code::MissingField,
            "spec.mutations",
            "a policy must have mutations",
            "add a mutation",
        );
    }
    for (index, mutation) in spec.mutations.iter().enumerate() {
        let route = self::mutation(mutation, index, &mut builder);
        builder.rule.routes.extend(route);
    }
    builder.finish()
}

fn mutation(written: &api::Mutation, index: usize, builder: &mut Builder) -> Option<Route> {
    let field = format!("spec.mutations[{index}]");
    let name = format!("mutations[{index}]");
    let (source, part, place) = match (written.patch_type, &written.json_patch, &written.apply_configuration)
    {
        (PatchType::JsonPatch, Some(patch), None) => (&patch.expression, "jsonPatch", Use::JsonPatch),
        (PatchType::ApplyConfiguration, None, Some(configuration)) => {
            (&configuration.expression, "applyConfiguration", Use::ApplyConfiguration)
        }
        _ => {
            builder.shape.error(
                Code::HandlerCount,
                &field,
                "patchType does not go with what is set",
                "set jsonPatch for JSONPatch, applyConfiguration for ApplyConfiguration, and not the other",
            );
            return None;
        }
    };
    let field = format!("{field}.{part}.expression");
    match builder.compile(source, &field, place) {
        Ok(checked) => {
            // A mutation has no predicate: it acts whenever the policy matches.
            builder.effects.routes.push(None::<(Necessary, bool)>);
            let mutation = match place {
                Use::ApplyConfiguration => Mutation::ApplyConfiguration(Box::new(checked.expression)),
                _ => Mutation::JsonPatch(Box::new(checked.expression)),
            };
            Some(Route {
                name: name.into(),
                predicate: None,
                holds_when: true,
                handler: Handler::Mutate(mutation),
                audit_annotations: Vec::new(),
            })
        }
        Err(text) => {
            fail(builder, text);
            None
        }
    }
}

/// A mutation that is an error refuses the request under Fail; under Ignore the others are still made.
fn fail(builder: &mut Builder, text: String) {
    if builder.rule.failure_policy == FailurePolicy::Fail {
        builder.break_with(text);
    }
}

/// A mutating policy is never asked about a DELETE, and `*` does not mean it.
fn without_delete(constraints: &mut MatchConstraints) {
    for rule in &mut constraints.resource_rules {
        rule.operations = rule.operations.without(Operation::Delete);
    }
}
