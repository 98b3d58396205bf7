//! Pods that a level of the Pod Security Standards must let pass or refuse, judged by the rules in `policies/`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use usher::diagnostic::Severity;
use usher::engine::{Phase, Protected, RuleSet};
use usher::rules::RuleWriter;
use usher::source::{Change, DirectorySource, feed};

use crate::admission::evaluate;
use crate::request::Envelope;

/// Namespace of the Pods.
const NAMESPACE: &str = "psa-test";

/// Rules of this repository.
pub(crate) struct Shipped {
    /// All of them.
    pub(crate) all: Arc<RuleSet>,
    baseline: Arc<RuleSet>,
    /// With those of the level below.
    restricted: Arc<RuleSet>,
}

pub(crate) fn shipped_rules() -> Result<&'static Shipped> {
    static SHIPPED: LazyLock<Result<Shipped>> = LazyLock::new(|| {
        let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
        let level = |name: &str| policies.join("pod-security").join(name);
        Ok(Shipped {
            all: load([policies.clone()])?,
            baseline: load([level("baseline")])?,
            restricted: load([level("baseline"), level("restricted")])?,
        })
    });
    SHIPPED.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))
}

/// Whether a Pod passes its level.
pub(crate) fn verdict(case: &Value) -> Result<Value> {
    let shipped = shipped_rules()?;
    let rules = match case["level"].as_str() {
        Some("baseline") => &shipped.baseline,
        Some("restricted") => &shipped.restricted,
        other => bail!("no rules for the level {other:?}"),
    };
    let mut object = case["object"].clone();
    object["metadata"]["namespace"] = NAMESPACE.into();
    let kind = json!({"group": "", "version": "v1", "kind": "Pod"});
    let resource = json!({"group": "", "version": "v1", "resource": "pods"});
    let request = json!({
        "uid": "1", "kind": kind, "resource": resource, "operation": "CREATE", "namespace": NAMESPACE,
        "name": object["metadata"]["name"], "object": object, "userInfo": {"username": "admin"},
    });
    let envelope = Envelope::read(&request);
    let decision = evaluate(rules, &envelope.request()?, Phase::Validating);
    Ok(match decision.rejections.first() {
        None => json!({"decision": "pass"}),
        Some(rejection) => json!({"decision": "fail", "error": rejection.message}),
    })
}

fn load(paths: impl IntoIterator<Item = PathBuf>) -> Result<Arc<RuleSet>> {
    let source = DirectorySource::open(paths).map_err(|fault| anyhow::anyhow!("{fault}"))?;
    let snapshot = Arc::new(source.snapshot());
    let (mut writer, live) = RuleWriter::new(Protected::nothing());
    feed([&Change::Reset(Arc::clone(&snapshot))], &mut writer);
    let findings = writer.reports().flat_map(|(_, report)| &report.diagnostics).chain(&snapshot.diagnostics);
    if let Some(fault) = findings.into_iter().find(|finding| finding.severity == Severity::Error) {
        bail!("{fault}");
    }
    let rules = live.load();
    Some(rules).filter(|rules| !rules.rules().is_empty()).context("no rules in policies/")
}
