//! A request as the corpus writes it, as the engine wants it.

use anyhow::{Context, Result};
use serde_json::Value;
use usher::engine::{GroupVersionKind, GroupVersionResource, Operation, Request, UserInfo};

/// Owns the texts that a [`Request`] borrows.
pub(crate) struct Envelope<'c> {
    request: &'c Value,
    object: Option<String>,
    old_object: Option<String>,
    options: Option<String>,
    extra: Option<String>,
}

impl<'c> Envelope<'c> {
    pub(crate) fn read(request: &'c Value) -> Self {
        let raw = |value: &Value| (!value.is_null()).then(|| value.to_string());
        Self {
            request,
            object: raw(&request["object"]),
            old_object: raw(&request["oldObject"]),
            options: raw(&request["options"]),
            extra: raw(&request["userInfo"]["extra"]),
        }
    }

    pub(crate) fn request(&self) -> Result<Request<'_>> {
        let request = self.request;
        let operation = text(&request["operation"]);
        let groups = request["userInfo"]["groups"].as_array().into_iter().flatten();
        Ok(Request {
            uid: text(&request["uid"]),
            kind: kind(&request["kind"]),
            resource: resource(&request["resource"]),
            sub_resource: text(&request["subResource"]),
            request_kind: request["requestKind"].is_object().then(|| kind(&request["requestKind"])),
            request_resource: request["requestResource"]
                .is_object()
                .then(|| resource(&request["requestResource"])),
            request_sub_resource: request["requestSubResource"].as_str(),
            name: text(&request["name"]),
            namespace: text(&request["namespace"]),
            operation: match operation {
                // Reviews of some test data lack it.
                "" => Operation::Create,
                operation => {
                    Operation::parse(operation).with_context(|| format!("no operation: {operation}"))?
                }
            },
            user_info: UserInfo {
                username: text(&request["userInfo"]["username"]),
                uid: text(&request["userInfo"]["uid"]),
                groups: groups.map(text).collect(),
                extra: self.extra.as_deref(),
            },
            dry_run: request["dryRun"] == true,
            object: self.object.as_deref(),
            old_object: self.old_object.as_deref(),
            options: self.options.as_deref(),
        })
    }
}

fn kind(value: &Value) -> GroupVersionKind<'_> {
    GroupVersionKind {
        group: text(&value["group"]),
        version: text(&value["version"]),
        kind: text(&value["kind"]),
    }
}

fn resource(value: &Value) -> GroupVersionResource<'_> {
    GroupVersionResource {
        group: text(&value["group"]),
        version: text(&value["version"]),
        resource: text(&value["resource"]),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
