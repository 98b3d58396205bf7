//! Which objects have to be watched because rules take them as parameters.

use std::collections::{BTreeMap, BTreeSet};

use super::health::Resource;
use super::known::{Entry, Known};
use super::watching::Target;
use crate::source::object::Object;

/// The watches that one rule needs.
pub(super) fn of_rule(object: &Object) -> Option<Target> {
    let Object::RoutingRule(loaded) = object else { return None };
    let params = loaded.object.spec.params.as_ref()?;
    target(&params.api_version, &params.kind, params.namespace.as_deref(), params.name.as_deref())
}

/// The watches that all rules, and policies with their bindings, need.
pub(super) fn of_all(known: &Known) -> BTreeSet<Target> {
    let objects = || known.iter().filter_map(Entry::object);
    let mut kinds: BTreeMap<(&'static str, &str), (&str, &str)> = BTreeMap::new();
    for object in objects() {
        let (policy, name, kind) = match object {
            Object::ValidatingAdmissionPolicy(loaded) => {
                let spec = loaded.object.spec.as_ref();
                let kind = spec.and_then(|spec| spec.param_kind.as_ref());
                ("validating", &loaded.key.name, kind.map(|kind| (&kind.api_version, &kind.kind)))
            }
            Object::MutatingAdmissionPolicy(loaded) => {
                let kind = loaded.object.spec.param_kind.as_ref();
                ("mutating", &loaded.key.name, kind.map(|kind| (&kind.api_version, &kind.kind)))
            }
            _ => continue,
        };
        if let Some((Some(api_version), Some(kind))) = kind {
            kinds.insert((policy, name), (api_version, kind));
        }
    }
    let of_binding = |object: &Object| {
        let (policy, name, reference) = match object {
            Object::ValidatingAdmissionPolicyBinding(loaded) => {
                let spec = loaded.object.spec.as_ref()?;
                ("validating", spec.policy_name.as_deref()?, spec.param_ref.clone()?)
            }
            Object::MutatingAdmissionPolicyBinding(loaded) => {
                let spec = &loaded.object.spec;
                ("mutating", spec.policy_name.as_deref()?, spec.param_ref.clone()?)
            }
            _ => return None,
        };
        let (api_version, kind) = kinds.get(&(policy, name))?;
        target(api_version, kind, reference.namespace.as_deref(), reference.name.as_deref())
    };
    objects().filter_map(|object| of_rule(object).or_else(|| of_binding(object))).collect()
}

/// None for Namespaces, which are watched anyway.
fn target(api_version: &str, kind: &str, namespace: Option<&str>, name: Option<&str>) -> Option<Target> {
    if (api_version, kind) == ("v1", "Namespace") {
        return None;
    }
    Some(Target {
        resource: Resource::Params,
        api_versions: vec![api_version.into()],
        kind: kind.into(),
        namespace: namespace.map(Into::into),
        name: name.map(Into::into),
    })
}
