//! Comparing a document with the schema of its kind. The API server prunes an unknown field without a word and serde
//! stops at the first wrong type; here every fault is found, each with its field.

use std::collections::HashSet;

use regex::Regex;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::suggest::nearest;
use crate::api::{ObjectMeta, crd};
use crate::diagnostic::{Code, Diagnostic, Severity};

/// Findings of one document at most; the rest is likely the same again.
const MAX_FINDINGS: usize = 64;
/// Known fields that are named when there is no likely one.
const MAX_KNOWN: usize = 16;

/// A structural schema, made ready for checking.
#[derive(Debug, Default)]
pub(super) struct Schema {
    /// `None`: any value.
    kind: Option<Kind>,
    /// Null means the same as leaving the field out.
    nullable: bool,
    choices: Vec<Value>,
    /// A field that is not known is dropped, not refused.
    lenient: bool,
}

#[derive(Debug)]
enum Kind {
    Object { properties: Vec<(String, Schema)>, required: Vec<String>, open: bool },
    Map { values: Box<Schema>, most: Option<u64> },
    List { items: Box<Schema>, least: u64, most: Option<u64>, keys: Vec<String> },
    Text { least: u64, most: Option<u64>, pattern: Option<Regex> },
    Integer { least: Option<i64>, most: Option<i64> },
    Number,
    Boolean,
}

impl Schema {
    /// The schema of the CustomResourceDefinition, with the object metadata that the API server adds.
    pub(super) fn of_routing_rule() -> Self {
        let version = crd().spec.versions.into_iter().next();
        let root = version.and_then(|v| v.schema).and_then(|s| s.open_api_v3_schema);
        let mut schema = Self::build(&serde_json::to_value(root).unwrap_or_default(), false);
        if let Some(Kind::Object { properties, .. }) = &mut schema.kind {
            let text =
                || Self { kind: Some(Kind::Text { least: 1, most: None, pattern: None }), ..Self::default() };
            properties.push(("apiVersion".into(), text()));
            properties.push(("kind".into(), text()));
            let mut metadata = Self::of::<ObjectMeta>();
            metadata.lenient = false;
            metadata.name_rule();
            properties.push(("metadata".into(), metadata));
        }
        schema
    }

    /// The schema of a type. Null counts as not given, as for Kubernetes' built-in kinds.
    pub(super) fn of<T: JsonSchema>() -> Self {
        let settings = SchemaSettings::openapi3().with(|s| {
            s.inline_subschemas = true;
            s.meta_schema = None;
        });
        let generator = settings
            .with_transform(schemars::transform::AddNullable::default())
            .with_transform(kube::core::schema::StructuralSchemaRewriter)
            .with_transform(kube::core::schema::OptionalEnum)
            .with_transform(kube::core::schema::OptionalIntOrString)
            .into_generator();
        Self::build(generator.into_root_schema_for::<T>().as_value(), true)
    }

