//! The rule sets that contestants serve.

use std::sync::Arc;

use serde_json::{Value, json};
use usher::api::RoutingRule;
use usher::engine::{Protected, RuleIndex, RuleSet};
use usher::rules::{Context, Kinds, compile};

/// A rule that has nothing to do with Pods.
pub(crate) fn not_matching() -> RuleSet {
    rule_set([rule("services", &json!(["services"]), "object.spec.type == 'NodePort'")])
}

/// One look at every container.
pub(crate) fn containers() -> RuleSet {
    rule_set([rule("containers", &json!(["pods"]), CONTAINERS)])
}

/// Of a thousand rules, five are for Pods and look at the object; the others are for a hundred other resources.
pub(crate) fn thousand() -> RuleSet {
    let others = (0..995).map(|n| {
        rule(&format!("other-{n}"), &json!([format!("things{}", n % 100)]), "object.spec.replicas > 5")
    });
    let pods = (0..5).map(|n| rule(&format!("pods-{n}"), &json!(["pods"]), CONTAINERS));
    rule_set(others.chain(pods))
}

/// Rules for Pods of which each is for one namespace; one of them for the review's.
pub(crate) fn guarded(count: usize) -> RuleSet {
    rule_set((0..count).map(|n| {
        let namespace = if n == 0 { "default".to_owned() } else { format!("tenant-{n}") };
        let predicate = format!("request.namespace == '{namespace}' && ({CONTAINERS})");
        rule(&format!("rule-{n}"), &json!(["pods"]), &predicate)
    }))
}

/// False for the review: nothing is rejected, everything is looked at.
const CONTAINERS: &str =
    "!object.spec.containers.all(c, c.image.contains('/') && !c.image.endsWith(':latest'))";

fn rule(name: &str, resources: &Value, predicate: &str) -> Value {
    json!({
        "apiVersion": "usher.dev/v1alpha1",
        "kind": "RoutingRule",
        "metadata": {"name": name},
        "spec": {
            "match": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["*"], "resources": resources, "operations": ["CREATE", "UPDATE"]}
            ]},
            "routes": [{"name": "refuse", "predicate": predicate, "reject": {"message": "refused"}}]
        }
    })
}

fn rule_set(rules: impl IntoIterator<Item = Value>) -> RuleSet {
    let protected = Protected::new("usher-system");
    let (kinds, mut index) = (Kinds::default(), RuleIndex::new(protected.clone()));
    for rule in rules {
        let written: RoutingRule = serde_json::from_value(rule).expect("a rule");
        let context = Context { kinds: &kinds, protected: &protected };
        index.apply(Arc::new(compile(&written, &context).expect("a rule that compiles").rule));
    }
    index.snapshot()
}
