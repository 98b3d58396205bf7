//! Expressions held against the schemas of the kinds that they are asked about, as kube-controller-manager does for `status.typeChecking` of a
//! policy (apiserver `pkg/admission/plugin/policy/validating/typechecking.go`). What is found is never more than a warning: at run time every
//! object is a map.
//!
//! Usher looks at all expressions of policies and rules, Kubernetes only at validations and their messages; and Usher leaves out what Kubernetes only
//! reports because its checker does not know better ([`Exposure`]).

mod branches;
mod exposure;
mod kinds;
mod written;

pub use exposure::Exposure;

use std::collections::{BTreeMap, HashSet};

use kinds::{params_kind, to_check};
use usher_cel::KubernetesVersion;
use usher_cel::check::Type;
use written::{Written, WrittenExpression};

use super::compile::expressions::{Rejected, Scope, Typed, Use};
use super::item::Item;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::schemas::{Gvk, Schemas};

/// Kinds that are named in one finding at most.
const NAMED_KINDS: usize = 3;

/// What the expressions of a rule or policy read of objects that the schemas do not have. Expressions that are wrong for any object are left out: the
/// compiler reports them. So is what is wrong for some of the kinds only, where expressions tell kinds apart ([`branches`]).
pub fn type_check(item: &Item, schemas: &Schemas, version: KubernetesVersion) -> Vec<Diagnostic> {
    let Some(written) = Written::of(item, version) else { return Vec::new() };
    let kinds = to_check(&written, schemas, Exposure::Usher);
    if kinds.is_empty() {
        return Vec::new();
    }
    let sound = sound(&written);
    let mut found: BTreeMap<(usize, usize, String), (Diagnostic, Vec<Gvk>)> = BTreeMap::new();
    let mut told_apart = Vec::new();
    for gvk in &kinds {
        let rejected = findings(&written, gvk, schemas, Exposure::Usher).into_iter();
        let rejected = rejected.filter(|(index, _)| sound.contains(index));
        let all = rejected.flat_map(|(index, one)| one.diagnostics.into_iter().map(move |one| (index, one)));
        for (index, diagnostic) in all {
            if branches::asks_first(&diagnostic, written.expressions[index].source) {
                told_apart.push(gvk.clone());
            }
            let at = diagnostic.text.as_ref().map_or(0, |text| text.span.start);
            let entry = found.entry((index, at, diagnostic.message.clone()));
            entry.or_insert_with(|| (diagnostic, Vec::new())).1.push(gvk.clone());
        }
    }
    let by_kind = branches::look_at_kinds(&written);
    for (_, concerned) in found.values_mut().filter(|(_, concerned)| concerned.len() < kinds.len()) {
        concerned.retain(|gvk| !by_kind && !told_apart.contains(gvk));
    }
    let found = found.into_values().filter(|(_, concerned)| !concerned.is_empty());
    found.map(|(diagnostic, concerned)| as_warning(diagnostic, &concerned)).collect()
}

/// What is wrong with each expression, by its place among the written ones, if objects are of one kind.
fn findings(
    written: &Written<'_>,
    gvk: &Gvk,
    schemas: &Schemas,
    exposure: Exposure,
) -> Vec<(usize, Rejected)> {
    let object = schemas.schema(gvk).map_or(Type::Dyn, |schema| exposure.ty(&schema, &gvk.kind));
    let params =
        params_kind(written, schemas).map_or(Type::Dyn, |(gvk, schema)| exposure.ty(&schema, &gvk.kind));
    let typed = Typed { object, params, variable: exposure.variables() };
    check(written, scope(written).with_types(typed))
}

/// The expressions that compile for an object of any kind.
fn sound(written: &Written<'_>) -> HashSet<usize> {
    let unsound: HashSet<usize> =
        check(written, scope(written)).into_iter().map(|(index, _)| index).collect();
    (0..written.expressions.len()).filter(|index| !unsound.contains(index)).collect()
}

fn scope(written: &Written<'_>) -> Scope {
    let names = written.expressions.iter().filter_map(|expression| expression.variable);
    Scope::new(written.dialect, written.version, written.params.is_some(), names)
}

fn check(written: &Written<'_>, mut scope: Scope) -> Vec<(usize, Rejected)> {
    let mut found = Vec::new();
    for (index, expression) in written.expressions.iter().enumerate() {
        let WrittenExpression { field, source, place, variable, .. } = expression;
        let rejected = match (place, variable) {
            (Use::Variable, Some(name)) => scope.add_variable(name, source, field).err(),
            _ => scope.compile(source, field, *place).err(),
        };
        found.extend(rejected.map(|rejected| (index, rejected)));
    }
    found
}

fn as_warning(diagnostic: Diagnostic, kinds: &[Gvk]) -> Diagnostic {
    let mut names: Vec<String> = kinds.iter().take(NAMED_KINDS).map(Gvk::to_string).collect();
    if kinds.len() > NAMED_KINDS {
        names.push(format!("{} more", kinds.len() - NAMED_KINDS));
    }
    let message = format!("{}, if the object is of kind {}", diagnostic.message, names.join(", "));
    Diagnostic { severity: Severity::Warning, code: Code::SchemaMismatch, message, ..diagnostic }
}

#[cfg(test)]
mod tests;