    /// All findings of a document, each with its field; none means that it can be read typed.
    pub(super) fn check(&self, value: &Value) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        self.walk(value, &mut String::new(), &mut findings);
        findings
    }

    fn build(schema: &Value, nullable: bool) -> Self {
        let number = |word: &str| schema[word].as_u64();
        let bound = |word: &str| {
            schema[word].as_i64().or_else(|| {
                #[allow(clippy::cast_possible_truncation)]
                schema[word].as_f64().map(|f| f as i64)
            })
        };
        let open = schema["x-kubernetes-preserve-unknown-fields"] == true;
        let texts = |word: &str| -> Vec<String> {
            schema[word]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|v| v.as_str().map(str::to_owned))
                .collect()
        };
        let kind = match schema["type"].as_str() {
            Some("object") if schema["additionalProperties"].is_object() => Some(Kind::Map {
                values: Box::new(Self::build(&schema["additionalProperties"], nullable)),
                most: number("maxProperties"),
            }),
            Some("object") => {
                let properties = schema["properties"].as_object().into_iter().flatten();
                let properties: Vec<_> =
                    properties.map(|(k, v)| (k.clone(), Self::build(v, nullable))).collect();
                let open = open || properties.is_empty();
                Some(Kind::Object { properties, required: texts("required"), open })
            }
            Some("array") => Some(Kind::List {
                items: Box::new(Self::build(&schema["items"], nullable)),
                least: number("minItems").unwrap_or(0),
                most: number("maxItems"),
                keys: texts("x-kubernetes-list-map-keys"),
            }),
            Some("string") => Some(Kind::Text {
                least: number("minLength").unwrap_or(0),
                most: number("maxLength"),
                pattern: schema["pattern"].as_str().and_then(|p| Regex::new(p).ok()),
            }),
            Some("integer") => {
                let small = schema["format"] == "int32";
                Some(Kind::Integer {
                    least: bound("minimum").or(small.then_some(i64::from(i32::MIN))),
                    most: bound("maximum").or(small.then_some(i64::from(i32::MAX))),
                })
            }
            Some("number") => Some(Kind::Number),
            Some("boolean") => Some(Kind::Boolean),
            _ => None,
        };
        let choices = schema["enum"].as_array().cloned().unwrap_or_default();
        Self { kind, nullable, choices, lenient: nullable }
    }

    /// Names of cluster-scoped objects are DNS subdomains.
    fn name_rule(&mut self) {
        let Some(Kind::Object { properties, .. }) = &mut self.kind else { return };
        if let Some((_, name)) = properties.iter_mut().find(|(name, _)| name == "name") {
            let pattern =
                Regex::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$").ok();
            name.kind = Some(Kind::Text { least: 1, most: Some(253), pattern });
        }
    }

    fn walk(&self, value: &Value, field: &mut String, findings: &mut Vec<Diagnostic>) {
        if findings.len() >= MAX_FINDINGS || (value.is_null() && self.nullable) {
            return;
        }
        let Some(kind) = &self.kind else { return };
        match (kind, value) {
            (Kind::Object { properties, required, open }, Value::Object(entries)) => {
                for name in required.iter().filter(|name| !entries.contains_key(*name)) {
                    let fault =
                        Diagnostic::error(Code::MissingField, format!("the field `{name}` is required"));
                    findings.push(fault.at(join(field, name)));
                }
                for (name, value) in entries {
                    if findings.len() >= MAX_FINDINGS {
                        return;
                    }
                    match properties.iter().find(|(known, _)| known == name) {
                        Some((_, schema)) => step(field, name, |field| schema.walk(value, field, findings)),
                        None if !open => findings.push(self.unknown(field, name, properties)),
                        None => {}
                    }
                }
            }
            (Kind::Map { values, most }, Value::Object(entries)) => {
                at_most(entries.len(), *most, "entries", field, findings);
                for (name, value) in entries {
                    step(field, name, |field| values.walk(value, field, findings));
                }
            }
            (Kind::List { items, least, most, keys }, Value::Array(values)) => {
                at_least(values.len(), *least, "entries", field, findings);
                at_most(values.len(), *most, "entries", field, findings);
                for (index, value) in values.iter().enumerate() {
                    let length = field.len();
                    field.push_str(&format!("[{index}]"));
                    items.walk(value, field, findings);
                    field.truncate(length);
                }
                unique(values, keys, field, findings);
            }
            (Kind::Text { least, most, pattern }, Value::String(text)) => {
                self.choice(value, field, findings);
                at_least(text.chars().count(), *least, "characters", field, findings);
                at_most(text.chars().count(), *most, "characters", field, findings);
                if let Some(pattern) = pattern.as_ref().filter(|p| !text.is_empty() && !p.is_match(text)) {
                    let message = format!("{} does not have the form {pattern}", preview(value));
                    findings.push(Diagnostic::error(Code::InvalidValue, message).at(field.as_str()));
                }
            }
            (Kind::Integer { least, most }, Value::Number(number)) if !number.is_f64() => {
                let given =
                    i128::from(number.as_i64().unwrap_or_default()).max(number.as_u64().unwrap_or(0).into());
                let low = least.is_some_and(|least| given < i128::from(least));
                if low || given > i128::from(most.unwrap_or(i64::MAX)) {
                    let limits = match (least, most) {
                        (Some(least), Some(most)) => format!("from {least} to {most}"),
                        (Some(least), None) => format!("at least {least}"),
                        (None, Some(most)) => format!("at most {most}"),
                        (None, None) => format!("at most {}", i64::MAX),
                    };
                    let message = format!("{given} is out of bounds; it must be {limits}");
                    findings.push(Diagnostic::error(Code::OutOfBounds, message).at(field.as_str()));
                }
            }
            (Kind::Number, Value::Number(_)) | (Kind::Boolean, Value::Bool(_)) => {}
            _ => findings.push(wrong_type(kind, value, field)),
        }
    }

    fn unknown(&self, field: &str, name: &str, properties: &[(String, Self)]) -> Diagnostic {
        let known = || properties.iter().map(|(known, _)| known.as_str());
        let shown: String = name.chars().take(64).collect();
        let mut fault =
            Diagnostic::error(Code::UnknownField, format!("unknown field `{shown}`")).at(join(field, name));
        if self.lenient {
            fault.severity = Severity::Warning;
        }
        match nearest(name, known()) {
            Some(meant) => fault.help(format!("did you mean `{meant}`?")),
            None if properties.len() <= MAX_KNOWN => {
                let mut names: Vec<&str> = known().collect();
                names.sort_unstable();
                fault.help(format!("the fields here are {}", names.join(", ")))
            }
            None => fault,
        }
    }

    fn choice(&self, value: &Value, field: &str, findings: &mut Vec<Diagnostic>) {
        if self.choices.is_empty() || self.choices.contains(value) {
            return;
        }
        let choices: Vec<&str> = self.choices.iter().filter_map(Value::as_str).collect();
        let message = format!("{} is not allowed; it must be one of {}", preview(value), choices.join(", "));
        let mut fault = Diagnostic::error(Code::InvalidValue, message).at(field);
        if let Some(meant) = value.as_str().and_then(|text| nearest(text, choices.iter().copied())) {
            fault = fault.help(format!("did you mean `{meant}`?"));
        }
        findings.push(fault);
    }
}

