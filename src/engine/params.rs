//! Which parameter objects a rule is evaluated with. apiserver `generic/policy_dispatcher.go` `CollectParams`.

use super::objects::{ObjectKey, Objects, StoredObject};
use super::request::Request;
use super::rule::{NotFound, Origin, ParamChoice, ParamReference, Params, Rule};

/// One evaluation of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Param<'s> {
    /// Empty when there is no object.
    pub(super) name: &'s str,
    pub(super) object: Option<&'s StoredObject>,
}

const NONE: Param<'_> = Param { name: "", object: None };

/// Calls `evaluate` once for each parameter object; once without one when the rule has none.
///
/// # Errors
/// Kubernetes' text when the reference cannot be followed; then nothing was evaluated.
pub(super) fn for_each_param<'s>(
    rule: &'s Rule,
    objects: &'s Objects,
    request: &Request<'_>,
    mut evaluate: impl FnMut(Param<'s>),
) -> Result<(), String> {
    let Some(params) = &rule.params else {
        evaluate(NONE);
        return Ok(());
    };
    let Some(reference) = &params.reference else {
        evaluate(NONE);
        return Ok(());
    };
    let namespace = namespace(params, reference, request)?;
    let mut found = false;
    match &reference.choice {
        ParamChoice::Name(name) => {
            let key = ObjectKey {
                api_version: (*params.api_version).into(),
                kind: (*params.kind).into(),
                namespace: namespace.into(),
                name: (**name).into(),
            };
            if let Some(object) = objects.get(&key) {
                found = true;
                evaluate(Param { name, object: Some(object) });
            }
        }
        ParamChoice::Selector(selector) => {
            for (key, object) in objects.list(&params.api_version, &params.kind, namespace) {
                if selector.matches(|label| object.labels.get(label).map(AsRef::as_ref)) {
                    found = true;
                    evaluate(Param { name: &key.name, object: Some(object) });
                }
            }
        }
    }
    if !found && reference.not_found == NotFound::Deny {
        return Err(match rule.origin {
            Origin::RoutingRule => not_found(params, reference, namespace),
            _ => "no params found for policy binding with `Deny` parameterNotFoundAction".to_owned(),
        });
    }
    Ok(())
}

/// What a rule of our own says, which need not say it in Kubernetes' words.
fn not_found(params: &Params, reference: &ParamReference, namespace: &str) -> String {
    let kind = &params.kind;
    let place = if namespace.is_empty() { String::new() } else { format!(" in the namespace {namespace}") };
    match &reference.choice {
        ParamChoice::Name(name) => format!("no params: there is no {kind} {name}{place}"),
        ParamChoice::Selector(_) => format!("no params: no {kind}{place} has the labels of the selector"),
    }
}

fn namespace<'n>(
    params: &Params,
    reference: &'n ParamReference,
    request: &Request<'n>,
) -> Result<&'n str, String> {
    match (params.namespaced, reference.namespace.as_deref().unwrap_or_default()) {
        (false, "") => Ok(""),
        (false, _) => {
            Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned())
        }
        (true, "") if request.namespace.is_empty() => {
            Err("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                .to_owned())
        }
        (true, "") => Ok(request.namespace),
        (true, namespace) => Ok(namespace),
    }
}
