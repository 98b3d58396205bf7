//! `MutatingAdmissionPolicy` and its binding. The Kubernetes API has them as v1 from 1.36 on, which is newer than the
//! API that the client library is built for; v1beta1 and v1alpha1 have the same fields. Parts that are the same as in a
//! `ValidatingAdmissionPolicy` are the same types.

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, ParamKind, ParamRef, Variable,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Describes a policy that may change objects that come into the API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MutatingAdmissionPolicy {
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Standard object metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What the policy does.
    pub spec: MutatingAdmissionPolicySpec,
}

/// What a `MutatingAdmissionPolicy` does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MutatingAdmissionPolicySpec {
    /// Kind of the parameter objects. Without it the expressions have no `params`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param_kind: Option<ParamKind>,
    /// Requests that the policy looks at. Required by the API server; DELETE is not allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_constraints: Option<MatchResources>,
    /// Named expressions that others read as `variables.NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    /// Changes, made in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutations: Vec<Mutation>,
    /// What an error means: `Fail` or `Ignore`. Defaults to `Fail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<super::FailurePolicy>,
    /// CEL conditions that must all be true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_conditions: Vec<MatchCondition>,
    /// Whether the policy is evaluated again after a later change of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reinvocation_policy: Option<ReinvocationPolicy>,
}

/// One change of a `MutatingAdmissionPolicy`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mutation {
    /// Which of the two forms is used.
    pub patch_type: PatchType,
    /// Fields to be merged into the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apply_configuration: Option<ApplyConfiguration>,
    /// Operations of a JSON Patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_patch: Option<JsonPatch>,
}

/// The form of a [`Mutation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PatchType {
    /// `applyConfiguration` is set.
    ApplyConfiguration,
    /// `jsonPatch` is set.
    #[serde(rename = "JSONPatch")]
    JsonPatch,
}

/// An expression of type `Object`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApplyConfiguration {
    /// CEL expression.
    pub expression: String,
}

/// An expression of type `list(JSONPatch)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonPatch {
    /// CEL expression.
    pub expression: String,
}

/// Whether a mutating policy or webhook is called again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ReinvocationPolicy {
    /// Once only.
    #[default]
    Never,
    /// Again, when the object changed after the first call.
    IfNeeded,
}

/// Binds a `MutatingAdmissionPolicy` to parameters and to a part of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MutatingAdmissionPolicyBinding {
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Standard object metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What is bound.
    pub spec: MutatingAdmissionPolicyBindingSpec,
}

/// What a `MutatingAdmissionPolicyBinding` binds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MutatingAdmissionPolicyBindingSpec {
    /// Name of the policy. Required by the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_name: Option<String>,
    /// The parameter objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param_ref: Option<ParamRef>,
    /// Requests that the binding looks at, of those that the policy looks at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_resources: Option<MatchResources>,
}
