use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FailurePolicy;

/// Forward sends the review to an existing admission webhook and answers as it does.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.url) != has(self.service)")
    .message("forward must have exactly one of url and service"))]
pub struct Forward {
    /// Phase in which the webhook is asked.
    pub phase: Phase,

    /// Where the webhook is: an https URL without user, query and fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), regex(pattern = r"^https://[^@?#]+$"))]
    pub url: Option<String>,

    /// Where the webhook is: a Service of this cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ForwardService>,

    /// Certificates that the webhook's certificate is checked against: PEM, base64-encoded. Without it the roots of
    /// the system are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 131_072), regex(pattern = r"^[A-Za-z0-9+/\r\n]*=*$"))]
    pub ca_bundle: Option<String>,

    /// How long to wait for the webhook, 1 to 30 seconds, and never longer than the API server waits. Defaults to 5.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 30))]
    pub timeout_seconds: i32,

    /// What a failed call means: Fail rejects the request, Ignore goes on. Defaults to the rule's failurePolicy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<FailurePolicy>,
}

/// ForwardService names a Service of this cluster.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForwardService {
    /// Namespace of the Service.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,

    /// Name of the Service.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,

    /// Path of the request. Defaults to `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024), regex(pattern = r"^/"))]
    pub path: Option<String>,

    /// Port of the Service. Defaults to 443.
    #[serde(default = "default_port")]
    #[schemars(range(min = 1, max = 65_535))]
    pub port: i32,
}

/// Which of the two admission calls is being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// The call that may change the object.
    Mutating,
    /// The call after all changes, that may only refuse.
    Validating,
}

fn default_timeout() -> i32 {
    5
}

fn default_port() -> i32 {
    443
}
