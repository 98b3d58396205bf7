//! The rules that ship: they compile without warnings, pass their own tests, and decide outside cases of Pod Security as Kubernetes does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use usher::api::{ExpectedDecision, RoutingRule};
use usher::engine::{
    Decision, GroupVersionKind, GroupVersionResource, ObjectKey, Operation, Phase, Protected, Query, Request,
    Rule, RuleIndex, RuleSet, StoredObject, decide,
};
use usher::rules::{Context, Kinds, accept};
use usher::source::{DirectorySource, Object, Snapshot, is_manifest};
use usher_cel::KubernetesVersion;

#[test]
fn every_shipped_rule_compiles_without_warnings_and_passes_its_tests() {
    let mut faults = Vec::new();
    for written in rules(&snapshot("")) {
        match accept(&written, &context()) {
            Ok(compiled) => faults.extend(compiled.warnings.iter().map(|warning| told(&written, warning))),
            Err(findings) => faults.extend(findings.iter().map(|finding| told(&written, finding))),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_route_of_a_shipped_rule_has_a_test_that_it_decides_and_one_that_it_does_not() {
    let mut faults = Vec::new();
    for written in rules(&snapshot("")) {
        let spec = &written.spec;
        let silent = |decision| matches!(decision, ExpectedDecision::Allow | ExpectedDecision::Unmatched);
        if !spec.tests.iter().any(|test| test.expect.route.is_none() && silent(test.expect.decision)) {
            faults.push(format!("{}: no test in which no route decides", name(&written)));
        }
        for route in &spec.routes {
            let decided = spec.tests.iter().any(|test| test.expect.route.as_ref() == Some(&route.name));
            // A mutation shows by the object after it, whichever of several routes made it.
            let shown = route.mutate.is_some() && spec.tests.iter().any(|test| test.expect.patched.is_some());
            if !decided && !shown {
                faults.push(format!("{}: no test of the route {}", name(&written), route.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_shipped_rule_says_what_it_is_for_and_is_in_the_table() {
    let readme = std::fs::read_to_string(policies().join("README.md")).unwrap();
    for written in rules(&snapshot("")) {
        assert!(written.spec.description.is_some(), "{} has no description", name(&written));
        assert!(readme.contains(&format!("`{}`", name(&written))), "{} is not in README.md", name(&written));
    }
    for file in files(&policies()) {
        let path = file.strip_prefix(policies()).unwrap().to_str().unwrap();
        assert!(readme.contains(path), "{path} is not in README.md");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# "), "{path} does not begin with a comment about its use");
    }
}

#[test]
fn pods_of_the_pod_security_tests_are_judged_as_kubernetes_judges_them() {
    let Some(rows) = corpus("psa-pods.jsonl") else { return };
    let baseline = rule_set("pod-security/baseline");
    let restricted = rule_set("pod-security");
    let mut wrong = Vec::new();
    let mut checks: BTreeMap<String, usize> = BTreeMap::new();
    for row in &rows {
        assert_eq!(row["version"], "v1.37", "the rules are those of one version");
        let rules = match row["level"].as_str() {
            Some("baseline") => &baseline,
            Some("restricted") => &restricted,
            other => panic!("no rules for the level {other:?}"),
        };
        let decision = create(rules, &row["object"]);
        let judged = if decision.allowed() { "pass" } else { "fail" };
        let errors = decision.rejections.iter().any(|rejection| rejection.error.is_some());
        if row["expected"] != judged || errors {
            wrong.push(format!("{}: {judged}: {:?}", row["id"], decision.rejections));
        }
        *checks.entry(row["check"].to_string()).or_default() += 1;
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert!(checks.len() > 10, "only {checks:?}");
}

#[test]
fn no_shipped_rule_fails_on_a_real_manifest() {
    const RESOURCES: &[(&str, &str)] = &[
        ("Pod", "pods"),
        ("Deployment", "deployments"),
        ("ReplicaSet", "replicasets"),
        ("StatefulSet", "statefulsets"),
        ("DaemonSet", "daemonsets"),
        ("Job", "jobs"),
        ("CronJob", "cronjobs"),
    ];
    let Some(rows) = corpus("manifests.jsonl") else { return };
    let rules = rule_set("");
    let (mut asked, mut errors) = (0, Vec::new());
    for row in &rows {
        let kind = row["object"]["kind"].as_str().unwrap_or_default();
        let Some((_, resource)) = RESOURCES.iter().find(|(known, _)| *known == kind) else { continue };
        asked += 1;
        for phase in [Phase::Mutating, Phase::Validating] {
            for operation in [Operation::Create, Operation::Update, Operation::Delete] {
                let decision = ask_about(&rules, &row["object"], resource, phase, operation);
                let failed = decision.rejections.iter().filter(|rejection| rejection.error.is_some());
                errors.extend(failed.map(|one| format!("{} {}: {}", row["id"], one.rule, one.message)));
            }
        }
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    assert!(asked > 100, "only {asked} manifests");
}

#[test]
fn a_pod_that_breaks_every_baseline_control_hears_of_all_of_them() {
    let pod = serde_json::json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "annotations": {"container.apparmor.security.beta.kubernetes.io/a": "unconfined"}},
        "spec": {
            "hostNetwork": true, "hostPID": true, "hostIPC": true,
            "securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]},
            "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
            "containers": [{
                "name": "a", "image": "app:1",
                "ports": [{"containerPort": 1, "hostPort": 1}],
                "livenessProbe": {"httpGet": {"port": 80, "host": "10.0.0.1"}},
                "securityContext": {
                    "privileged": true, "procMount": "Unmasked",
                    "capabilities": {"add": ["SYS_ADMIN"]},
                    "appArmorProfile": {"type": "Unconfined"},
                    "seccompProfile": {"type": "Unconfined"},
                    "seLinuxOptions": {"type": "spc_t"},
                    "windowsOptions": {"hostProcess": true},
                },
            }],
        },
    });
    let rules = rule_set("pod-security/baseline");
    let decision = create(&rules, &pod);
    let heard: BTreeSet<&str> = decision.rejections.iter().map(|rejection| &*rejection.rule).collect();
    let all: BTreeSet<&str> = rules.rules().iter().map(|rule| &*rule.name).collect();
    assert_eq!(heard, all);
}

#[test]
fn a_pod_that_says_little_is_made_one_that_all_shipped_rules_admit() {
    let pod = serde_json::json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{
            "name": "a", "image": "registry.k8s.io/pause:3.10",
            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "16Mi"}},
        }]},
    });
    let rules = rule_set("");
    let refused: BTreeSet<_> = create(&rules, &pod).rejections.into_iter().map(|one| one.rule).collect();
    assert!(refused.contains("restricted-seccomp"), "{refused:?}");

    let patched = ask(&rules, &pod, Phase::Mutating).patched_object.unwrap();
    let patched: Value = serde_json::from_slice(&patched).unwrap();
    assert_eq!(patched["spec"]["containers"][0]["imagePullPolicy"], "Always");
    assert_eq!(create(&rules, &patched).rejections, []);
    assert_eq!(ask(&rules, &patched, Phase::Mutating).patch, None, "nothing is left to change");
}

#[test]
fn examples_in_the_guide_are_taken_from_the_shipped_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = std::fs::read_to_string(root.join("docs/rules.md")).unwrap();
    let examples: Vec<&str> =
        guide.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() > 5);
    for example in examples {
        let (place, text) = example.split_once('\n').unwrap();
        let path = place.strip_prefix("# ").unwrap_or_else(|| panic!("an example without its file: {place}"));
        let file = std::fs::read_to_string(root.join(path)).unwrap();
        assert!(file.contains(text), "not in {path}:\n{text}");
    }
}

