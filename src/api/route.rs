use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::{Audit, Forward, Mutate, Pass, Reject, Throttle, Warn};

/// Route is one predicate and the one handler that acts when it is true.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "[has(self.reject), has(self.mutate), has(self.pass), has(self.warn), has(self.audit), has(self.throttle), \
     has(self.forward)].filter(h, h).size() == 1"
)
.message("a route must have exactly one handler: reject, mutate, pass, warn, audit, throttle or forward"))]
pub struct Route {
    /// Name of the route, unique in the rule; it shows in messages, metrics and logs.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"))]
    pub name: String,

    /// CEL expression of type bool. True: the handler acts. It may read object, oldObject, request, params,
    /// namespaceObject, variables and authorizer; request.object and request.oldObject are other names of object and
    /// oldObject.
    #[schemars(length(min = 1, max = 100_000))]
    pub predicate: String,

    /// Refuse the request. Evaluation goes on, so that the user sees every rejection at once. Validating phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reject: Option<Reject>,

    /// Change the object. Later routes and rules see the result. Mutating phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutate: Option<Box<Mutate>>,

    /// End this rule, or the whole phase, without a rejection. Both phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<Pass>,

    /// Admit the request, with a warning to the client. Validating phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn: Option<Warn>,

    /// Admit the request, with annotations in the audit event. Validating phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,

    /// Refuse the request when there are too many of its like. Validating phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Box<Throttle>>,

    /// Ask an existing admission webhook and answer as it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<Box<Forward>>,
}
