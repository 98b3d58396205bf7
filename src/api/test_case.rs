use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Operation, Phase};

/// TestCase is one request and the decision that the rule must come to.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.object) || has(self.oldObject)")
        .message("a test must have an object or an oldObject"),
    validation = Rule::new("!has(self.operation) || self.operation != '*'")
        .message("a test must name one operation, not '*'")
)]
pub struct TestCase {
    /// Name of the test, unique in the rule: a short sentence such as `latest is refused`.
    #[schemars(length(min = 1, max = 128))]
    pub name: String,

    /// Phase to evaluate. Without it: Mutating, then Validating on the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,

    /// Operation of the request. Defaults to CREATE with an object only, UPDATE with both, DELETE with an oldObject
    /// only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,

    /// Resource of the request. Without it the usual plural of the object's kind is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<TestResource>,

    /// Subresource of the request, such as `scale` or `exec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub subresource: Option<String>,

    /// The new object of the request, with apiVersion and kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::any_object")]
    pub object: Option<Value>,

    /// The object before the request, with apiVersion and kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::any_object")]
    pub old_object: Option<Value>,

    /// Name in the request. Defaults to the object's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub request_name: Option<String>,

    /// Namespace of the request. Defaults to the object's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,

    /// Labels of the namespace, beside `kubernetes.io/metadata.name`. At most 64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "super::bounds::labels")]
    pub namespace_labels: BTreeMap<String, String>,

    /// Name of the user who asks. Defaults to `test-user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub user: Option<String>,

    /// Groups of the user who asks. Defaults to `system:authenticated`. At most 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), inner(length(max = 253)))]
    pub groups: Option<Vec<String>>,

    /// Whether the request is a dry run. Defaults to false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,

    /// Parameter objects for this test; the rule is evaluated once per object. At most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::bounds::any_objects")]
    pub params: Vec<Value>,

    /// What must come out.
    pub expect: Expectation,
}

/// TestResource names the resource of a request.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestResource {
    /// API group; empty for the core group.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub group: String,

    /// API version.
    #[schemars(length(min = 1, max = 63))]
    pub version: String,

    /// Plural name of the resource, such as `pods`.
    #[schemars(length(min = 1, max = 63))]
    pub resource: String,
}

/// Expectation is what a test must find. What is left out is not compared.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Expectation {
    /// allow: admitted, changed or not. deny: refused. patched: admitted and changed. unmatched: no route matched. error:
    /// an evaluation error, whatever failurePolicy makes of it.
    pub decision: ExpectedDecision,

    /// Name of the route that must have decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub route: Option<String>,

    /// Text that the message must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 5120))]
    pub message: Option<String>,

    /// Warnings that must be sent, each by a part of its text, and no others. At most 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), inner(length(max = 5120)))]
    pub warnings: Option<Vec<String>>,

    /// Audit annotations that must be there, by key. At most 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::annotations")]
    pub audit_annotations: Option<BTreeMap<String, String>>,

    /// Fields that the object must have afterwards. Lists must have the same length and are compared item by item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::bounds::any_object")]
    pub patched: Option<Value>,
}

/// What a test may expect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExpectedDecision {
    /// The request is admitted, changed or not.
    #[default]
    Allow,
    /// The request is refused.
    Deny,
    /// The request is admitted and the object changed.
    Patched,
    /// No route matched.
    Unmatched,
    /// The evaluation had an error.
    Error,
}

impl Default for Expectation {
    fn default() -> Self {
        Self {
            decision: ExpectedDecision::Allow,
            route: None,
            message: None,
            warnings: None,
            audit_annotations: None,
            patched: None,
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}