fn told(written: &RoutingRule, finding: &usher::diagnostic::Diagnostic) -> String {
    format!("{}: {finding}", name(written))
}

fn name(written: &RoutingRule) -> &str {
    written.metadata.name.as_deref().unwrap_or_default()
}

/// What is said when somebody creates the Pod in a namespace without labels.
pub(crate) fn create(rules: &RuleSet, object: &Value) -> Decision {
    ask(rules, object, Phase::Validating)
}

fn ask(rules: &RuleSet, object: &Value, phase: Phase) -> Decision {
    ask_about(rules, object, "pods", phase, Operation::Create)
}

fn ask_about(
    rules: &RuleSet,
    object: &Value,
    resource: &str,
    phase: Phase,
    operation: Operation,
) -> Decision {
    let json = object.to_string();
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let request = Request {
        uid: "1",
        kind: GroupVersionKind { group, version, kind: object["kind"].as_str().unwrap_or_default() },
        resource: GroupVersionResource { group, version, resource },
        name: object["metadata"]["name"].as_str().unwrap_or_default(),
        namespace: "default",
        operation,
        object: (operation != Operation::Delete).then_some(&*json),
        old_object: (operation != Operation::Create).then_some(&*json),
        ..Request::default()
    };
    decide(rules, &request, &Query::new(phase))
}

