use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::manifest::Document;
use super::object_store::StoredObject;
use super::schema::Schema;
use crate::api::{
    GROUP, MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, RoutingRule, VERSION,
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use crate::diagnostic::{Code, Diagnostic, Severity, SourceMap};
use crate::rules::{Item, expression_errors};

/// Group of Kubernetes' own admission policies.
const ADMISSION_GROUP: &str = "admissionregistration.k8s.io";
/// Its versions in which the policies exist.
const ADMISSION_VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];
/// The kinds that are read typed, each with its group.
const TYPED: [(&str, &str); 5] = [
    ("RoutingRule", GROUP),
    ("ValidatingAdmissionPolicy", ADMISSION_GROUP),
    ("ValidatingAdmissionPolicyBinding", ADMISSION_GROUP),
    ("MutatingAdmissionPolicy", ADMISSION_GROUP),
    ("MutatingAdmissionPolicyBinding", ADMISSION_GROUP),
];

/// An object that a source yields.
#[derive(Clone, Debug)]
pub enum Object {
    /// A rule.
    RoutingRule(Loaded<RoutingRule>),
    /// A validating policy of Kubernetes.
    ValidatingAdmissionPolicy(Loaded<ValidatingAdmissionPolicy>),
    /// Its binding.
    ValidatingAdmissionPolicyBinding(Loaded<ValidatingAdmissionPolicyBinding>),
    /// A mutating policy of Kubernetes.
    MutatingAdmissionPolicy(Loaded<MutatingAdmissionPolicy>),
    /// Its binding.
    MutatingAdmissionPolicyBinding(Loaded<MutatingAdmissionPolicyBinding>),
    /// Any other object: a Namespace, a ConfigMap, whatever rules name as params.
    Other(Arc<StoredObject>),
}

/// A typed object with where it was read.
#[derive(Clone, Debug)]
pub struct Loaded<T> {
    /// The object.
    pub object: Arc<T>,
    /// What it is called.
    pub key: ObjectKey,
    /// Where its fields stand; `None` for an object that was not read from a file.
    pub map: Option<SourceMap>,
}

/// What tells an object from all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// API version, such as `apps/v1`.
    pub api_version: Box<str>,
    /// Kind, such as `Deployment`.
    pub kind: Box<str>,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: Box<str>,
    /// Name.
    pub name: Box<str>,
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

impl Object {
    /// What the object is called.
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::RoutingRule(loaded) => &loaded.key,
            Self::ValidatingAdmissionPolicy(loaded) => &loaded.key,
            Self::ValidatingAdmissionPolicyBinding(loaded) => &loaded.key,
            Self::MutatingAdmissionPolicy(loaded) => &loaded.key,
            Self::MutatingAdmissionPolicyBinding(loaded) => &loaded.key,
            Self::Other(stored) => stored.key(),
        }
    }

    /// As what the compiler takes; `None` for an object that is no rule.
    pub fn item(&self) -> Option<Item> {
        Some(match self {
            Self::RoutingRule(loaded) => Item::RoutingRule(Arc::clone(&loaded.object)),
            Self::ValidatingAdmissionPolicy(loaded) => {
                Item::ValidatingAdmissionPolicy(Arc::clone(&loaded.object))
            }
            Self::ValidatingAdmissionPolicyBinding(loaded) => {
                Item::ValidatingAdmissionPolicyBinding(Arc::clone(&loaded.object))
            }
            Self::MutatingAdmissionPolicy(loaded) => {
                Item::MutatingAdmissionPolicy(Arc::clone(&loaded.object))
            }
            Self::MutatingAdmissionPolicyBinding(loaded) => {
                Item::MutatingAdmissionPolicyBinding(Arc::clone(&loaded.object))
            }
            Self::Other(_) => return None,
        })
    }

    /// Where its fields stand, if it was read from a file.
    pub fn map(&self) -> Option<&SourceMap> {
        match self {
            Self::RoutingRule(loaded) => loaded.map.as_ref(),
            Self::ValidatingAdmissionPolicy(loaded) => loaded.map.as_ref(),
            Self::ValidatingAdmissionPolicyBinding(loaded) => loaded.map.as_ref(),
            Self::MutatingAdmissionPolicy(loaded) => loaded.map.as_ref(),
            Self::MutatingAdmissionPolicyBinding(loaded) => loaded.map.as_ref(),
            Self::Other(_) => None,
        }
    }
}

