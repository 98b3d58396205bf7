use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Variable is a named expression that others read as `variables.NAME`.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Name of the variable, unique in the rule: a CEL identifier.
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,

    /// CEL expression of any type. It may read what a predicate may read, of the variables only earlier ones.
    #[schemars(length(min = 1, max = 100_000))]
    pub expression: String,
}
