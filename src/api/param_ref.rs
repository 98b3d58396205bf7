use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// ParamRef names the objects that the expressions of a rule read as `params`.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.name) != has(self.selector)")
    .message("params must have exactly one of name and selector"))]
pub struct ParamRef {
    /// API version of the objects, such as `v1` or `example.com/v1`.
    #[schemars(length(min = 1, max = 317))]
    pub api_version: String,

    /// Kind of the objects, such as `ConfigMap`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,

    /// Name of the one object. Exactly one of name and selector is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,

    /// Labels of the objects; `{}` means all of the kind. The rule is evaluated once per object, in the order of
    /// namespace and name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::label_selector")]
    pub selector: Option<LabelSelector>,

    /// Namespace of the objects. Left out for a namespaced kind, it is the namespace of the request. It must be left
    /// out for a cluster-scoped kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,

    /// What it means when no object is found. Deny: an error of the rule, which goes by failurePolicy. Allow: the rule
    /// does not apply. Defaults to Deny.
    #[serde(default)]
    pub not_found: ParamNotFound,
}

/// What it means when the parameter object is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ParamNotFound {
    /// An error of the rule, subject to its failurePolicy.
    #[default]
    Deny,
    /// The rule does not apply.
    Allow,
}
