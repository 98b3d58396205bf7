//! What Helm and kustomize make of deploy/, by their own libraries.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Value, json};

/// The namespace of the kustomize base, and of releases in tests unless they say otherwise.
pub(crate) const NAMESPACE: &str = "usher-system";
/// The newest Kubernetes that is known here; the one of tests/cluster.
pub(crate) const KUBERNETES: &str = "1.37.2";

/// Objects by `Kind/name`.
pub(crate) type Objects = BTreeMap<String, Value>;

/// A way to change the base: a component of kustomize, and the values that mean the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component {
    pub(crate) folder: &'static str,
    values: fn() -> Value,
}

pub(crate) const COMPONENTS: [Component; 5] = [
    Component { folder: "cert-manager", values: || json!({"certs": {"mode": "certManager"}}) },
    Component { folder: "prometheus", values: || json!({"metrics": {"podMonitor": true, "rules": true}}) },
    Component {
        folder: "ha",
        values: || json!({"autoscaling": {"enabled": true}, "topologySpread": {"zone": "DoNotSchedule"}}),
    },
    Component { folder: "admission-policies", values: || json!({"admissionPolicies": true}) },
    Component { folder: "files", values: || json!({"rules": {"source": "files", "files": shipped_rules()}}) },
];

/// All sets of components that go together: who takes rules from files does not take policies from the API server.
pub(crate) fn combinations() -> Vec<Vec<Component>> {
    let subset = |bits: usize| {
        let chosen = COMPONENTS.iter().enumerate().filter(move |(index, _)| bits & (1 << index) != 0);
        chosen.map(|(_, component)| *component).collect::<Vec<_>>()
    };
    let has = |set: &[Component], folder: &str| set.iter().any(|component| component.folder == folder);
    let all = (0..1 << COMPONENTS.len()).map(subset);
    all.filter(|set| !(has(set, "files") && has(set, "admission-policies"))).collect()
}

/// What `helm install` would make, with hooks apart.
#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) objects: Objects,
    pub(crate) hooks: Objects,
    pub(crate) notes: String,
}

#[derive(Deserialize)]
struct Output {
    objects: Vec<Value>,
    #[serde(default)]
    hooks: Vec<Value>,
    #[serde(default)]
    notes: String,
}

/// What Helm's linter says.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct LintMessage {
    pub(crate) severity: String,
    pub(crate) text: String,
}

pub(crate) fn kustomize(components: &[Component]) -> Objects {
    let folder = |component: &Component| deploy().join("components").join(component.folder);
    let folders = components.iter().map(folder).map(|path| path.display().to_string());
    let arguments: Vec<String> =
        ["kustomize".to_owned(), deploy().display().to_string()].into_iter().chain(folders).collect();
    let output: Output = serde_json::from_str(&render(&arguments, &json!({})).unwrap()).unwrap();
    by_name(output.objects)
}

pub(crate) fn helm(values: &Value) -> Release {
    helm_in(NAMESPACE, KUBERNETES, values).unwrap_or_else(|error| panic!("{values}: {error}"))
}

/// The error is what Helm says.
pub(crate) fn helm_in(namespace: &str, kubernetes: &str, values: &Value) -> Result<Release, String> {
    let chart = deploy().join("chart").display().to_string();
    let text = render(&["helm", &chart, namespace, kubernetes].map(str::to_owned), values)?;
    let Output { objects, hooks, notes } = serde_json::from_str(&text).unwrap();
    Ok(Release { objects: by_name(objects), hooks: by_name(hooks), notes })
}

pub(crate) fn lint(values: &Value) -> Vec<LintMessage> {
    let chart = deploy().join("chart").display().to_string();
    let text = render(&["lint", &chart, NAMESPACE].map(str::to_owned), values).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The values that mean what these components mean.
pub(crate) fn values(components: &[Component]) -> Value {
    let mut all = json!({});
    for component in components {
        let more = (component.values)();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    all
}

/// The rules that the component `files` ships.
fn shipped_rules() -> Value {
    let file = deploy().join("components/files/rules.yaml");
    let text = std::fs::read(&file).unwrap();
    usher::source::read_values("rules.yaml", &text).unwrap().remove(0).0["data"].clone()
}

fn by_name(objects: Vec<Value>) -> Objects {
    let count = objects.len();
    let key = |object: &Value| {
        let [kind, name] =
            ["/kind", "/metadata/name"].map(|at| object.pointer(at).unwrap().as_str().unwrap());
        format!("{kind}/{name}")
    };
    let named: Objects = objects.into_iter().map(|object| (key(&object), object)).collect();
    assert_eq!(named.len(), count, "an object is there twice");
    named
}

fn render(arguments: &[String], values: &Value) -> Result<String, String> {
    let mut child = Command::new(binary())
        .args(arguments)
        // Nothing of whoever runs the tests.
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(values.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// The renderer; built if it is not there, which takes minutes.
fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/deploy/render/build.sh");
        let built = Command::new(&script).stderr(Stdio::inherit()).output().unwrap();
        assert!(built.status.success(), "{} failed: {}", script.display(), built.status);
        PathBuf::from(String::from_utf8(built.stdout).unwrap().trim_end())
    })
}

pub(crate) fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")
}
