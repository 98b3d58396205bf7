use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Audit admits the request and adds annotations to its audit event.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// Annotations for the audit event. 1 to 20.
    #[schemars(length(min = 1, max = 20))]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub annotations: Vec<AuditAnnotation>,
}

/// AuditAnnotation is one annotation of the audit event.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditAnnotation {
    /// Key of the annotation, after the name of the webhook that the API server puts before it. Different values of one key, from
    /// several rules, are joined.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"))]
    pub key: String,

    /// CEL expression of type string or null. Null or an empty string leaves the annotation out; a longer result is cut
    /// at 10 KiB.
    #[schemars(length(min = 1, max = 5120))]
    pub value_expression: String,
}
