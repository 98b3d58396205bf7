//! Parameter objects.

use super::findings::Findings;
use super::selector::selector;
use crate::api::{ParamNotFound, ParamRef};
use crate::diagnostic::Code;
use crate::engine::{NotFound, ParamChoice, ParamReference, Params};
use crate::rules::Kinds;

/// Translates `spec.params`.
pub(super) fn of_rule(
    written: &ParamRef,
    field: &str,
    kinds: &Kinds,
    findings: &mut Findings,
) -> Option<Params> {
    let known = kinds.namespaced(&written.api_version, &written.kind);
    let namespaced = match (known, &written.namespace) {
        (Some(false), Some(_)) => {
            findings.error(
                Code::InvalidValue,
                format!("{field}.namespace"),
                format!("{} is a cluster-scoped kind: its objects are in no namespace", written.kind),
                "leave namespace out",
            );
            false
        }
        (Some(namespaced), _) => namespaced,
        (None, Some(_)) => true,
        (None, None) => {
            findings.error(
                Code::UnknownParamKind,
                format!("{field}.kind"),
                format!(
                    "{} of {} is not known, so neither is whether its objects live in namespaces",
                    written.kind, written.api_version
                ),
                "add its CustomResourceDefinition to the rules, or say in which namespace the objects are",
            );
            return None;
        }
    };
    let choice = match (&written.name, &written.selector) {
        (Some(name), None) => ParamChoice::Name(name.as_str().into()),
        (None, Some(written)) => {
            ParamChoice::Selector(selector(Some(written), &format!("{field}.selector"), findings))
        }
        (name, _) => {
            let message = if name.is_some() {
                "both name and selector are set"
            } else {
                "neither name nor selector is set"
            };
            let help = "write name for one object, or selector for all objects with some labels";
            findings.error(Code::InvalidValue, field, message, help);
            return None;
        }
    };
    Some(Params {
        api_version: written.api_version.as_str().into(),
        kind: written.kind.as_str().into(),
        namespaced,
        reference: Some(ParamReference {
            choice,
            namespace: written.namespace.as_deref().map(Into::into),
            not_found: match written.not_found {
                ParamNotFound::Allow => NotFound::Allow,
                ParamNotFound::Deny => NotFound::Deny,
            },
        }),
    })
}

/// Whether looking for the objects can end in an error, which no guard may keep from being seen.
pub(crate) fn may_fail(params: Option<&Params>) -> bool {
    let Some(Params { reference: Some(reference), namespaced, .. }) = params else { return false };
    let needs_a_namespace = *namespaced && reference.namespace.is_none();
    reference.not_found == NotFound::Deny || needs_a_namespace
}
