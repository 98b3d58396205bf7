use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// MatchCondition is a named CEL condition that must be true before any route is looked at.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MatchCondition {
    /// Name of the condition, unique in the rule; a qualified name such as `exclude-leases` or `example.com/mine`.
    #[schemars(
        length(min = 1, max = 317),
        regex(pattern = r"^([-a-z0-9.]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
    )]
    pub name: String,

    /// CEL expression of type bool. It may read object, oldObject, request, params and authorizer, but not variables
    /// and not namespaceObject.
    #[schemars(length(min = 1, max = 100_000))]
    pub expression: String,
}
