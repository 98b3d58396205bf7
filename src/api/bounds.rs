//! Schemas with bounds for what the derives cannot bound: maps, embedded JSON and types of the Kubernetes API.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Longest expression: the limit of Kubernetes' CEL parser in code points (cel-go `parser.ExpressionSizeCodePointLimit`).
const EXPRESSION_MAX: u32 = 100_000;
/// Longest qualified name: a DNS subdomain, a slash and a name.
const QUALIFIED_NAME_MAX: u32 = 253 + 1 + 63;
/// Longest label value.
const LABEL_VALUE_MAX: u32 = 63;
/// Most entries of one label map or list of requirements.
const LABELS_MAX: u32 = 64;

pub(super) fn expression(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "minLength": 1, "maxLength": EXPRESSION_MAX})
}

/// One line of text for a person.
pub(super) fn message(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "minLength": 1, "maxLength": 1024, "pattern": r"^[^\r\n]*$"})
}

pub(super) fn text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "maxLength": 1024})
}

pub(super) fn any_value(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
}

pub(super) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

pub(super) fn any_objects(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "maxItems": 16, "items": any_object(generator)})
}

pub(super) fn labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": LABELS_MAX,
        "additionalProperties": {"type": "string", "maxLength": LABEL_VALUE_MAX},
    })
}

pub(super) fn annotations(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": {"type": "string", "maxLength": 10_240},
    })
}

pub(super) fn label_selector(generator: &mut SchemaGenerator) -> Schema {
    let mut match_labels = labels(generator);
    match_labels.insert("description".into(), "Labels that must have exactly these values.".into());
    json_schema!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": match_labels,
            "matchExpressions": {
                "description": "Requirements on labels; all of them must be met.",
                "type": "array",
                "maxItems": LABELS_MAX,
                "x-kubernetes-list-type": "atomic",
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {
                            "description": "Key of the label.",
                            "type": "string",
                            "minLength": 1,
                            "maxLength": QUALIFIED_NAME_MAX,
                        },
                        "operator": {
                            "description": "In and NotIn compare with values; Exists and DoesNotExist take no values.",
                            "type": "string",
                            "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                        },
                        "values": {
                            "description": "Values for In and NotIn.",
                            "type": "array",
                            "maxItems": 256,
                            "x-kubernetes-list-type": "atomic",
                            "items": {"type": "string", "maxLength": LABEL_VALUE_MAX},
                        },
                    },
                    "x-kubernetes-validations": [{
                        "rule": "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
                        "message": "In and NotIn need values; Exists and DoesNotExist must have none",
                    }],
                },
            },
        },
    })
}

/// `metav1.Condition` with the bounds that its markers in the Kubernetes API carry.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {"description": "Type of the condition.", "type": "string", "maxLength": 316},
                "status": {
                    "description": "True, False or Unknown.",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                },
                "observedGeneration": {
                    "description": "The generation that the condition speaks of.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                },
                "lastTransitionTime": {
                    "description": "When the status of the condition last changed.",
                    "type": "string",
                    "format": "date-time",
                },
                "reason": {
                    "description": "The cause in one word.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {"description": "The cause for people.", "type": "string", "maxLength": 32_768},
            },
        },
    })
}
