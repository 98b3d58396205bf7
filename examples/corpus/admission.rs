//! Cases of one policy and one request, policies that must compile, and reviews.

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use usher::api::{
    MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
};
use usher::diagnostic::{Code, Diagnostic, Severity};
use usher::engine::{
    Decision, ObjectKey, Phase, Protected, Query, Request, RuleIndex, RuleSet, StoredObject, decide,
};
use usher::rules::policies::{CompiledPolicy, compile_mutating, compile_validating};
use usher::rules::{Context, Kinds};
use usher_cel::library::authorizer::{Authorize, Check, Decision as AccessDecision};

use crate::pods::shipped_rules;
use crate::request::Envelope;

/// What a policy makes of a request.
pub(crate) fn decision(case: &Value) -> Result<Value> {
    let policy = &case["policy"];
    let has_params = policy["spec"].get("paramKind").is_some();
    let compiled = compile(policy, Some(&binding(case, has_params)), &kinds(policy))?;
    if let Some(error) = first_error(&compiled) {
        return Ok(json!({"decision": "compile-error", "error": error}));
    }
    let rule = compiled.rule.context("a policy without meaning")?;
    let mut index = RuleIndex::new(Protected::nothing());
    index.apply(rule.into());
    for (number, params) in case["params"].as_array().into_iter().flatten().enumerate() {
        // All are to be used, and names may repeat.
        let key = ObjectKey {
            api_version: text(&params["apiVersion"]).into(),
            kind: text(&params["kind"]).into(),
            namespace: "".into(),
            name: format!("{number:04}").into(),
        };
        index.apply_object(key, StoredObject { json: params.to_string().into(), labels: Default::default() });
    }
    let envelope = Envelope::read(&case["request"]);
    let request = envelope.request()?;
    if let Some(namespace) = case.get("namespaceObject").filter(|namespace| namespace.is_object()) {
        let (key, object) = namespace_object(request.namespace, namespace);
        index.apply_object(key, object);
    }
    let rules = index.snapshot();
    Ok(match case["engine"].as_str() {
        Some("map") => mutated(&evaluate(&rules, &request, Phase::Mutating)),
        _ => validated(&evaluate(&rules, &request, Phase::Validating)),
    })
}

/// Whether the expressions of a policy compile. What else the API server would say to it is not asked.
pub(crate) fn compiles(case: &Value) -> Result<Value> {
    let policy = &case["policy"];
    let compiled = compile(policy, None, &kinds(policy))?;
    let of_expression =
        |finding: &&Diagnostic| finding.code.as_str().starts_with("U01") || finding.code == Code::NotYet;
    Ok(match compiled.diagnostics.iter().find(of_expression).map(ToString::to_string) {
        Some(error) => json!({"decision": "compile-error", "error": error}),
        None => json!({"decision": "compiles"}),
    })
}

/// What the shipped rules make of a review.
pub(crate) fn review(case: &Value) -> Result<Value> {
    let envelope = Envelope::read(&case["review"]["request"]);
    let request = envelope.request()?;
    let rules = shipped_rules()?;
    let mutated = evaluate(&rules.all, &request, Phase::Mutating);
    let validated = evaluate(&rules.all, &request, Phase::Validating);
    let allowed = mutated.allowed() && validated.allowed();
    Ok(json!({"decision": if allowed { "allow" } else { "deny" }}))
}

pub(crate) fn evaluate(rules: &RuleSet, request: &Request<'_>, phase: Phase) -> Decision {
    decide(rules, request, &Query { authorizer: Some(&Everything), ..Query::new(phase) })
}

fn validated(decision: &Decision) -> Value {
    match decision.rejections.first() {
        None => json!({"decision": "allow"}),
        Some(rejection) => {
            let word = if rejection.error.is_some() { "error" } else { "deny" };
            json!({"decision": word, "error": rejection.message})
        }
    }
}

fn mutated(decision: &Decision) -> Value {
    if let Some(rejection) = decision.rejections.first() {
        return json!({"decision": "error", "error": rejection.message});
    }
    let patched = decision.patched_object.as_deref().and_then(|json| serde_json::from_slice(json).ok());
    match patched {
        Some(Value::Object(patched)) => json!({"decision": "patched", "patched": patched}),
        _ => json!({"decision": "nochange"}),
    }
}

fn compile(policy: &Value, binding: Option<&Value>, kinds: &Kinds) -> Result<CompiledPolicy> {
    let context =
        Context { kinds, protected: &Protected::nothing(), version: usher_cel::KubernetesVersion::default() };
    match policy["kind"].as_str() {
        Some("ValidatingAdmissionPolicy") => {
            let policy: ValidatingAdmissionPolicy = serde_json::from_value(policy.clone())?;
            let binding = binding.cloned().map(serde_json::from_value).transpose()?;
            let binding: Option<ValidatingAdmissionPolicyBinding> = binding;
            Ok(compile_validating(&policy, binding.as_ref(), &context))
        }
        Some("MutatingAdmissionPolicy") => {
            let policy: MutatingAdmissionPolicy = serde_json::from_value(policy.clone())?;
            let binding = binding.cloned().map(serde_json::from_value).transpose()?;
            let binding: Option<MutatingAdmissionPolicyBinding> = binding;
            Ok(compile_mutating(&policy, binding.as_ref(), &context))
        }
        other => bail!("no policy: {other:?}"),
    }
}

/// A binding that covers what the case's does, with the action Deny and all of the case's parameters.
fn binding(case: &Value, has_params: bool) -> Value {
    let mut spec = json!({"policyName": case["policy"]["metadata"]["name"], "validationActions": ["Deny"]});
    let resources = &case["binding"]["spec"]["matchResources"];
    if resources.is_object() {
        spec["matchResources"] = resources.clone();
    }
    let has_reference = case.get("params").is_some() || case.get("paramRef").is_some();
    if has_params && has_reference {
        let action = case["paramRef"]["parameterNotFoundAction"].as_str().unwrap_or("Deny");
        spec["paramRef"] = json!({"selector": {}, "parameterNotFoundAction": action});
    }
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": format!("{}Binding", text(&case["policy"]["kind"])),
        "metadata": {"name": "binding"},
        "spec": spec,
    })
}

/// The kind of the policy's parameters, without namespaces: see [`decision`].
fn kinds(policy: &Value) -> Kinds {
    let mut kinds = Kinds::default();
    let kind = &policy["spec"]["paramKind"];
    if let (Some(api_version), Some(kind)) = (kind["apiVersion"].as_str(), kind["kind"].as_str()) {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        kinds.add(group, kind, false);
    }
    kinds
}

fn first_error(compiled: &CompiledPolicy) -> Option<String> {
    let all = compiled.diagnostics.iter().chain(&compiled.binding_diagnostics);
    all.filter(|finding| finding.severity == Severity::Error).map(ToString::to_string).next()
}

fn namespace_object(name: &str, object: &Value) -> (ObjectKey, StoredObject) {
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    let labels = labels.map(|(key, value)| (key.as_str().into(), text(value).into())).collect();
    let key = ObjectKey {
        api_version: "v1".into(),
        kind: "Namespace".into(),
        namespace: "".into(),
        name: name.into(),
    };
    (key, StoredObject { json: object.to_string().into(), labels })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Allows everything.
struct Everything;

impl Authorize for Everything {
    fn check(&self, _check: &Check<'_>) -> AccessDecision {
        AccessDecision { allowed: true, ..AccessDecision::default() }
    }
}
