//! The chart and the kustomize base with its components make the same objects.

use serde_json::{Value, json};

use super::rendering::{Component, Objects, combinations, helm, helm_in, kustomize, values};

/// What only kustomize makes: Helm keeps its release in the namespace, which must be there before.
const ONLY_KUSTOMIZE: &str = "Namespace/usher-system";

/// What only Helm adds: to all objects, and to the kind so that it stays.
const LABELS: [&str; 2] = ["helm.sh/chart", "app.kubernetes.io/managed-by"];
const KEEP: &str = "helm.sh/resource-policy";

#[test]
fn chart_and_kustomize_make_the_same_objects_in_every_combination() {
    let all = combinations();
    assert_eq!(all.len(), 24);
    for components in all {
        let mut expected = kustomize(&components);
        assert!(expected.remove(ONLY_KUSTOMIZE).is_some());
        let rendered = without_marks(helm(&values(&components)).objects);
        assert_same(&rendered, &expected, &components);
    }
}

fn assert_same(rendered: &Objects, expected: &Objects, components: &[Component]) {
    let folders: Vec<&str> = components.iter().map(|component| component.folder).collect();
    let names = |objects: &Objects| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(rendered), names(expected), "chart and kustomize with {folders:?}");
    for (name, object) in rendered {
        assert_eq!(object, &expected[name], "{name} of chart and kustomize with {folders:?}");
    }
}

/// Without what Helm adds, which must be there.
fn without_marks(mut objects: Objects) -> Objects {
    for (name, object) in &mut objects {
        let labels = object["metadata"]["labels"].as_object_mut().unwrap();
        let marks = LABELS.map(|label| labels.remove(label));
        assert_eq!(marks, [Some(json!("usher-0.1.0")), Some(json!("Helm"))], "the labels of {name}");
        if name.starts_with("CustomResourceDefinition/") {
            let metadata = object["metadata"].as_object_mut().unwrap();
            assert_eq!(metadata.remove("labels"), Some(json!({})));
            assert_eq!(metadata.remove("annotations"), Some(json!({KEEP: "keep"})), "{name}");
        }
    }
    objects
}

#[test]
fn a_release_in_another_namespace_is_wholly_there() {
    let every = json!({
        "certs": {"mode": "certManager"}, "metrics": {"podMonitor": true, "rules": true},
        "autoscaling": {"enabled": true}, "admissionPolicies": true,
    });
    let there = helm_in("gate", "1.37.2", &every).unwrap();
    let here = helm(&every);
    for (elsewhere, here) in [(there.objects, here.objects), (there.hooks, here.hooks)] {
        let text = |objects: &Objects| serde_json::to_string(objects).unwrap();
        assert!(text(&here).contains("usher-system") && !text(&elsewhere).contains("usher-system"));
        let moved: Objects = serde_json::from_str(&text(&here).replace("usher-system", "gate")).unwrap();
        assert_eq!(elsewhere, moved);
    }
}

#[test]
fn the_versions_of_the_chart_are_those_of_the_binary() {
    let chart = std::fs::read(super::rendering::deploy().join("chart/Chart.yaml")).unwrap();
    let (chart, _) = usher::source::read_values("Chart.yaml", &chart).unwrap().remove(0);
    let version = Value::from(env!("CARGO_PKG_VERSION"));
    assert_eq!([&chart["version"], &chart["appVersion"]], [&version, &version]);
    let image = format!("usher:{}", env!("CARGO_PKG_VERSION"));
    let deployment = &kustomize(&[])["Deployment/usher"];
    assert_eq!(deployment.pointer("/spec/template/spec/containers/0/image"), Some(&Value::from(image)));
}
