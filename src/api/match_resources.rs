use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// MatchResources selects requests without CEL, with the names and the meaning of matchConstraints in a
/// ValidatingAdmissionPolicy.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchResources {
    /// Requests to look at: those that match any of these. Without any, every request. At most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub resource_rules: Vec<ResourceRule>,

    /// Requests not to look at, even if resourceRules names them. At most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub exclude_resource_rules: Vec<ResourceRule>,

    /// Labels of the namespace of the request. A request on a Namespace is judged by that namespace's own labels; other
    /// cluster-scoped requests always match. Without it every namespace matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::label_selector")]
    pub namespace_selector: Option<LabelSelector>,

    /// Labels of the object: it is enough that object or oldObject has them. An object that cannot have labels matches
    /// only an empty selector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::label_selector")]
    pub object_selector: Option<LabelSelector>,

    /// Exact: the request's own resource and version must be named. Equivalent: a request through another group or
    /// version of the same resource matches as well. Defaults to Equivalent.
    #[serde(default)]
    pub match_policy: MatchPolicy,
}

/// ResourceRule matches requests by operation, resource, scope and name.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!self.apiGroups.exists(g, g == '*') || self.apiGroups.size() == 1")
        .message("'*' must be the only entry of apiGroups"),
    validation = Rule::new("!self.apiVersions.exists(v, v == '*') || self.apiVersions.size() == 1")
        .message("'*' must be the only entry of apiVersions"),
    validation = Rule::new("!self.operations.exists(o, o == '*') || self.operations.size() == 1")
        .message("'*' must be the only entry of operations")
)]
pub struct ResourceRule {
    /// API groups; `""` is the core group, `*` all groups. 1 to 64.
    #[schemars(length(min = 1, max = 64), inner(length(max = 253)))]
    pub api_groups: Vec<String>,

    /// API versions; `*` is all versions. 1 to 64.
    #[schemars(length(min = 1, max = 64), inner(length(min = 1, max = 63)))]
    pub api_versions: Vec<String>,

    /// Resources: `pods`, `pods/log` (a subresource), `pods/*` (pods and all their subresources), `*/scale`, `*` (all
    /// resources, no subresources), `*/*` (everything). 1 to 64.
    #[schemars(length(min = 1, max = 64), inner(length(min = 1, max = 127)))]
    pub resources: Vec<String>,

    /// Operations: CREATE, UPDATE, DELETE, CONNECT, or `*` for all. 1 to 5.
    #[schemars(length(min = 1, max = 5))]
    pub operations: Vec<Operation>,

    /// Names of objects; without any, every name matches. A request whose name is not known yet (generateName, in the
    /// mutating phase) or is not sent (collection delete) matches no name. At most 256.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 253)))]
    pub resource_names: Vec<String>,

    /// Cluster: only cluster-scoped resources, and Namespaces. Namespaced: only namespaced ones. `*`: both. Defaults to
    /// `*`.
    #[serde(default)]
    pub scope: Scope,
}

/// The operations of an admission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Operation {
    /// All operations.
    #[serde(rename = "*")]
    All,
    /// A new object.
    #[serde(rename = "CREATE")]
    Create,
    /// A change of an object.
    #[serde(rename = "UPDATE")]
    Update,
    /// The end of an object.
    #[serde(rename = "DELETE")]
    Delete,
    /// A connection through a subresource such as pods/exec.
    #[serde(rename = "CONNECT")]
    Connect,
}

/// Whether a resource rule means namespaced resources, cluster-scoped ones, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Scope {
    /// Both.
    #[default]
    #[serde(rename = "*")]
    All,
    /// Cluster-scoped resources and Namespaces.
    Cluster,
    /// Resources inside a namespace.
    Namespaced,
}

/// How a resource rule treats other versions of the same resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MatchPolicy {
    /// Equivalent groups and versions match.
    #[default]
    Equivalent,
    /// Only what is named matches.
    Exact,
}