/// Turns a document into an object, and says what else was found. Kinds that are read typed are compared with their
/// schema first, so that every unknown field, wrong type and value out of bounds is found with its place. An unknown field
/// of a Kubernetes kind is a warning, because the API server would drop it.
///
/// # Errors
///
/// All findings of the document, those in its expressions included; it is not usable.
pub fn decode(document: Document) -> Result<(Object, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (group, version) =
        document.key.api_version.rsplit_once('/').unwrap_or(("", &document.key.api_version));
    match (group, &*document.key.kind) {
        (GROUP, "RoutingRule") if version == VERSION => typed(document, &ROUTING_RULE, Object::RoutingRule),
        (GROUP, _) => Err(vec![unknown_kind(&document)]),
        (ADMISSION_GROUP, kind) if is_typed(kind) && !ADMISSION_VERSIONS.contains(&version) => {
            Err(vec![unknown_version(&document)])
        }
        (ADMISSION_GROUP, "ValidatingAdmissionPolicy") => {
            typed(as_v1(document), &VALIDATING, Object::ValidatingAdmissionPolicy)
        }
        (ADMISSION_GROUP, "ValidatingAdmissionPolicyBinding") => {
            typed(as_v1(document), &VALIDATING_BINDING, Object::ValidatingAdmissionPolicyBinding)
        }
        (ADMISSION_GROUP, "MutatingAdmissionPolicy") => {
            typed(as_v1(document), &MUTATING, Object::MutatingAdmissionPolicy)
        }
        (ADMISSION_GROUP, "MutatingAdmissionPolicyBinding") => {
            typed(as_v1(document), &MUTATING_BINDING, Object::MutatingAdmissionPolicyBinding)
        }
        (_, kind) => {
            let findings = if is_typed(kind) { vec![foreign_group(&document)] } else { Vec::new() };
            Ok((Object::Other(Arc::new(StoredObject::new(document.key, &document.value))), findings))
        }
    }
}

fn is_typed(kind: &str) -> bool {
    TYPED.iter().any(|(typed, _)| *typed == kind)
}

static ROUTING_RULE: LazyLock<Schema> = LazyLock::new(Schema::of_routing_rule);
static VALIDATING: LazyLock<Schema> = LazyLock::new(Schema::of::<ValidatingAdmissionPolicy>);
static VALIDATING_BINDING: LazyLock<Schema> = LazyLock::new(Schema::of::<ValidatingAdmissionPolicyBinding>);
static MUTATING: LazyLock<Schema> = LazyLock::new(Schema::of::<MutatingAdmissionPolicy>);
static MUTATING_BINDING: LazyLock<Schema> = LazyLock::new(Schema::of::<MutatingAdmissionPolicyBinding>);

fn typed<T: DeserializeOwned>(
    document: Document,
    schema: &Schema,
    object: fn(Loaded<T>) -> Object,
) -> Result<(Object, Vec<Diagnostic>), Vec<Diagnostic>> {
    let Document { key, value, map } = document;
    let located = |findings| match &map {
        Some(map) => map.locate_all(findings),
        None => findings,
    };
    let mut findings = located(schema.check(&value));
    let has_shape = findings.iter().all(|finding| finding.severity == Severity::Warning);
    match serde_json::from_value::<T>(value) {
        Ok(value) if has_shape => Ok((object(Loaded { object: Arc::new(value), key, map }), findings)),
        Ok(value) => {
            // What the schema refuses can often be read all the same.
            let loaded = Loaded { object: Arc::new(value), key, map: None };
            let errors = object(loaded).item().map(|item| expression_errors(&item)).unwrap_or_default();
            findings.extend(located(errors));
            Err(findings)
        }
        Err(error) => {
            if has_shape {
                findings.extend(located(vec![Diagnostic::error(Code::InvalidValue, error.to_string())]));
            }
            Err(findings)
        }
    }
}

/// The fields of v1beta1 and v1alpha1 are those of v1, and only v1 is known by its types.
fn as_v1(mut document: Document) -> Document {
    let v1 = format!("{ADMISSION_GROUP}/v1");
    if let Some(version) = document.value.get_mut("apiVersion") {
        *version = Value::String(v1.clone());
    }
    document.key.api_version = v1.into();
    drop_nulls(&mut document.value);
    document
}

/// For the built-in kinds null is the same as nothing.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.retain(|_, value| !value.is_null());
            entries.values_mut().for_each(drop_nulls);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn unknown_version(document: &Document) -> Diagnostic {
    let message = format!("the version {} is not known", document.key.api_version);
    let versions = ADMISSION_VERSIONS.join(", ");
    let help = format!("write apiVersion: {ADMISSION_GROUP}/v1; known versions are {versions}");
    document.locate(Diagnostic::error(Code::UnknownKind, message).at("apiVersion").help(help))
}

/// Another group may have a kind of the same name; but who wrote it beside rules has most likely mistyped the group.
fn foreign_group(document: &Document) -> Diagnostic {
    let (api_version, kind) = (&document.key.api_version, &document.key.kind);
    let group = TYPED.iter().find(|(typed, _)| **typed == **kind).map_or(GROUP, |(_, group)| group);
    let version = if group == GROUP { VERSION } else { "v1" };
    let message =
        format!("{kind} of {api_version} is not a kind of rules or policies, so it decides nothing");
    let finding = Diagnostic::warning(Code::UnknownKind, message).at("apiVersion");
    document.locate(finding.help(format!("write apiVersion: {group}/{version}")))
}

fn unknown_kind(document: &Document) -> Diagnostic {
    let (version, kind) = (&document.key.api_version, &document.key.kind);
    let (field, message) = if &**kind == "RoutingRule" {
        ("apiVersion", format!("the version {version} is not known"))
    } else {
        ("kind", format!("there is no kind {kind} in the group {GROUP}"))
    };
    let fault = Diagnostic::error(Code::UnknownKind, message).at(field);
    document.locate(fault.help(format!("write apiVersion: {GROUP}/{VERSION} and kind: RoutingRule")))
}
