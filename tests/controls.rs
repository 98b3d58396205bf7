//! The twenty controls that other engines are compared on, imported as they are: each denies the Pod that breaks it, and a good one passes all.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use usher::engine::{
    Decision, GroupVersionKind, GroupVersionResource, Operation, Phase, Protected, Query, Request, RuleSet,
    decide,
};
use usher::rules::{Item, RuleWriter};

#[test]
fn every_control_denies_the_pod_that_breaks_it_and_a_good_pod_passes_all() {
    let Some(directory) = workload() else {
        println!("skipped: no shared/bench above this package");
        return;
    };
    let rules = controls(&directory);
    assert_eq!(rules.rules().len(), 20);
    let good = json(&directory.join("review-good.json"));
    let decision = create(&rules, &good["request"]["object"]);
    assert!(decision.allowed(), "{:?}", decision.rejections);

    let mut asked = 0;
    for entry in std::fs::read_dir(directory.join("broken")).unwrap() {
        let path = entry.unwrap().path();
        let broken = path.file_stem().unwrap().to_str().unwrap().strip_prefix("pod-").unwrap();
        let decision = create(&rules, &json(&path));
        let control = format!("c-{broken}");
        let denied = decision
            .rejections
            .iter()
            .find(|rejection| rejection.rule.split('/').any(|name| name == control));
        let denied = denied.unwrap_or_else(|| panic!("{control} does not deny: {:?}", decision.rejections));
        assert_eq!(denied.error, None, "{}", denied.message);
        assert!(decision.rejections.len() <= 2, "{broken}: {:?}", decision.rejections);
        asked += 1;
    }
    assert_eq!(asked, 20);
}

fn workload() -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.map(|directory| directory.join("shared/bench")).find(|directory| directory.is_dir())
}

fn controls(directory: &Path) -> Arc<RuleSet> {
    let (mut writer, live) = RuleWriter::new(Protected::new("usher-system"));
    let list = json(&directory.join("controls.json"));
    for item in list["items"].as_array().unwrap() {
        let item = match item["kind"].as_str() {
            Some("ValidatingAdmissionPolicy") => Item::ValidatingAdmissionPolicy(read(item)),
            Some("ValidatingAdmissionPolicyBinding") => Item::ValidatingAdmissionPolicyBinding(read(item)),
            other => panic!("a control of kind {other:?}"),
        };
        writer.apply(item, None);
    }
    writer.publish();
    live.load()
}

fn read<T: DeserializeOwned>(item: &Value) -> Arc<T> {
    Arc::new(serde_json::from_value(item.clone()).unwrap())
}

fn create(rules: &RuleSet, pod: &Value) -> Decision {
    let object = pod.to_string();
    let request = Request {
        kind: GroupVersionKind { group: "", version: "v1", kind: "Pod" },
        resource: GroupVersionResource { group: "", version: "v1", resource: "pods" },
        name: "web-0",
        namespace: "default",
        operation: Operation::Create,
        object: Some(&object),
        ..Request::default()
    };
    decide(rules, &request, &Query::new(Phase::Validating))
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
