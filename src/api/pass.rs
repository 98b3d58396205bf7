use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AuditAnnotation;

/// Pass ends evaluation without a rejection. It never undoes a rejection of a higher rule.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pass {
    /// What ends: Rule (the remaining routes of this rule) or All (everything that would follow in this phase).
    /// Defaults to Rule.
    #[serde(default)]
    pub scope: PassScope,

    /// Annotations for the audit event, so that a pass leaves a trace. At most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub audit_annotations: Vec<AuditAnnotation>,
}

/// How far a pass reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PassScope {
    /// The rest of this rule is skipped.
    #[default]
    Rule,
    /// The rest of this phase is skipped.
    All,
}
