//! Static types: what is known about a value before it exists. cel-go `common/types`.

use std::fmt;
use std::sync::Arc;

use crate::library::Ty;

/// Parts of one type at most; what is deeper is `dyn`. Without it a chain of `map(x, {x: x})` would double its type with every link.
const MAX_PARTS: usize = 64;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Of what is wrong; fits everywhere, so that one mistake is reported once.
    Error,
    /// Unknown until evaluation.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    /// Of a type as a value, with the type that it names if that is known.
    Type(Option<Arc<Self>>),
    /// Not known yet; only inside the checker.
    Var(u32),
    List(Arc<Self>),
    Map(Arc<(Self, Self)>),
    Optional(Arc<Self>),
    /// A library's own type by name: `kubernetes.Quantity`.
    Opaque(&'static str),
    /// A structure with declared fields.
    Object(Arc<ObjectType>),
}

/// A structure. Two of the same name are the same type.
#[derive(Debug)]
pub struct ObjectType {
    name: Box<str>,
    declared: Vec<(Box<str>, Type)>,
    /// Every other name is a field of type `dyn`.
    open: bool,
}

impl Type {
    /// `list(item)`.
    pub fn list(item: Self) -> Self {
        Self::List(Arc::new(item.limited(1)))
    }

    /// `map(key, value)`.
    pub fn map(key: Self, value: Self) -> Self {
        let key = key.limited(1);
        let room = 1 + key.parts();
        Self::Map(Arc::new((key, value.limited(room))))
    }

    /// `optional_type(held)`.
    pub fn optional(held: Self) -> Self {
        Self::Optional(Arc::new(held.limited(1)))
    }

    /// The type of the value that stands for the type `named`.
    pub fn type_of(named: Self) -> Self {
        Self::Type(Some(Arc::new(named.limited(1))))
    }

    /// A structure with declared fields; reading another field is a compile error.
    pub fn object<'f>(name: &str, fields: impl IntoIterator<Item = (&'f str, Self)>) -> Self {
        Self::structure(name, fields, false)
    }

    /// A structure that may have other fields besides the declared ones, of any type.
    pub fn open_object<'f>(name: &str, fields: impl IntoIterator<Item = (&'f str, Self)>) -> Self {
        Self::structure(name, fields, true)
    }

    fn structure<'f>(name: &str, fields: impl IntoIterator<Item = (&'f str, Self)>, open: bool) -> Self {
        let declared = fields.into_iter().map(|(name, ty)| (name.into(), ty)).collect();
        Self::Object(Arc::new(ObjectType { name: name.into(), declared, open }))
    }

    /// Whether the value may be of any type.
    pub fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn)
    }

    pub(super) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The type as cel-go's checker writes it in messages: `null`, `timestamp`, `list(int)`. [`fmt::Display`] gives Kubernetes' form
    /// in "must evaluate to …": `null_type`, `google.protobuf.Timestamp`.
    pub fn in_messages(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Timestamp => "timestamp".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Type(Some(named)) => format!("type({})", named.in_messages()),
            Self::List(item) => format!("list({})", item.in_messages()),
            Self::Map(entry) => format!("map({}, {})", entry.0.in_messages(), entry.1.in_messages()),
            Self::Optional(held) => format!("optional_type({})", held.in_messages()),
            other => other.to_string(),
        }
    }

    /// What is known of a value of which it is not known whether it is of this type or of the other, which is equal: of structures of one name that
    /// were declared apart, nothing about their fields. `None` where the two are the same to the letter.
    pub(super) fn blurred(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Object(a), Self::Object(b)) if a == b && !Arc::ptr_eq(a, b) => {
                Some(Self::open_object(&a.name, []))
            }
            (Self::List(a), Self::List(b)) => a.blurred(b).map(Self::list),
            (Self::Optional(a), Self::Optional(b)) => a.blurred(b).map(Self::optional),
            (Self::Map(a), Self::Map(b)) => a.1.blurred(&b.1).map(|value| Self::map(a.0.clone(), value)),
            _ => None,
        }
    }

    /// This type inside one that has `used` parts already.
    fn limited(self, used: usize) -> Self {
        if used + self.parts() > MAX_PARTS { Self::Dyn } else { self }
    }

    fn parts(&self) -> usize {
        match self {
            Self::Type(Some(part)) | Self::List(part) | Self::Optional(part) => 1 + part.parts(),
            Self::Map(entry) => 1 + entry.0.parts() + entry.1.parts(),
            _ => 1,
        }
    }
}

