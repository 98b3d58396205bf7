//! Which kinds a rule or policy is asked about.

use std::collections::BTreeSet;

use super::exposure::Exposure;
use super::written::{Written, WrittenRule};
use crate::schemas::{Gvk, Schema, Schemas};

/// Most kinds that one resource rule adds; when it has, no other rule is looked at (`maxTypesToCheck`).
const MAX_KINDS: usize = 10;

/// The kinds whose schemas expressions are checked against: those under the resources that are named, without wildcards and subresources. In the
/// order of group, version and kind.
///
/// To the RESTMapper of Kubernetes the empty group is any group: a policy about the core group's `events` is checked against those of `events.k8s.io` as
/// well, which it never sees.
pub(crate) fn to_check(written: &Written<'_>, schemas: &Schemas, exposure: Exposure) -> Vec<Gvk> {
    let mut kinds = BTreeSet::new();
    for rule in &written.rules {
        if !of_rule(rule, schemas, exposure, &mut kinds) {
            break;
        }
    }
    kinds.into_iter().filter(|gvk| schemas.schema(gvk).is_some()).collect()
}

/// Whether there may be more.
fn of_rule(rule: &WrittenRule<'_>, schemas: &Schemas, exposure: Exposure, kinds: &mut BTreeSet<Gvk>) -> bool {
    let wild = |names: &[String]| names.iter().any(|name| name.contains('*'));
    if wild(rule.groups) || wild(rule.versions) {
        return true;
    }
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    let mut count = 0;
    for group in sorted(rule.groups) {
        let any = group.is_empty() && exposure == Exposure::Kubernetes;
        let group = if any { "*" } else { group.as_str() };
        for version in sorted(rule.versions) {
            for resource in sorted(rule.resources).iter().filter(|resource| !resource.contains(['*', '/'])) {
                for found in schemas.resources(group, &version, resource) {
                    kinds.insert(found.gvk);
                    count += 1;
                    if count == MAX_KINDS {
                        return false;
                    }
                }
            }
        }
    }
    true
}

/// The kind of the parameters, if there are any and it is known.
pub(crate) fn params_kind(written: &Written<'_>, schemas: &Schemas) -> Option<(Gvk, Schema)> {
    let (api_version, kind) = written.params?;
    let gvk = Gvk::new(api_version, kind);
    let schema = schemas.schema(&gvk)?;
    Some((gvk, schema))
}
