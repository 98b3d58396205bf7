//! Schemas as types of CEL: apiserver `pkg/cel/common/schemas.go`, `pkg/cel/types.go`, `pkg/cel/escaping.go`.

use std::collections::HashMap;
use std::sync::Arc;

use usher_cel::check::Type;

use crate::schemas::{Field, ObjectSchema, Schema};

/// Which fields expressions may name, and what is the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// What can go wrong at run time: times and bytes are strings, as they are in JSON, and a number may be an integer; fields of no declared type,
    /// such as quantities, are `dyn`; a structure of which nothing is declared, or that keeps unknown fields, may have any; all structures are one
    /// type, as all objects are maps; a variable has the type of its expression.
    Usher,
    /// To the letter: fields of no declared type do not exist, structures have their declared fields only, each place in a schema is a type of its own,
    /// and of a variable's type nothing is known below lists and maps.
    Kubernetes,
}

/// The name of all structures.
const OBJECT: &str = "object";

impl Exposure {
    /// The type of objects of a schema. `name` is that of the kind.
    pub(crate) fn ty(self, schema: &Schema, name: &str) -> Type {
        Types { exposure: self, made: HashMap::new() }.of(schema, name).unwrap_or(Type::Dyn)
    }

    /// How the type of a variable is known to what reads it (apiserver `pkg/admission/plugin/cel/composition.go`).
    pub(super) fn variables(self) -> fn(&Type) -> Type {
        match self {
            Self::Usher => Type::clone,
            Self::Kubernetes => known_of_variable,
        }
    }
}

/// Types in the making.
struct Types {
    exposure: Exposure,
    /// What stands in several places of a schema is one type, of which the checker can tell that it is the same.
    made: HashMap<*const ObjectSchema, Type>,
}

impl Types {
    /// `None` for what expressions do not get to see.
    fn of(&mut self, schema: &Schema, path: &str) -> Option<Type> {
        let usher = self.exposure == Exposure::Usher;
        Some(match schema {
            Schema::String => Type::String,
            Schema::Bytes | Schema::Timestamp | Schema::Duration if usher => Type::String,
            Schema::Double if usher => Type::Dyn,
            Schema::Bytes => Type::Bytes,
            Schema::Bool => Type::Bool,
            Schema::Int => Type::Int,
            Schema::Double => Type::Double,
            Schema::Timestamp => Type::Timestamp,
            Schema::Duration => Type::Duration,
            Schema::IntOrString => Type::Dyn,
            Schema::Any if usher => Type::Dyn,
            Schema::Any => return None,
            Schema::List(item) => Type::list(self.of(item, &format!("{path}.@idx"))?),
            Schema::Map(value) => Type::map(Type::String, self.of(value, &format!("{path}.@elem"))?),
            Schema::Object(object) if usher => {
                if let Some(known) = self.made.get(&Arc::as_ptr(object)) {
                    return Some(known.clone());
                }
                let fields = self.fields(object, path);
                let fields = fields.iter().map(|(name, ty)| (name.as_str(), ty.clone()));
                let ty = if object.is_open() {
                    Type::open_object(OBJECT, fields)
                } else {
                    Type::object(OBJECT, fields)
                };
                self.made.insert(Arc::as_ptr(object), ty.clone());
                ty
            }
            Schema::Object(object) => {
                let fields = self.fields(object, path);
                Type::object(path, fields.iter().map(|(name, ty)| (name.as_str(), ty.clone())))
            }
        })
    }

    fn fields(&mut self, object: &ObjectSchema, path: &str) -> Vec<(String, Type)> {
        object.fields().iter().flat_map(|field| self.field(field, path)).collect()
    }

    /// The names under which a field can be read.
    fn field(&mut self, field: &Field, path: &str) -> Vec<(String, Type)> {
        let name = &*field.name;
        let Some(ty) = self.of(&field.schema, &format!("{path}.{name}")) else { return Vec::new() };
        if self.exposure == Exposure::Usher {
            return vec![(name.to_owned(), ty)];
        }
        let Some(escaped) = escaped(name) else { return Vec::new() };
        let mut names = vec![(escaped, ty.clone())];
        // `SetRecognizeKeywordAsFieldName`.
        if RESERVED.contains(&name) {
            names.push((name.to_owned(), ty));
        }
        names
    }
}

const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A name as an identifier; `None` for one that cannot be written as such.
fn escaped(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')) {
        return None;
    }
    let escaped = name.replace("__", "\0").replace('.', "__dot__").replace('-', "__dash__");
    Some(escaped.replace('/', "__slash__").replace('\0', "__underscores__"))
}

fn known_of_variable(ty: &Type) -> Type {
    match ty {
        Type::List(item) => Type::list(known_of_variable(item)),
        Type::Map(entry) => Type::map(known_of_variable(&entry.0), known_of_variable(&entry.1)),
        Type::Null
        | Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Double
        | Type::String
        | Type::Bytes
        | Type::Timestamp
        | Type::Duration => ty.clone(),
        _ => Type::Dyn,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("replicas", Some("replicas"))]
    #[case::reserved("namespace", Some("__namespace__"))]
    #[case::underscores("a__b", Some("a__underscores__b"))]
    #[case::marks("x-y.z/w", Some("x__dash__y__dot__z__slash__w"))]
    #[case::digit("9a", None)]
    #[case::other("a b", None)]
    fn names_are_escaped_as_kubernetes_does(#[case] name: &str, #[case] expected: Option<&str>) {
        assert_eq!(escaped(name).as_deref(), expected);
    }
}
