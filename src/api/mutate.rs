use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Mutate changes the object in exactly one of three ways.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "[has(self.jsonPatch), has(self.applyConfiguration), has(self.patches)].filter(m, m).size() == 1"
)
.message("mutate must have exactly one of jsonPatch, applyConfiguration and patches"))]
pub struct Mutate {
    /// CEL expression of type list(JSONPatch), as in a MutatingAdmissionPolicy: the operations of a JSON Patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::expression")]
    pub json_patch: Option<String>,

    /// CEL expression of type Object, as in a MutatingAdmissionPolicy: fields to be merged into the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::expression")]
    pub apply_configuration: Option<String>,

    /// A literal JSON Patch (RFC 6902), for changes that need no CEL. 1 to 256 operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub patches: Option<Vec<PatchOperation>>,
}

/// PatchOperation is one operation of a JSON Patch (RFC 6902).
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("has(self.from) == (self.op in ['move', 'copy'])")
    .message("from belongs to the operations move and copy, and to no other"))]
pub struct PatchOperation {
    /// What to do at path.
    pub op: PatchOp,

    /// JSON Pointer (RFC 6901) of the place to change, such as `/metadata/labels/team`.
    #[schemars(length(max = 2048), regex(pattern = r"^(/.*)?$"))]
    pub path: String,

    /// JSON Pointer of the place to take the value from; move and copy only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), regex(pattern = r"^(/.*)?$"))]
    pub from: Option<String>,

    /// Any JSON value; add, replace and test only. Left out, it is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::any_value")]
    pub value: Option<Value>,
}

/// The six operations of RFC 6902.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PatchOp {
    /// Insert into a list, or set a field.
    Add,
    /// Take away what is at the path; it must exist.
    Remove,
    /// Put another value at the path; it must exist.
    Replace,
    /// Take from `from`, put at `path`.
    Move,
    /// Put what is at `from` also at `path`.
    Copy,
    /// Compare; the whole patch is void if the value differs.
    Test,
}
