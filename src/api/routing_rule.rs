use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds;
use super::{MatchCondition, MatchResources, ParamRef, Route, RoutingRuleStatus, TestCase, Variable};

/// RoutingRuleSpec says which admission requests a rule looks at and which handler answers them.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "usher.dev",
    version = "v1alpha1",
    kind = "RoutingRule",
    plural = "routingrules",
    singular = "routingrule",
    shortname = "rr",
    category = "usher",
    status = "RoutingRuleStatus",
    derive = "PartialEq",
    doc = "RoutingRule decides who answers an admission request: an ordered list of routes, each with one CEL \
           predicate and one handler (reject, mutate, pass, warn, audit, throttle, forward).",
    printcolumn(name = "Priority", type_ = "integer", json_path = ".spec.priority"),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "True when every live replica serves the newest generation and the webhook covers it."
    ),
    printcolumn(
        name = "Acknowledged",
        type_ = "string",
        json_path = ".status.acknowledged",
        description = "Replicas that serve the newest generation, of all live replicas.",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!(self.mode in ['Warn', 'Audit']) || self.routes.exists(r, !has(r.mutate) && !has(r.pass))")
        .message("mode Warn and Audit have no effect on a rule that only mutates or passes; use Shadow to try it"),
    validation = Rule::new("!has(self.tests) || self.tests.all(t, !has(t.expect.route) || self.routes.exists(r, r.name == t.expect.route))")
        .message("tests[].expect.route must be the name of one of the routes")
)]
pub struct RoutingRuleSpec {
    /// Rules with a higher priority are evaluated first. Rules of equal priority follow in the order cluster before
    /// namespaced, then by name. Defaults to 0.
    #[serde(default)]
    pub priority: i32,

    /// What the rule may do with its result. Enforce: as the handlers say. Warn: rejections become warnings and
    /// nothing is patched. Audit: audit annotations only. Shadow: metrics and decision log only. Disabled: the rule is
    /// not evaluated. Defaults to Enforce.
    #[serde(default)]
    pub mode: Mode,

    /// What an error in the rule means for a request: Fail rejects it with the error as text, Ignore goes on as if the
    /// route had not matched, and counts the error. A predicate that is false is not an error. Defaults to Fail.
    #[serde(default)]
    pub failure_policy: FailurePolicy,

    /// Which requests the rule looks at, decided without CEL, with the meaning of matchConstraints in a
    /// ValidatingAdmissionPolicy. A rule without it looks at every request.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub match_resources: Option<MatchResources>,

    /// CEL conditions that must all be true before any route is looked at. One that is false ends the rule, even if
    /// another one has an error; an error without a false goes by failurePolicy. At most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub match_conditions: Vec<MatchCondition>,

    /// Objects that the expressions read as `params`. The rule is evaluated once per object found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Box<ParamRef>>,

    /// Named expressions, read as `variables.NAME` by later variables, predicates and handlers; evaluated at first use
    /// and at most once per request. At most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub variables: Vec<Variable>,

    /// What to do, in order: each route has one predicate and one handler. 1 to 64.
    #[schemars(length(min = 1, max = 64))]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub routes: Vec<Route>,

    /// Examples with the decision that the rule must come to. They run when the rule is accepted; a rule that fails its
    /// own tests is not accepted. At most 128.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub tests: Vec<TestCase>,

    /// What the rule is for, for the people who meet its decisions. At most 1024 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "bounds::text")]
    pub description: Option<String>,
}

/// What a rule may do with its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Mode {
    /// The handlers act as they say.
    #[default]
    Enforce,
    /// Rejections become warnings; nothing is patched.
    Warn,
    /// Results become audit annotations; nothing else happens.
    Audit,
    /// Results show in metrics and the decision log only.
    Shadow,
    /// The rule is not evaluated.
    Disabled,
}

/// What an evaluation error means for the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum FailurePolicy {
    /// The request is rejected with the error as text.
    #[default]
    Fail,
    /// The route counts as not matched; the error is counted.
    Ignore,
}
