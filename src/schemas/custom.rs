//! Kinds that a CustomResourceDefinition defines.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::schema::{Field, ObjectSchema, Schema};
use super::{Gvk, Resource};

/// Deepest schema that is looked into; Kubernetes' own limit on the size of a definition keeps real ones far below.
const MAX_DEPTH: usize = 64;

/// One served version of a definition.
#[derive(Debug)]
pub(super) struct CustomKind {
    pub(super) resource: Resource,
    /// As it is written.
    schema: Schema,
}

/// The versions of a definition that are served and have a schema.
pub(super) fn kinds(definition: &Value) -> Vec<CustomKind> {
    let text = |pointer| definition.pointer(pointer).and_then(Value::as_str);
    let (Some(group), Some(kind), Some(plural)) =
        (text("/spec/group"), text("/spec/names/kind"), text("/spec/names/plural"))
    else {
        return Vec::new();
    };
    let namespaced = text("/spec/scope") == Some("Namespaced");
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let served = versions.into_iter().flatten().filter(|version| version["served"] != Value::Bool(false));
    served
        .filter_map(|version| {
            let name = version.get("name")?.as_str()?;
            let schema = version.pointer("/schema/openAPIV3Schema")?;
            let gvk = Gvk { group: group.into(), version: name.into(), kind: kind.into() };
            let resource = Resource { gvk, name: plural.into(), namespaced };
            Some(CustomKind { resource, schema: read(schema, 0) })
        })
        .collect()
}

impl CustomKind {
    /// The schema with what the API server adds to every custom resource.
    pub(super) fn schema(&self, metadata: Schema) -> Schema {
        root(&self.schema, metadata)
    }
}

fn root(schema: &Schema, metadata: Schema) -> Schema {
    let Schema::Object(object) = schema else { return schema.clone() };
    let own =
        object.fields().iter().filter(|field| !matches!(&*field.name, "apiVersion" | "kind" | "metadata"));
    let mut fields: Vec<Field> = own.cloned().collect();
    for (name, schema) in [("apiVersion", Schema::String), ("kind", Schema::String), ("metadata", metadata)] {
        fields.push(Field { name: name.into(), schema, present: true });
    }
    Schema::Object(Arc::new(ObjectSchema::new(fields, object.is_open())))
}

/// apiserver `pkg/cel/common/schemas.go`, `SchemaDeclType`, before anything is left out.
fn read(schema: &Value, depth: usize) -> Schema {
    let flag = |name: &str| schema.get(name) == Some(&Value::Bool(true));
    if flag("x-kubernetes-int-or-string") || schema["format"] == "int-or-string" {
        return Schema::IntOrString;
    }
    if depth >= MAX_DEPTH {
        return Schema::Any;
    }
    let read = |below: &Value| {
        let read = self::read(below, depth + 1);
        if below["x-kubernetes-embedded-resource"] == Value::Bool(true) { embedded(&read) } else { read }
    };
    match schema["type"].as_str() {
        Some("object") => object(schema, flag("x-kubernetes-preserve-unknown-fields"), read),
        Some("array") => schema.get("items").map_or(Schema::Any, |items| Schema::List(Arc::new(read(items)))),
        Some("string") => match schema["format"].as_str() {
            Some("byte") => Schema::Bytes,
            Some("duration") => Schema::Duration,
            Some("date" | "date-time") => Schema::Timestamp,
            _ => Schema::String,
        },
        Some("boolean") => Schema::Bool,
        Some("integer") => Schema::Int,
        Some("number") => Schema::Double,
        _ => Schema::Any,
    }
}

fn object(schema: &Value, open: bool, read: impl Fn(&Value) -> Schema) -> Schema {
    if let Some(values @ Value::Object(_)) = schema.get("additionalProperties") {
        return Schema::Map(Arc::new(read(values)));
    }
    let open = open || schema.get("additionalProperties") == Some(&Value::Bool(true));
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = properties.iter().map(|(name, below)| Field {
        name: name.as_str().into(),
        schema: read(below),
        present: required.contains(&name.as_str()) || below.get("default").is_some(),
    });
    Schema::Object(Arc::new(ObjectSchema::new(fields.collect(), open)))
}

/// An object within an object: what is not declared of its metadata is a name (`WithTypeAndObjectMeta`).
fn embedded(schema: &Schema) -> Schema {
    let names = ["name", "generateName"].map(|name| Field {
        name: name.into(),
        schema: Schema::String,
        present: false,
    });
    let metadata = Schema::Object(Arc::new(ObjectSchema::new(names.into(), true)));
    let declared =
        schema.object().and_then(|object| object.field("metadata")).map(|field| field.schema.clone());
    root(schema, declared.unwrap_or(metadata))
}
