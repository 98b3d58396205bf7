//! The alerts are what Prometheus takes, and each is about metrics that there are.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use super::rendering::helm;

/// What Prometheus says of rules.
#[derive(Debug, Deserialize)]
pub(crate) struct Checked {
    pub(crate) errors: Vec<String>,
    /// Names of metrics by alert.
    pub(crate) metrics: BTreeMap<String, Vec<String>>,
}

/// The alerts as they are rendered, with what the operator of Prometheus wraps around them taken away.
pub(crate) fn shipped() -> Value {
    let objects = helm(&json!({"metrics": {"rules": true}})).objects;
    json!({"groups": objects["PrometheusRule/usher"]["spec"]["groups"]})
}

/// As `promtool check rules`.
pub(crate) fn check(rules: &Value) -> Checked {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/deploy/alerts/build.sh");
    let built = Command::new(&script).stderr(Stdio::inherit()).output().unwrap();
    assert!(built.status.success(), "{} failed: {}", script.display(), built.status);
    let mut child = Command::new(String::from_utf8(built.stdout).unwrap().trim_end())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(rules.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn prometheus_takes_the_alerts() {
    let rules = shipped();
    let checked = check(&rules);
    assert_eq!(checked.errors, Vec::<String>::new());
    assert_eq!(checked.metrics.len(), rules["groups"][0]["rules"].as_array().unwrap().len());
    for rule in rules["groups"][0]["rules"].as_array().unwrap() {
        let name = &rule["alert"];
        for annotation in ["summary", "description"] {
            assert!(rule["annotations"][annotation].is_string(), "{name} has no {annotation}");
        }
        let severity = rule["labels"]["severity"].as_str().unwrap();
        assert!(["critical", "warning"].contains(&severity), "{name}: {severity}");
    }
    for (pointer, wrong) in [
        ("/groups/0/rules/0/expr", "rate(usher_leader[5m]"),
        ("/groups/0/rules/0/for", "soon"),
        ("/groups/0/rules/0/annotations/summary", "{{ $labels.pod }"),
        ("/groups/0/rules/0/alert", ""),
    ] {
        let mut broken = rules.clone();
        broken.pointer_mut(pointer.rsplit_once('/').unwrap().0).unwrap()
            [pointer.rsplit_once('/').unwrap().1] = wrong.into();
        assert!(!check(&broken).errors.is_empty(), "{pointer}: {wrong}");
    }
}

/// Of what can go wrong without anybody noticing, each has its alert.
#[test]
fn there_is_an_alert_for_each_of_the_known_troubles() {
    let metrics = check(&shipped()).metrics;
    for (alert, metric) in [
        ("UsherFailingOpen", "apiserver_admission_webhook_fail_open_count"),
        ("UsherShedding", "usher_admission_shed_total"),
        ("UsherRulesStale", "usher_rules_stale_seconds"),
        ("UsherCertificateExpiring", "usher_tls_certificate_not_after_timestamp_seconds"),
        ("UsherRuleQuarantined", "usher_rules_quarantined"),
        ("UsherPanics", "usher_webhook_panics_total"),
        ("UsherPathUnproven", "usher_webhook_probes_total"),
    ] {
        assert!(metrics[alert].iter().any(|name| name == metric), "{alert}: {:?}", metrics[alert]);
    }
}
