//! Which resource a kind belongs to: what a client learns from the discovery of the API server.

use k8s_openapi::api::{
    admissionregistration, apps, authentication, authorization, autoscaling, batch, certificates,
    coordination, core, discovery, events, flowcontrol, networking, node, policy, rbac, resource, scheduling,
    storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope, Resource};
use serde_json::Value;

/// The resource of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApiResource {
    pub(super) plural: String,
    /// Empty for a resource itself.
    pub(super) subresource: &'static str,
    pub(super) namespaced: bool,
    /// The kind is not known, and this is what most would have.
    pub(super) guessed: bool,
}

/// Built-in kinds and those of CustomResourceDefinitions.
#[derive(Clone, Debug, Default)]
pub(super) struct Resources {
    custom: Vec<Custom>,
}

#[derive(Clone, Debug)]
struct Custom {
    group: String,
    kind: String,
    plural: String,
    namespaced: bool,
}

impl Resources {
    /// Takes up the kind that a CustomResourceDefinition defines.
    pub(super) fn learn(&mut self, definition: &Value) {
        let text = |pointer| definition.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let fields =
            (text("/spec/group"), text("/spec/names/kind"), text("/spec/names/plural"), text("/spec/scope"));
        if let (Some(group), Some(kind), Some(plural), Some(scope)) = fields {
            self.custom.push(Custom { group, kind, plural, namespaced: scope == "Namespaced" });
        }
    }

    pub(super) fn find(&self, group: &str, kind: &str) -> ApiResource {
        let known = |plural: &str, namespaced| ApiResource {
            plural: plural.to_owned(),
            subresource: "",
            namespaced,
            guessed: false,
        };
        if let Some(custom) = self.custom.iter().find(|custom| custom.group == group && custom.kind == kind) {
            return known(&custom.plural, custom.namespaced);
        }
        if let Some(builtin) = BUILT_IN.iter().find(|builtin| builtin.group == group && builtin.kind == kind)
        {
            return known(builtin.plural, builtin.namespaced);
        }
        if let Some((.., plural, subresource)) = SUBRESOURCES
            .iter()
            .find(|(known_group, known_kind, ..)| *known_group == group && *known_kind == kind)
        {
            let namespaced = *plural != "nodes";
            return ApiResource { subresource, ..known(plural, namespaced) };
        }
        ApiResource { guessed: true, ..known(&usual_plural(kind), true) }
    }
}

/// apimachinery `meta.UnsafeGuessKindToResource`.
fn usual_plural(kind: &str) -> String {
    let singular = kind.to_lowercase();
    if singular.ends_with("endpoints") {
        return singular;
    }
    match singular.as_bytes() {
        [.., b's'] => format!("{singular}es"),
        [stem @ .., b'y'] => format!("{}ies", String::from_utf8_lossy(stem)),
        _ => format!("{singular}s"),
    }
}

struct BuiltIn {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
}

impl BuiltIn {
    const fn of<T: Resource>() -> Self
    where
        T::Scope: InNamespace,
    {
        Self { group: T::GROUP, kind: T::KIND, plural: T::URL_PATH_SEGMENT, namespaced: T::Scope::YES }
    }
}

trait InNamespace {
    const YES: bool;
}

impl InNamespace for NamespaceResourceScope {
    const YES: bool = true;
}

impl InNamespace for ClusterResourceScope {
    const YES: bool = false;
}

macro_rules! kinds {
    ($($kind:ty,)*) => { &[$(BuiltIn::of::<$kind>(),)*] };
}

