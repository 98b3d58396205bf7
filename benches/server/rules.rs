//! The rule sets that contestants serve.

use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use usher::api::RoutingRule;
use usher::engine::{Protected, RuleIndex, RuleSet};
use usher::rules::{Context, Item, Kinds, RuleWriter, compile};

/// A rule that has nothing to do with Pods.
pub(crate) fn not_matching() -> Arc<RuleSet> {
    rule_set([rule("services", &json!(["services"]), "object.spec.type == 'NodePort'")])
}

/// One look at every container.
pub(crate) fn containers() -> Arc<RuleSet> {
    rule_set([rule("containers", &json!(["pods"]), CONTAINERS)])
}

/// Of a thousand rules, five are for Pods and look at the object; the others are for a hundred other resources.
pub(crate) fn thousand() -> Arc<RuleSet> {
    rule_set(thousand_written())
}

/// The rules of [`thousand`], as they are written.
pub(crate) fn thousand_written() -> impl Iterator<Item = Value> {
    let others = (0..995).map(|n| {
        rule(&format!("other-{n}"), &json!([format!("things{}", n % 100)]), "object.spec.replicas > 5")
    });
    let pods = (0..5).map(|n| rule(&format!("pods-{n}"), &json!(["pods"]), CONTAINERS));
    others.chain(pods)
}

/// Rules for Pods of which each is for one namespace; one of them for the review's.
pub(crate) fn guarded(count: usize) -> Arc<RuleSet> {
    rule_set((0..count).map(|n| {
        let namespace = if n == 0 { "default".to_owned() } else { format!("tenant-{n}") };
        let predicate = format!("request.namespace == '{namespace}' && ({CONTAINERS})");
        rule(&format!("rule-{n}"), &json!(["pods"]), &predicate)
    }))
}

/// The twenty controls of the common workload, imported as they are; `None` where it is not at hand. All are evaluated and none denies.
pub(crate) fn controls(workload: &Path) -> Option<Arc<RuleSet>> {
    let list: Value = serde_json::from_slice(&std::fs::read(workload.join("controls.json")).ok()?).ok()?;
    let (mut writer, live) = RuleWriter::new(Protected::new("usher-system"));
    for item in list["items"].as_array()? {
        let item = match item["kind"].as_str()? {
            "ValidatingAdmissionPolicy" => Item::ValidatingAdmissionPolicy(read(item)),
            "ValidatingAdmissionPolicyBinding" => Item::ValidatingAdmissionPolicyBinding(read(item)),
            other => panic!("a control of kind {other}"),
        };
        writer.apply(item, None);
    }
    writer.publish();
    let rules = live.load();
    assert_eq!(rules.rules().len(), 20, "controls in force");
    Some(rules)
}

fn read<T: DeserializeOwned>(item: &Value) -> Arc<T> {
    Arc::new(serde_json::from_value(item.clone()).expect("a control"))
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

fn rule_set(rules: impl IntoIterator<Item = Value>) -> Arc<RuleSet> {
    let protected = Protected::new("usher-system");
    let (kinds, mut index) = (Kinds::default(), RuleIndex::new(protected.clone()));
    for rule in rules {
        let written: RoutingRule = serde_json::from_value(rule).expect("a rule");
        let context = Context {
            kinds: &kinds,
            protected: &protected,
            version: usher_cel::KubernetesVersion::default(),
        };
        index.apply(Arc::new(compile(&written, &context).expect("a rule that compiles").rule));
    }
    Arc::new(index.snapshot())
}
