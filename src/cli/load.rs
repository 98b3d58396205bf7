//! From paths to rules that can be asked.

use std::path::PathBuf;

use anyhow::bail;

use super::terminal::Fault;
use crate::diagnostic::Diagnostic;
use crate::engine::{ObjectKey, Protected, RuleIndex, StoredObject};
use crate::rules::policies::{CompiledPolicy, compile_mutating, compile_validating};
use crate::rules::{Context, Kinds, accept, placeholder};
use crate::source::{DirectorySource, Loaded, Object, Snapshot};

/// The rules of some paths, with what was found in them.
#[derive(Debug)]
pub(super) struct Rules {
    /// What can be used, with the objects that stand beside it.
    pub(super) index: RuleIndex,
    /// The objects as they were read.
    pub(super) snapshot: Snapshot,
    /// All findings, those of the files included.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Rules and policies that were found, usable or not.
    pub(super) found: usize,
}

/// Reads and compiles.
///
/// # Errors
/// A path that cannot be read, or paths without any rule.
pub(super) fn load(paths: &[PathBuf], protected: Protected) -> anyhow::Result<Rules> {
    let source = DirectorySource::open(paths.iter().cloned()).map_err(Fault)?;
    let rules = compile_all(source.snapshot(), protected);
    if rules.found == 0 && rules.diagnostics.is_empty() {
        let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        let names = names.join(", ");
        match rules.snapshot.files {
            0 => bail!("no rules found: there are no .yaml, .yml or .json files in {names}"),
            1 => bail!("no rules found: the file in {names} has no object of kind RoutingRule, ValidatingAdmissionPolicy or MutatingAdmissionPolicy"),
            files => bail!("no rules found: the {files} files in {names} have no object of kind RoutingRule, ValidatingAdmissionPolicy or MutatingAdmissionPolicy"),
        }
    }
    Ok(rules)
}

fn compile_all(snapshot: Snapshot, protected: Protected) -> Rules {
    let mut kinds = Kinds::default();
    let mut index = RuleIndex::new(protected.clone());
    for stored in snapshot.store.iter() {
        if &*stored.key().kind == "CustomResourceDefinition"
            && let Ok(definition) = serde_json::from_str(stored.json())
        {
            kinds.learn(&definition);
        }
        let (key, object) = engine_object(stored);
        index.apply_object(key, object);
    }
    let context = Context { kinds: &kinds, protected: &protected };
    let mut diagnostics = snapshot.diagnostics.clone();
    let mut found = snapshot.broken.len();
    for object in &snapshot.objects {
        let compiled = match object {
            Object::RoutingRule(loaded) => {
                found += 1;
                match accept(&loaded.object, &context) {
                    Ok(compiled) => {
                        locate(loaded, compiled.warnings, &mut diagnostics);
                        index.apply(compiled.rule.into());
                    }
                    Err(findings) => {
                        let reason = format!("the rule {} is not valid", loaded.key.name);
                        if let Some(rule) = placeholder(&loaded.object, &reason) {
                            index.apply(rule.into());
                        }
                        locate(loaded, findings, &mut diagnostics);
                    }
                }
                continue;
            }
            Object::ValidatingAdmissionPolicy(loaded) => {
                found += 1;
                validating(&snapshot, loaded, &context, &mut diagnostics)
            }
            Object::MutatingAdmissionPolicy(loaded) => {
                found += 1;
                mutating(&snapshot, loaded, &context, &mut diagnostics)
            }
            Object::ValidatingAdmissionPolicyBinding(_)
            | Object::MutatingAdmissionPolicyBinding(_)
            | Object::Other(_) => continue,
        };
        compiled.into_iter().filter_map(|compiled| compiled.rule).for_each(|rule| index.apply(rule.into()));
    }
    sort(&mut diagnostics);
    Rules { index, snapshot, diagnostics, found }
}

/// A policy with each of its bindings; by itself, as if one covered everything, if it has none.
fn validating(
    snapshot: &Snapshot,
    policy: &Loaded<crate::api::ValidatingAdmissionPolicy>,
    context: &Context<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<CompiledPolicy> {
    let bindings = snapshot.objects.iter().filter_map(|object| match object {
        Object::ValidatingAdmissionPolicyBinding(binding) => Some(binding),
        _ => None,
    });
    let bindings: Vec<_> = bindings
        .filter(|binding| {
            let name = binding.object.spec.as_ref().and_then(|spec| spec.policy_name.as_deref());
            name == Some(&*policy.key.name)
        })
        .collect();
    let mut compiled = Vec::new();
    if bindings.is_empty() {
        compiled.push(compile_validating(&policy.object, None, context));
    }
    for binding in bindings {
        let mut bound = compile_validating(&policy.object, Some(&binding.object), context);
        locate(binding, std::mem::take(&mut bound.binding_diagnostics), diagnostics);
        compiled.push(bound);
    }
    // The findings about the policy itself are the same with every binding.
    let findings = compiled.first_mut().map(|first| std::mem::take(&mut first.diagnostics));
    locate(policy, findings.unwrap_or_default(), diagnostics);
    compiled
}

fn mutating(
    snapshot: &Snapshot,
    policy: &Loaded<crate::api::MutatingAdmissionPolicy>,
    context: &Context<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<CompiledPolicy> {
    let bindings = snapshot.objects.iter().filter_map(|object| match object {
        Object::MutatingAdmissionPolicyBinding(binding) => Some(binding),
        _ => None,
    });
    let bindings: Vec<_> =
        bindings.filter(|binding| binding.object.spec.policy_name.as_deref() == Some(&*policy.key.name)).collect();
    let mut compiled = Vec::new();
    if bindings.is_empty() {
        compiled.push(compile_mutating(&policy.object, None, context));
    }
    for binding in bindings {
        let mut bound = compile_mutating(&policy.object, Some(&binding.object), context);
        locate(binding, std::mem::take(&mut bound.binding_diagnostics), diagnostics);
        compiled.push(bound);
    }
    let findings = compiled.first_mut().map(|first| std::mem::take(&mut first.diagnostics));
    locate(policy, findings.unwrap_or_default(), diagnostics);
    compiled
}

/// Adds findings with their place in the file.
fn locate<T>(loaded: &Loaded<T>, findings: Vec<Diagnostic>, diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.extend(findings.into_iter().map(|finding| match &loaded.map {
        Some(map) => map.locate(finding),
        None => finding,
    }));
}

/// In the order in which one reads: by file and place.
fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|a, b| {
        let place = |d: &Diagnostic| d.place.as_ref().map(|p| (p.file.clone(), p.line, p.column));
        place(a).cmp(&place(b))
    });
}

/// A stored object as the engine keeps it.
pub(super) fn engine_object(stored: &crate::source::StoredObject) -> (ObjectKey, StoredObject) {
    let key = stored.key();
    let key = ObjectKey {
        api_version: key.api_version.clone(),
        kind: key.kind.clone(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    };
    let labels = stored.labels().iter().map(|(key, value)| (key.as_str().into(), value.as_str().into()));
    (key, StoredObject { json: stored.json().into(), labels: labels.collect() })
}
