//! Accounts with the rights that the chart gives them, and no others.

use std::path::{Path, PathBuf};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::authorization::v1::{SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::deploy::rendering::Objects;

use super::registering::SYSTEM;
use super::world::until;

/// The interface to objects of the kind and namespace of this one.
pub(super) fn api_of(client: &Client, object: &Value) -> Api<DynamicObject> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let version = text("/apiVersion").unwrap();
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = GroupVersionKind::gvk(group, version, text("/kind").unwrap());
    let resource = ApiResource::from_gvk(&kind);
    match text("/metadata/namespace") {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// Makes the accounts and roles that are among these objects.
pub(super) async fn grant(client: &Client, objects: &Objects) {
    let is_about_rights = |name: &&String| {
        let kind = name.split('/').next().unwrap();
        ["ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"].contains(&kind)
    };
    let mut granted = 0;
    for name in objects.keys().filter(is_about_rights) {
        let object: DynamicObject = serde_json::from_value(objects[name].clone()).unwrap();
        let api = api_of(client, &objects[name]);
        let params = PatchParams::apply("tests").force();
        api.patch(object.metadata.name.as_deref().unwrap(), &params, &Patch::Apply(&object)).await.unwrap();
        granted += 1;
    }
    assert!(granted > 0, "no rights in {:?}", objects.keys());
}

/// Makes what a test needs beyond the chart: to follow ConfigMaps of another namespace, as the README has people do it.
pub(super) async fn grant_parameters(client: &Client, namespace: &str) {
    let group = "rbac.authorization.k8s.io";
    let of = |kind: &str, more: Value| {
        let mut object = json!({"apiVersion": format!("{group}/v1"), "kind": kind,
            "metadata": {"name": "parameters", "namespace": namespace}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let rules =
        json!({"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]});
    let binding = json!({"roleRef": {"apiGroup": group, "kind": "Role", "name": "parameters"},
        "subjects": [{"kind": "ServiceAccount", "name": "usher", "namespace": SYSTEM}]});
    let objects =
        [("Role/parameters", of("Role", rules)), ("RoleBinding/parameters", of("RoleBinding", binding))];
    grant(client, &objects.map(|(name, object)| (name.to_owned(), object)).into()).await;
    let right = json!({"verb": "watch", "resource": "configmaps", "namespace": namespace});
    until("the account may", async || may(client, "usher", &right).await.then_some(())).await;
}

/// Whether an account of Usher's namespace has a right: the authorizer's own answer.
pub(super) async fn may(client: &Client, account: &str, attributes: &Value) -> bool {
    let groups = ["system:serviceaccounts", "system:serviceaccounts:usher-system", "system:authenticated"];
    let spec: SubjectAccessReviewSpec = serde_json::from_value(json!({
        "user": format!("system:serviceaccount:{SYSTEM}:{account}"), "groups": groups, "resourceAttributes": attributes,
    }))
    .unwrap();
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    reviews.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed
}

/// A kubeconfig with a token of the account, such as a Pod gets.
pub(super) async fn kubeconfig(client: &Client, account: &str, admin: &Path) -> PathBuf {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), SYSTEM);
    let request = TokenRequest {
        spec: TokenRequestSpec { expiration_seconds: Some(3600), ..TokenRequestSpec::default() },
        ..TokenRequest::default()
    };
    let made = accounts.create_token_request(account, &PostParams::default(), &request).await.unwrap();
    let mut config: Value = serde_saphyr::from_str(&std::fs::read_to_string(admin).unwrap()).unwrap();
    config["users"][0]["user"] = json!({"token": made.status.unwrap().token});
    let path = admin.with_file_name(format!("kubeconfig-{account}"));
    std::fs::write(&path, config.to_string()).unwrap();
    // Roles are known to the authorizer a moment after they were written.
    let right =
        json!({"verb": "list", "group": "coordination.k8s.io", "resource": "leases", "namespace": SYSTEM});
    until("the account has its rights", async || may(client, account, &right).await.then_some(())).await;
    path
}
