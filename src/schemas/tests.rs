use serde_json::json;

use super::*;

/// Goes down by field names; `[]` and `{}` are the items of a list and the values of a map.
fn at(schema: &Schema, path: &str) -> (Schema, bool) {
    path.split('.').fold((schema.clone(), true), |(schema, _), name| match (&schema, name) {
        (Schema::List(item), "[]") => ((**item).clone(), true),
        (Schema::Map(value), "{}") => ((**value).clone(), true),
        (Schema::Object(object), name) => {
            let field = object.field(name).unwrap_or_else(|| panic!("no field {name} of {path}"));
            (field.schema.clone(), field.present)
        }
        (other, name) => panic!("{name} of {other:?} in {path}"),
    })
}

#[test]
fn every_built_in_kind_can_be_read() {
    let schemas = Schemas::built_in();
    let resources: Vec<Resource> = schemas.built_in.resources().collect();
    assert!(resources.len() > 80, "{}", resources.len());
    for resource in resources {
        let schema = schemas.schema(&resource.gvk).expect("a schema");
        let object = schema.object().unwrap_or_else(|| panic!("{} is no structure", resource.gvk));
        assert!(
            object.field("apiVersion").is_some_and(|field| field.schema == Schema::String),
            "{}",
            resource.gvk
        );
    }
}

#[test]
fn built_in_fields_have_their_types_and_say_whether_they_are_there() {
    let schemas = Schemas::built_in();
    let of =
        |api_version, kind, path| at(&schemas.schema(&Gvk::new(api_version, kind)).expect("known"), path);
    assert_eq!(of("v1", "Pod", "spec.containers.[].image"), (Schema::String, false));
    assert_eq!(of("v1", "Pod", "spec.containers.[].imagePullPolicy"), (Schema::String, true));
    assert_eq!(of("v1", "Pod", "spec.containers.[].resources.limits.{}"), (Schema::Any, true));
    assert!(!of("v1", "Pod", "spec.containers.[].resources.limits").1);
    assert!(of("v1", "Pod", "spec.containers.[].resources").1);
    assert!(!of("v1", "Pod", "spec.containers.[].livenessProbe.exec").1);
    assert_eq!(of("v1", "Pod", "spec.containers.[].livenessProbe.timeoutSeconds"), (Schema::Int, true));
    assert_eq!(of("v1", "Pod", "metadata.creationTimestamp").0, Schema::Timestamp);
    assert_eq!(of("apps/v1", "Deployment", "spec.replicas"), (Schema::Int, true));
    assert_eq!(of("v1", "Service", "spec.ports.[].targetPort"), (Schema::IntOrString, true));
    assert_eq!(of("v1", "Secret", "data.{}").0, Schema::Bytes);
    assert_eq!(schemas.schema(&Gvk::new("v1", "Nothing")), None);
}

#[test]
fn resources_are_found_by_name_and_by_wildcard() {
    let schemas = Schemas::built_in();
    let names = |found: Vec<Resource>| found.iter().map(|one| one.gvk.to_string()).collect::<Vec<_>>();
    assert_eq!(names(schemas.resources("apps", "v1", "deployments")), ["apps/v1 Deployment"]);
    assert_eq!(names(schemas.resources("*", "v1", "events")), ["v1 Event", "events.k8s.io/v1 Event"]);
    assert_eq!(names(schemas.resources("", "v2", "pods")), <[String; 0]>::default());
}

#[test]
fn a_definition_says_what_its_kind_looks_like() {
    let definition = json!({"spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"kind": "Limit", "plural": "limits"},
        "versions": [
            {"name": "v1", "served": true, "schema": {"openAPIV3Schema": {
                "type": "object", "required": ["spec"], "properties": {
                    "spec": {"type": "object", "required": ["max"], "properties": {
                        "max": {"type": "integer"}, "unit": {"type": "string", "default": "m"},
                        "port": {"x-kubernetes-int-or-string": true},
                        "rest": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        "names": {"type": "array", "items": {"type": "string"}},
                        "by": {"type": "object", "additionalProperties": {"type": "number"}},
                        "inner": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {}},
                    }},
                },
            }}},
            {"name": "v0", "served": false, "schema": {"openAPIV3Schema": {"type": "object"}}},
        ],
    }});
    let mut schemas = Schemas::built_in();
    schemas.learn(&definition);
    assert_eq!(schemas.resources("example.com", "v1", "limits").len(), 1);
    assert_eq!(schemas.resources("example.com", "v0", "limits").len(), 0);
    let schema = schemas.schema(&Gvk::new("example.com/v1", "Limit")).expect("learned");
    assert_eq!(at(&schema, "spec.max"), (Schema::Int, true));
    assert_eq!(at(&schema, "spec.unit"), (Schema::String, true));
    assert_eq!(at(&schema, "spec.port"), (Schema::IntOrString, false));
    assert!(at(&schema, "spec.rest").0.object().is_some_and(ObjectSchema::is_open));
    assert_eq!(at(&schema, "spec.names.[]").0, Schema::String);
    assert_eq!(at(&schema, "spec.by.{}").0, Schema::Double);
    assert_eq!(at(&schema, "spec.inner.metadata.name").0, Schema::String);
    assert_eq!(at(&schema, "metadata.labels.{}").0, Schema::String);
}
