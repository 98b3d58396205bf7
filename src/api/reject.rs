use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reject refuses the request.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reject {
    /// Text for the user. Used when there is no messageExpression, or when it fails or gives an empty string. Without
    /// both, the text is `failed expression: ` and the predicate. No line breaks; at most 1024 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::message")]
    pub message: Option<String>,

    /// CEL expression of type string that makes the text for the user. It may read all that a predicate may read,
    /// except authorizer. The result is cut of white space and must be one line of at most 5 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::expression")]
    pub message_expression: Option<String>,

    /// Machine-readable reason in the response; it also sets the code. Defaults to Forbidden.
    #[serde(default)]
    pub reason: RejectReason,

    /// HTTP code in the response, 400 to 499. Defaults to the code of the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 400, max = 499))]
    pub code: Option<i32>,
}

/// Why a request is refused: a subset of the reasons of `metav1.Status`, each with the code that it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RejectReason {
    /// 403.
    #[default]
    Forbidden,
    /// 422.
    Invalid,
    /// 413.
    RequestEntityTooLarge,
    /// 401.
    Unauthorized,
    /// 400.
    BadRequest,
    /// 409.
    Conflict,
    /// 429.
    TooManyRequests,
}