/// What a JSON value is called in a message.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a fraction",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// The finding about a value that should be a string.
pub(super) fn not_a_string(value: &Value, field: &str) -> Diagnostic {
    wrong_type(&Kind::Text { least: 0, most: None, pattern: None }, value, field)
}

fn wrong_type(kind: &Kind, value: &Value, field: &str) -> Diagnostic {
    let expected = match kind {
        Kind::Object { .. } | Kind::Map { .. } => "a mapping",
        Kind::List { .. } => "a list",
        Kind::Text { .. } => "a string",
        Kind::Integer { .. } => "an integer",
        Kind::Number => "a number",
        Kind::Boolean => "a boolean",
    };
    let found = match value {
        Value::Null | Value::Array(_) | Value::Object(_) => type_name(value).to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            format!(
                "{} {}",
                type_name(value).trim_start_matches("a ").trim_start_matches("an "),
                preview(value)
            )
        }
    };
    let fault = Diagnostic::error(Code::WrongType, format!("expected {expected}, found {found}")).at(field);
    match (kind, value) {
        (_, Value::Null) => fault.help("give it a value, or leave the field out"),
        (Kind::Text { .. }, Value::Bool(_) | Value::Number(_)) => fault.help("put the value in quotes"),
        (Kind::Integer { .. } | Kind::Number | Kind::Boolean, Value::String(text))
            if text.parse::<f64>().is_ok() || text == "true" || text == "false" =>
        {
            fault.help("take the quotes away")
        }
        (Kind::List { .. }, Value::Object(_) | Value::String(_)) => fault.help("put `- ` before each entry"),
        _ => fault,
    }
}

fn unique(values: &[Value], keys: &[String], field: &str, findings: &mut Vec<Diagnostic>) {
    let [key] = keys else { return };
    let mut seen = HashSet::new();
    for (index, value) in values.iter().enumerate() {
        if let Some(name) = value[key].as_str()
            && !seen.insert(name)
            && findings.len() < MAX_FINDINGS
        {
            let message = format!("the {key} {} is given twice in the list", preview(&value[key]));
            let place = format!("{field}[{index}].{key}");
            findings
                .push(Diagnostic::error(Code::DuplicateItem, message).at(place).help("choose another one"));
        }
    }
}

fn at_least(length: usize, least: u64, unit: &str, field: &str, findings: &mut Vec<Diagnostic>) {
    if (length as u64) < least {
        let message = format!("{length} {unit}, at least {least} needed");
        findings.push(Diagnostic::error(Code::OutOfBounds, message).at(field));
    }
}

fn at_most(length: usize, most: Option<u64>, unit: &str, field: &str, findings: &mut Vec<Diagnostic>) {
    if let Some(most) = most.filter(|most| length as u64 > *most) {
        let message = format!("{length} {unit}, at most {most} allowed");
        findings.push(Diagnostic::error(Code::OutOfBounds, message).at(field));
    }
}

/// A value as it is shown in a message: on one line, and short.
fn preview(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 {
        return text;
    }
    text.chars().take(57).chain("...".chars()).collect()
}

fn step(field: &mut String, name: &str, inside: impl FnOnce(&mut String)) {
    let length = field.len();
    *field = join(field, name);
    inside(field);
    field.truncate(length);
}

fn join(field: &str, name: &str) -> String {
    let simple =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    match (field, simple) {
        ("", true) => name.to_owned(),
        (_, true) => format!("{field}.{name}"),
        (_, false) => format!("{field}['{name}']"),
    }
}
