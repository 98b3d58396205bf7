use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Warn admits the request and sends a warning to the client.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.message) != has(self.messageExpression)")
    .message("warn must have exactly one of message and messageExpression"))]
pub struct Warn {
    /// Text of the warning. No line breaks; at most 1024 characters, of which clients may see the first 256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::message")]
    pub message: Option<String>,

    /// CEL expression of type string that makes the text of the warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::expression")]
    pub message_expression: Option<String>,
}
