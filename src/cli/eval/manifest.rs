//! The request that an API server would send about a manifest.

use serde_json::{Value, json};

use super::EvalArgs;
use super::input::Input;
use super::resources::Resources;
use crate::diagnostic::{Code, Diagnostic};
use crate::engine::{GroupVersionKind, GroupVersionResource, Operation, Request, UserInfo};

/// Uid of requests that nobody answers.
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// Owns what a [`Request`] borrows.
#[derive(Debug)]
pub(super) struct ManifestRequest {
    group: String,
    version: String,
    kind: String,
    resource: String,
    subresource: String,
    name: String,
    namespace: String,
    operation: Operation,
    username: String,
    groups: Vec<String>,
    dry_run: bool,
    object: Option<String>,
    old_object: Option<String>,
    options: String,
    /// What was taken for granted.
    pub(super) notes: Vec<String>,
}

impl ManifestRequest {
    /// # Errors
    /// The manifest does not say what the request would be.
    pub(super) fn new(
        input: &Input,
        old: Option<&Input>,
        args: &EvalArgs,
        resources: &Resources,
    ) -> Result<Self, Box<Diagnostic>> {
        let mut notes = Vec::new();
        let (group, version) = split(input.text("/apiVersion"));
        let kind = input.text("/kind");
        if (group, kind) == ("autoscaling", "Scale") {
            let help = "evaluate an AdmissionReview of the request instead";
            let fault = input.error(Code::InvalidValue, "kind", "a Scale does not say what it scales", help);
            return Err(Box::new(fault));
        }
        let found = resources.find(group, kind);
        if found.guessed {
            notes.push(format!(
                "{kind} of {} is not known: taken as namespaced, with the resource name {}; put its \
                 CustomResourceDefinition beside the rules",
                input.text("/apiVersion"),
                found.plural
            ));
        }
        let is_namespace = (group, kind) == ("", "Namespace");
        let name = input.text("/metadata/name");
        let namespace = if is_namespace {
            name.to_owned()
        } else if found.namespaced {
            namespace(input, args)?
        } else {
            String::new()
        };

        let mut object = input.value.clone();
        if found.namespaced && !is_namespace {
            set_namespace(&mut object, &namespace);
        }
        let mut old_object = old.map(|old| {
            let mut value = old.value.clone();
            if found.namespaced && !is_namespace {
                set_namespace(&mut value, &namespace);
            }
            value
        });
        let operation = match args.operation {
            Some(operation) => operation.into(),
            None if old.is_some() => Operation::Update,
            None if found.subresource.is_empty()
                || matches!(found.subresource, "binding" | "eviction" | "token") =>
            {
                Operation::Create
            }
            None => Operation::Connect,
        };
        let object = match operation {
            Operation::Create | Operation::Connect => {
                old_object = None;
                Some(object)
            }
            Operation::Update => {
                if old_object.is_none() {
                    notes.push(
                        "without --old the object before the update is taken to be the same".to_owned(),
                    );
                    old_object = Some(object.clone());
                }
                Some(object)
            }
            Operation::Delete => {
                old_object = Some(old_object.unwrap_or(object));
                None
            }
        };
        Ok(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            resource: found.plural,
            subresource: args.subresource.clone().unwrap_or_else(|| found.subresource.to_owned()),
            name: name.to_owned(),
            namespace,
            operation,
            username: args.user.clone(),
            groups: args.groups.clone(),
            dry_run: args.dry_run,
            object: object.map(|object| object.to_string()),
            old_object: old_object.map(|object| object.to_string()),
            options: options(operation, args.dry_run).to_string(),
            notes,
        })
    }

    pub(super) fn request(&self) -> Request<'_> {
        let resource =
            GroupVersionResource { group: &self.group, version: &self.version, resource: &self.resource };
        let kind = GroupVersionKind { group: &self.group, version: &self.version, kind: &self.kind };
        Request {
            uid: UID,
            kind,
            resource,
            sub_resource: &self.subresource,
            request_kind: Some(kind),
            request_resource: Some(resource),
            request_sub_resource: Some(&self.subresource),
            name: &self.name,
            namespace: &self.namespace,
            operation: self.operation,
            user_info: UserInfo {
                username: &self.username,
                uid: "",
                groups: self.groups.iter().map(String::as_str).collect(),
                extra: None,
            },
            dry_run: self.dry_run,
            object: self.object.as_deref(),
            old_object: self.old_object.as_deref(),
            options: Some(&self.options),
        }
    }
}

/// As kubectl: a namespace on the command line must not contradict the manifest.
fn namespace(input: &Input, args: &EvalArgs) -> Result<String, Box<Diagnostic>> {
    match (input.text("/metadata/namespace"), args.namespace.as_deref()) {
        ("", None) => Ok("default".to_owned()),
        ("", Some(wanted)) => Ok(wanted.to_owned()),
        (written, Some(wanted)) if written != wanted => {
            let message = format!("the namespace {written} is not {wanted}, which --namespace asks for");
            let help = "leave out --namespace, or the namespace of the object";
            Err(Box::new(input.error(Code::InvalidValue, "metadata.namespace", message, help)))
        }
        (written, _) => Ok(written.to_owned()),
    }
}

/// The API server sees to it that the object has the namespace of the request (`rest.EnsureObjectNamespaceMatchesRequestNamespace`).
fn set_namespace(object: &mut Value, namespace: &str) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.entry("namespace").or_insert_with(|| namespace.into());
    }
}

fn options(operation: Operation, dry_run: bool) -> Value {
    let kind = match operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
        // The object is the options.
        Operation::Connect => return Value::Null,
    };
    let mut options = json!({"apiVersion": "meta.k8s.io/v1", "kind": kind});
    if dry_run {
        options["dryRun"] = json!(["All"]);
    }
    options
}

fn split(api_version: &str) -> (&str, &str) {
    api_version.rsplit_once('/').unwrap_or(("", api_version))
}
