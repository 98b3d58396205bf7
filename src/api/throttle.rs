use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Throttle refuses requests (429) that come more often than allowed. Each replica counts for itself.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Throttle {
    /// How many requests are admitted per period.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests: i32,

    /// Length of the period, such as `1s`, `10m` or `1h30m`: a number and a unit (ms, s, m, h), repeated.
    #[schemars(length(min = 2, max = 32), regex(pattern = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"))]
    pub period: String,

    /// How many requests may come at once. Defaults to requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub burst: Option<i32>,

    /// CEL expression of type string: requests with the same result share one budget. Without it all requests that
    /// reach the route share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::expression")]
    pub key_expression: Option<String>,

    /// Text for the user who is refused. No line breaks; at most 1024 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::message")]
    pub message: Option<String>,
}
