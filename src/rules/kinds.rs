//! Which kinds of objects live in namespaces: what a rule has to know about the kind of its parameters.

use std::collections::BTreeMap;

use serde_json::Value;

/// Kinds by group and name. Starts with those that every cluster has; custom resources are learned from their definitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Whether objects of the kind live in namespaces, by (group, kind).
    custom: BTreeMap<(Box<str>, Box<str>), bool>,
}

impl Kinds {
    /// Whether objects of a kind live in namespaces; `None` for a kind that is not known.
    pub fn namespaced(&self, api_version: &str, kind: &str) -> Option<bool> {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let custom = self.custom.get(&(group.into(), kind.into())).copied();
        custom.or_else(|| {
            let known = |table: &[(&str, &[&str])]| {
                table.iter().any(|(known, kinds)| *known == group && kinds.contains(&kind))
            };
            known(NAMESPACED).then_some(true).or_else(|| known(CLUSTER).then_some(false))
        })
    }

    /// Adds a kind; whether that is news.
    pub fn add(&mut self, group: &str, kind: &str, namespaced: bool) -> bool {
        self.custom.insert((group.into(), kind.into()), namespaced) != Some(namespaced)
    }

    /// Adds the kind that a `CustomResourceDefinition` defines; whether that is news.
    pub fn learn(&mut self, definition: &Value) -> bool {
        let text = |pointer| definition.pointer(pointer).and_then(Value::as_str);
        match (text("/spec/group"), text("/spec/names/kind"), text("/spec/scope")) {
            (Some(group), Some(kind), Some(scope)) => self.add(group, kind, scope == "Namespaced"),
            _ => false,
        }
    }
}

const NAMESPACED: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    ("apps", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("autoscaling", &["HorizontalPodAutoscaler"]),
    ("batch", &["CronJob", "Job"]),
    ("coordination.k8s.io", &["Lease"]),
    ("discovery.k8s.io", &["EndpointSlice"]),
    ("events.k8s.io", &["Event"]),
    ("networking.k8s.io", &["Ingress", "NetworkPolicy"]),
    ("policy", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", &["Role", "RoleBinding"]),
    ("storage.k8s.io", &["CSIStorageCapacity"]),
];

const CLUSTER: &[(&str, &[&str])] = &[
    ("", &["Namespace", "Node", "PersistentVolume"]),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("certificates.k8s.io", &["CertificateSigningRequest"]),
    ("flowcontrol.apiserver.k8s.io", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io", &["IPAddress", "IngressClass", "ServiceCIDR"]),
    ("node.k8s.io", &["RuntimeClass"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    ("storage.k8s.io", &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"]),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn built_in_kinds_are_known_and_custom_ones_are_learned() {
        let mut kinds = Kinds::default();
        assert_eq!(kinds.namespaced("v1", "ConfigMap"), Some(true));
        assert_eq!(kinds.namespaced("v1", "Namespace"), Some(false));
        assert_eq!(kinds.namespaced("example.com/v1", "ConfigMap"), None);
        let definition =
            json!({"spec": {"group": "example.com", "names": {"kind": "Limit"}, "scope": "Cluster"}});
        assert!(kinds.learn(&definition));
        assert!(!kinds.learn(&definition));
        assert_eq!(kinds.namespaced("example.com/v1beta1", "Limit"), Some(false));
        assert!(!kinds.learn(&json!({"spec": {}})));
    }
}