/// Of each group and kind one version: all have the same resource.
const BUILT_IN: &[BuiltIn] = kinds![
    core::v1::ComponentStatus,
    core::v1::ConfigMap,
    core::v1::Endpoints,
    core::v1::Event,
    core::v1::LimitRange,
    core::v1::Namespace,
    core::v1::Node,
    core::v1::PersistentVolume,
    core::v1::PersistentVolumeClaim,
    core::v1::Pod,
    core::v1::PodTemplate,
    core::v1::ReplicationController,
    core::v1::ResourceQuota,
    core::v1::Secret,
    core::v1::Service,
    core::v1::ServiceAccount,
    admissionregistration::v1::MutatingWebhookConfiguration,
    admissionregistration::v1::ValidatingAdmissionPolicy,
    admissionregistration::v1::ValidatingAdmissionPolicyBinding,
    admissionregistration::v1::ValidatingWebhookConfiguration,
    admissionregistration::v1alpha1::MutatingAdmissionPolicy,
    admissionregistration::v1alpha1::MutatingAdmissionPolicyBinding,
    apiextensions::v1::CustomResourceDefinition,
    apiregistration::v1::APIService,
    apps::v1::ControllerRevision,
    apps::v1::DaemonSet,
    apps::v1::Deployment,
    apps::v1::ReplicaSet,
    apps::v1::StatefulSet,
    authentication::v1::SelfSubjectReview,
    authentication::v1::TokenReview,
    authorization::v1::LocalSubjectAccessReview,
    authorization::v1::SelfSubjectAccessReview,
    authorization::v1::SelfSubjectRulesReview,
    authorization::v1::SubjectAccessReview,
    autoscaling::v2::HorizontalPodAutoscaler,
    batch::v1::CronJob,
    batch::v1::Job,
    certificates::v1::CertificateSigningRequest,
    certificates::v1alpha1::ClusterTrustBundle,
    coordination::v1::Lease,
    coordination::v1alpha2::LeaseCandidate,
    discovery::v1::EndpointSlice,
    events::v1::Event,
    flowcontrol::v1::FlowSchema,
    flowcontrol::v1::PriorityLevelConfiguration,
    networking::v1::IPAddress,
    networking::v1::Ingress,
    networking::v1::IngressClass,
    networking::v1::NetworkPolicy,
    networking::v1::ServiceCIDR,
    node::v1::RuntimeClass,
    policy::v1::PodDisruptionBudget,
    rbac::v1::ClusterRole,
    rbac::v1::ClusterRoleBinding,
    rbac::v1::Role,
    rbac::v1::RoleBinding,
    resource::v1beta1::DeviceClass,
    resource::v1beta1::ResourceClaim,
    resource::v1beta1::ResourceClaimTemplate,
    resource::v1beta1::ResourceSlice,
    scheduling::v1::PriorityClass,
    storage::v1::CSIDriver,
    storage::v1::CSINode,
    storage::v1::CSIStorageCapacity,
    storage::v1::StorageClass,
    storage::v1::VolumeAttachment,
    storage::v1beta1::VolumeAttributesClass,
];

/// Kinds that are only sent to a subresource: group, kind, resource, subresource. A Scale does not say what it scales.
const SUBRESOURCES: &[(&str, &str, &str, &str)] = &[
    ("", "Binding", "pods", "binding"),
    ("", "NodeProxyOptions", "nodes", "proxy"),
    ("", "PodAttachOptions", "pods", "attach"),
    ("", "PodExecOptions", "pods", "exec"),
    ("", "PodPortForwardOptions", "pods", "portforward"),
    ("", "PodProxyOptions", "pods", "proxy"),
    ("", "ServiceProxyOptions", "services", "proxy"),
    ("authentication.k8s.io", "TokenRequest", "serviceaccounts", "token"),
    ("policy", "Eviction", "pods", "eviction"),
];

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("", "Endpoints", "endpoints", "", true)]
    #[case("networking.k8s.io", "NetworkPolicy", "networkpolicies", "", true)]
    #[case("", "Namespace", "namespaces", "", false)]
    #[case("policy", "Eviction", "pods", "eviction", true)]
    #[case("", "NodeProxyOptions", "nodes", "proxy", false)]
    fn built_in_kinds_are_known(
        #[case] group: &str,
        #[case] kind: &str,
        #[case] plural: &str,
        #[case] subresource: &'static str,
        #[case] namespaced: bool,
    ) {
        let found = Resources::default().find(group, kind);
        let expected = ApiResource { plural: plural.to_owned(), subresource, namespaced, guessed: false };
        assert_eq!(found, expected);
    }

    #[test]
    fn custom_kinds_are_guessed_until_their_definition_is_known() {
        let mut resources = Resources::default();
        for (kind, plural) in [("Proxy", "proxies"), ("Bus", "buses"), ("Limit", "limits")] {
            let found = resources.find("example.com", kind);
            assert_eq!((&*found.plural, found.guessed), (plural, true));
        }
        resources.learn(&json!({"spec": {"group": "example.com", "scope": "Cluster",
            "names": {"kind": "Bus", "plural": "busses"}}}));
        let found = resources.find("example.com", "Bus");
        assert_eq!((&*found.plural, found.namespaced, found.guessed), ("busses", false, false));
        assert!(resources.find("other.example.com", "Bus").guessed);
    }
}
