pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// RoutingRuleStatus is what the controller has found out about a rule. It is written on change only, never per request.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoutingRuleStatus {
    /// The state in one word, for people. Pending: not looked at yet. Invalid: not accepted and not served. Shadow,
    /// Audit, Warn, Enforcing, Disabled: in force in that mode. Degraded: in force, but not as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<RulePhase>,

    /// The generation that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,

    /// The generation that answers requests: the last one that was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub served_generation: Option<i64>,

    /// Accepted, Programmed, Armed and Ready. Ready is true when every live replica serves observedGeneration and the
    /// API server asks about what the rule matches; Armed, on rules with failurePolicy Fail, when it refuses requests
    /// while no replica answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::bounds::conditions")]
    pub conditions: Vec<Condition>,

    /// How many live replicas serve observedGeneration, such as `3/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 21), regex(pattern = r"^[0-9]+/[0-9]+$"))]
    pub acknowledged: Option<String>,

    /// What is wrong with observedGeneration, with the place. At most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub diagnostics: Vec<StatusDiagnostic>,

    /// What the rule costs, in CEL cost units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostStatus>,
}

/// The state of a rule in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RulePhase {
    /// Not looked at yet.
    Pending,
    /// Not accepted, and no earlier generation is served.
    Invalid,
    /// In force in mode Shadow.
    Shadow,
    /// In force in mode Audit.
    Audit,
    /// In force in mode Warn.
    Warn,
    /// In force in mode Enforce.
    Enforcing,
    /// Mode Disabled.
    Disabled,
    /// An earlier generation is in force, or something the rule needs is missing.
    Degraded,
}

/// StatusDiagnostic is one fault of a rule.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusDiagnostic {
    /// Error: the rule is not accepted. Warning: it is.
    pub severity: DiagnosticSeverity,

    /// Code of the fault, such as `U0103`.
    #[schemars(length(max = 16))]
    pub code: String,

    /// Path of the field, such as `spec.routes[0].predicate`.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub field: String,

    /// Line inside the field's text, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub line: Option<i32>,

    /// Column inside the line, in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub column: Option<i32>,

    /// What is wrong and how to mend it.
    #[schemars(length(max = 4096))]
    pub message: String,
}

/// Whether a fault keeps a rule from being accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum DiagnosticSeverity {
    /// The rule is not accepted.
    Error,
    /// The rule is accepted.
    Warning,
}

/// CostStatus is what a rule costs, in CEL cost units.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CostStatus {
    /// The most that one evaluation can cost, as far as it can be told beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub estimated: Option<i64>,
}

/// Types of the conditions in `status.conditions`.
pub mod condition_types {
    /// The newest generation is valid and is (to be) served.
    pub const ACCEPTED: &str = "Accepted";
    /// The expressions were checked against the types of the matched resources.
    pub const TYPE_CHECKED: &str = "TypeChecked";
    /// The parameter objects and services that the rule names exist.
    pub const REFERENCES_RESOLVED: &str = "ReferencesResolved";
    /// The webhook configuration covers the rule, and the API server goes by it.
    pub const PROGRAMMED: &str = "Programmed";
    /// The API server refuses what the rule matches while no replica answers: of rules with failurePolicy Fail.
    pub const ARMED: &str = "Armed";
    /// In force everywhere.
    pub const READY: &str = "Ready";
    /// Those that the controller writes.
    pub const OURS: [&str; 4] = [ACCEPTED, PROGRAMMED, ARMED, READY];
}
