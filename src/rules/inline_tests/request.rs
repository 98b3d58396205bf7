//! The request that a test describes.

use serde_json::Value;

use crate::api::{self, TestCase};
use crate::engine::{
    GroupVersionKind, GroupVersionResource, ObjectKey, Operation, Params, Request, StoredObject, UserInfo,
};
use crate::rules::Kinds;

/// Owns what a [`Request`] borrows.
pub(super) struct TestRequest {
    group: String,
    version: String,
    kind: String,
    resource: [String; 3],
    subresource: String,
    name: String,
    namespace: String,
    operation: Operation,
    user: String,
    groups: Vec<String>,
    dry_run: bool,
    object: Option<String>,
    old_object: Option<String>,
    namespace_labels: Vec<(String, String)>,
    params: Vec<Value>,
}

impl TestRequest {
    /// The request; or the field of the test that is wrong, and why.
    pub(super) fn new(test: &TestCase, kinds: &Kinds) -> Result<Self, (&'static str, String)> {
        let (field, main) = match (&test.object, &test.old_object) {
            (Some(object), _) => ("object", object),
            (None, Some(object)) => ("oldObject", object),
            (None, None) => return Err(("object", "there is neither an object nor an oldObject".to_owned())),
        };
        let text =
            |pointer: &str| main.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        if api_version.is_empty() || kind.is_empty() {
            return Err((field, "the object has no apiVersion or no kind".to_owned()));
        }
        let (group, version) = match api_version.split_once('/') {
            Some((group, version)) => (group.to_owned(), version.to_owned()),
            None => (String::new(), api_version.clone()),
        };
        let operation = match (test.operation, &test.object, &test.old_object) {
            (Some(api::Operation::All), ..) => {
                return Err(("operation", "a request has one operation, not `*`".to_owned()));
            }
            (Some(api::Operation::Create), ..) => Operation::Create,
            (Some(api::Operation::Update), ..) => Operation::Update,
            (Some(api::Operation::Delete), ..) => Operation::Delete,
            (Some(api::Operation::Connect), ..) => Operation::Connect,
            (None, Some(_), Some(_)) => Operation::Update,
            (None, Some(_), None) => Operation::Create,
            (None, None, _) => Operation::Delete,
        };
        let resource = match &test.resource {
            Some(resource) => [resource.group.clone(), resource.version.clone(), resource.resource.clone()],
            None => [group.clone(), version.clone(), plural(&kind)],
        };
        let name = test.request_name.clone().unwrap_or_else(|| text("/metadata/name"));
        let namespace = test.namespace.clone().unwrap_or_else(|| {
            let written = text("/metadata/namespace");
            if !written.is_empty() {
                written
            } else if group.is_empty() && kind == "Namespace" {
                name.clone()
            } else if kinds.namespaced(&api_version, &kind) == Some(true) {
                "default".to_owned()
            } else {
                String::new()
            }
        });
        Ok(Self {
            group,
            version,
            kind,
            resource,
            subresource: test.subresource.clone().unwrap_or_default(),
            name,
            namespace,
            operation,
            user: test.user.clone().unwrap_or_else(|| "test-user".to_owned()),
            groups: test.groups.clone().unwrap_or_else(|| vec!["system:authenticated".to_owned()]),
            dry_run: test.dry_run,
            object: test.object.as_ref().map(Value::to_string),
            old_object: test.old_object.as_ref().map(Value::to_string),
            namespace_labels: test.namespace_labels.clone().into_iter().collect(),
            params: test.params.clone(),
        })
    }

    /// `object` as written in the test.
    pub(super) fn object(&self) -> Option<&str> {
        self.object.as_deref()
    }

    /// The request about `object`, which may have been changed since the test was read.
    pub(super) fn request<'t>(&'t self, object: Option<&'t str>) -> Request<'t> {
        let [group, version, resource] = &self.resource;
        Request {
            uid: "test",
            kind: GroupVersionKind { group: &self.group, version: &self.version, kind: &self.kind },
            resource: GroupVersionResource { group, version, resource },
            sub_resource: &self.subresource,
            name: &self.name,
            namespace: &self.namespace,
            operation: self.operation,
            user_info: UserInfo {
                username: &self.user,
                groups: self.groups.iter().map(String::as_str).collect(),
                ..UserInfo::default()
            },
            dry_run: self.dry_run,
            object,
            old_object: self.old_object.as_deref(),
            ..Request::default()
        }
    }

    /// The namespace of the request and the parameter objects.
    pub(super) fn objects(&self, params: Option<&Params>) -> Vec<(ObjectKey, StoredObject)> {
        let mut objects = Vec::new();
        if !self.namespace.is_empty() {
            objects.push(self.namespace_object());
        }
        if let Some(params) = params {
            for (number, object) in self.params.iter().enumerate() {
                // By number, so that all are found in their order, whatever they are called.
                let key = ObjectKey {
                    api_version: (*params.api_version).into(),
                    kind: (*params.kind).into(),
                    namespace: "".into(),
                    name: format!("{number:02}").into(),
                };
                objects.push((
                    key,
                    StoredObject { json: object.to_string().into(), labels: Default::default() },
                ));
            }
        }
        objects
    }

    fn namespace_object(&self) -> (ObjectKey, StoredObject) {
        let name_label = ("kubernetes.io/metadata.name".to_owned(), self.namespace.clone());
        let labels: serde_json::Map<String, Value> = std::iter::once(&name_label)
            .chain(&self.namespace_labels)
            .map(|(key, value)| (key.clone(), Value::String(value.clone())))
            .collect();
        let object = serde_json::json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace, "labels": labels},
        });
        let key = ObjectKey {
            api_version: "v1".into(),
            kind: "Namespace".into(),
            namespace: "".into(),
            name: self.namespace.as_str().into(),
        };
        let labels = std::iter::once(name_label).chain(self.namespace_labels.clone());
        let labels = labels.map(|(key, value)| (key.into(), value.into())).collect();
        (key, StoredObject { json: object.to_string().into(), labels })
    }
}

/// The usual plural, as apimachinery guesses it (`api/meta`, `UnsafeGuessKindToResource`).
fn plural(kind: &str) -> String {
    let lower = kind.to_ascii_lowercase();
    if lower.ends_with("endpoints") {
        return lower;
    }
    match lower.as_bytes().last() {
        Some(b's' | b'x') => lower + "es",
        Some(b'y') => lower[..lower.len() - 1].to_owned() + "ies",
        _ => lower + "s",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::plural;

    #[rstest]
    #[case("Pod", "pods")]
    #[case("Ingress", "ingresses")]
    #[case("NetworkPolicy", "networkpolicies")]
    #[case("Endpoints", "endpoints")]
    #[case("ConfigMap", "configmaps")]
    fn the_plural_of_a_kind_is_guessed_as_kubernetes_does(#[case] kind: &str, #[case] expected: &str) {
        assert_eq!(plural(kind), expected);
    }
}
