//! The shape of values.

use std::sync::Arc;

/// What values of a field look like. Kubernetes calls this a structural schema; only what types of expressions and the presence of fields follow
/// from is kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Schema {
    String,
    /// Text that stands for bytes.
    Bytes,
    Bool,
    Int,
    Double,
    Timestamp,
    Duration,
    IntOrString,
    /// Of no declared type: a quantity, any JSON value.
    Any,
    List(Arc<Self>),
    /// From any key.
    Map(Arc<Self>),
    Object(Arc<ObjectSchema>),
}

/// A structure.
#[derive(Debug, Default, PartialEq)]
pub struct ObjectSchema {
    /// By name.
    fields: Vec<Field>,
    /// It may have fields that are not declared.
    open: bool,
}

/// A field of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: Box<str>,
    pub schema: Schema,
    /// It is there whenever the structure is: it is required, always written, or has a default.
    pub present: bool,
}

impl Schema {
    /// The structure, if it is one.
    pub fn object(&self) -> Option<&ObjectSchema> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl ObjectSchema {
    pub fn new(mut fields: Vec<Field>, open: bool) -> Self {
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        Self { fields, open }
    }

    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Whether it may have fields that are not declared.
    pub fn is_open(&self) -> bool {
        self.open
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|field| (*field.name).cmp(name)).ok()?;
        self.fields.get(at)
    }
}