/// The rules of one folder with the ConfigMaps beside them, ready to answer.
pub(crate) fn rule_set(folder: &str) -> RuleSet {
    let snapshot = snapshot(folder);
    let mut index = RuleIndex::new(Protected::default());
    for written in rules(&snapshot) {
        index.apply(Arc::new(compiled(&written)));
    }
    for object in snapshot.store.list("v1", "ConfigMap", None) {
        let key = object.key();
        let key = ObjectKey {
            api_version: key.api_version.clone(),
            kind: key.kind.clone(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        };
        index.apply_object(key, StoredObject { json: object.json().into(), labels: BTreeMap::new() });
    }
    index.snapshot()
}

fn compiled(written: &RoutingRule) -> Rule {
    match accept(written, &context()) {
        Ok(compiled) => compiled.rule,
        Err(findings) => panic!("{}: {findings:?}", name(written)),
    }
}

fn rules(snapshot: &Snapshot) -> Vec<Arc<RoutingRule>> {
    let rules: Vec<_> = snapshot
        .objects
        .iter()
        .filter_map(|object| match object {
            Object::RoutingRule(loaded) => Some(Arc::clone(&loaded.object)),
            _ => None,
        })
        .collect();
    assert!(!rules.is_empty(), "the rules are gone");
    rules
}

fn snapshot(folder: &str) -> Snapshot {
    let snapshot = DirectorySource::open([policies().join(folder)]).unwrap().snapshot();
    assert!(snapshot.diagnostics.is_empty(), "{:?}", snapshot.diagnostics);
    snapshot
}

/// The manifests below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| is_manifest(path));
    files.chain(folders.iter().flat_map(|folder| self::files(folder))).collect()
}

fn policies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("policies")
}

pub(crate) fn context() -> Context<'static> {
    static KINDS: std::sync::LazyLock<Kinds> = std::sync::LazyLock::new(Kinds::default);
    static PROTECTED: std::sync::LazyLock<Protected> = std::sync::LazyLock::new(Protected::default);
    Context { kinds: &KINDS, protected: &PROTECTED, version: KubernetesVersion::default() }
}

/// Rows of a file of outside cases. They lie beside the project, and are not there everywhere.
fn corpus(file: &str) -> Option<Vec<Value>> {
    let ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let Some(path) =
        ancestors.map(|folder| folder.join("shared/corpus").join(file)).find(|path| path.exists())
    else {
        eprintln!("not tested: there is no shared/corpus/{file} beside the project");
        return None;
    };
    let text = std::fs::read_to_string(path).unwrap();
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}