impl ObjectType {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of a field, if there is such a field.
    pub fn field(&self, name: &str) -> Option<Type> {
        let declared = self.declared.iter().find(|(known, _)| **known == *name).map(|(_, ty)| ty.clone());
        declared.or_else(|| self.open.then_some(Type::Dyn))
    }

    /// The names of the declared fields.
    pub fn field_names(&self) -> impl Iterator<Item = &str> {
        self.declared.iter().map(|(name, _)| &**name)
    }
}

impl PartialEq for ObjectType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ObjectType {}

impl From<Ty> for Type {
    /// Type parameters of declarations are `dyn` outside of them.
    fn from(ty: Ty) -> Self {
        match ty {
            Ty::Dyn | Ty::Param(_) => Self::Dyn,
            Ty::Null => Self::Null,
            Ty::Bool => Self::Bool,
            Ty::Int => Self::Int,
            Ty::Uint => Self::Uint,
            Ty::Double => Self::Double,
            Ty::String => Self::String,
            Ty::Bytes => Self::Bytes,
            Ty::Timestamp => Self::Timestamp,
            Ty::Duration => Self::Duration,
            Ty::Type => Self::Type(None),
            Ty::List(item) => Self::list((*item).into()),
            Ty::Map(key, value) => Self::map((*key).into(), (*value).into()),
            Ty::Optional(held) => Self::optional((*held).into()),
            Ty::Opaque(name) => Self::Opaque(name),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "!error!",
            Self::Dyn => "dyn",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::Type(None) => "type",
            Self::Type(Some(named)) => return write!(f, "type({named})"),
            Self::Var(number) => return write!(f, "_var{number}"),
            Self::List(item) => return write!(f, "list({item})"),
            Self::Map(entry) => return write!(f, "map({}, {})", entry.0, entry.1),
            Self::Optional(held) => return write!(f, "optional_type({held})"),
            Self::Opaque(name) => name,
            Self::Object(object) => &object.name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_print_as_messages_and_results_name_them() {
        let ty = Type::map(Type::String, Type::list(Type::optional(Type::Timestamp)));
        assert_eq!(ty.in_messages(), "map(string, list(optional_type(timestamp)))");
        assert_eq!(ty.to_string(), "map(string, list(optional_type(google.protobuf.Timestamp)))");
        assert_eq!(Type::type_of(Type::Null).in_messages(), "type(null)");
    }

    #[test]
    fn a_type_stops_growing() {
        let mut ty = Type::Int;
        for _ in 0..10_000 {
            ty = Type::map(ty.clone(), ty);
        }
        assert!(ty.parts() <= MAX_PARTS);
    }

    #[test]
    fn of_structures_that_were_declared_apart_no_field_is_known() {
        let a = Type::list(Type::object("A", [("x", Type::Int)]));
        assert!(a.blurred(&a.clone()).is_none());
        let Some(Type::List(item)) = a.blurred(&Type::list(Type::object("A", []))) else { panic!("a list") };
        let Type::Object(object) = &*item else { panic!("of structures") };
        assert_eq!(object.field("x"), Some(Type::Dyn));
    }

    #[test]
    fn structures_of_one_name_are_one_type() {
        let a = Type::object("A", [("x", Type::Int)]);
        assert_eq!(a, Type::object("A", []));
        assert_ne!(a, Type::object("B", [("x", Type::Int)]));
    }
}
