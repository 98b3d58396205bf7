//! What the merge knows about kinds, decoded type by type as they are needed.
//!
//! The data is made by `tests/cluster/schema` (see its README.md, which has the format) from the schema that client-go applies with.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use usher_cel::eval::Value;

static TEXT: &str = include_str!("schema.txt");
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::read(TEXT));

/// The type of the objects of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Root {
    pub(super) ty: TypeId,
    /// Whether the schema is the kind's own, not deduced.
    pub(super) known: bool,
}

/// A type by its place in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypeId(usize);

/// What values of a type may be; several where the schema says so.
#[derive(Debug, Default)]
pub(super) struct Type {
    pub(super) scalar: Option<Scalar>,
    pub(super) list: Option<ListType>,
    pub(super) map: Option<MapType>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    String,
    Numeric,
    Boolean,
    Untyped,
}

#[derive(Debug)]
pub(super) struct ListType {
    pub(super) items: Items,
    pub(super) element: TypeId,
}

/// `x-kubernetes-list-type`.
#[derive(Debug)]
pub(super) enum Items {
    Atomic,
    Set,
    /// With the names of the keys.
    Map(Box<[&'static str]>),
}

/// An object: a struct with its fields, a map with a type for any key, or both.
#[derive(Debug)]
pub(super) struct MapType {
    pub(super) atomic: bool,
    /// Of keys that are no field; none: there must be no such key.
    pub(super) element: Option<TypeId>,
    /// By name.
    fields: Box<[Field]>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) ty: TypeId,
    /// What an absent field means when it is the key of a list.
    pub(super) default: Option<Value<'static>>,
}

struct Schema {
    roots: HashMap<(&'static str, &'static str), TypeId>,
    lines: Box<[&'static str]>,
    types: Box<[OnceLock<Type>]>,
}

impl Root {
    /// `api_version` as in objects: `v1`, `apps/v1`.
    pub(super) fn of(api_version: &str, kind: &str) -> Self {
        match SCHEMA.roots.get(&(api_version, kind)) {
            Some(ty) => Self { ty: *ty, known: true },
            None => Self { ty: SCHEMA.roots.get(&("*", "*")).copied().unwrap_or(TypeId(0)), known: false },
        }
    }
}

impl TypeId {
    pub(super) fn resolve(self) -> &'static Type {
        static NOTHING: Type = Type { scalar: None, list: None, map: None };
        match (SCHEMA.types.get(self.0), SCHEMA.lines.get(self.0)) {
            (Some(decoded), Some(line)) => decoded.get_or_init(|| Type::decode(line)),
            _ => &NOTHING,
        }
    }
}

impl MapType {
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|field| field.name.cmp(name)).ok()?;
        self.fields.get(at)
    }

    /// The type of the value of a key.
    pub(super) fn value_type(&self, key: &str) -> Option<TypeId> {
        self.field(key).map(|field| field.ty).or(self.element)
    }
}

impl Schema {
    fn read(text: &'static str) -> Self {
        let (header, types) = text.split_once("\n\n").unwrap_or((text, ""));
        let root = |line: &'static str| {
            let mut words = line.split(' ');
            Some(((words.next()?, words.next()?), TypeId::read(words.next()?)))
        };
        let lines: Box<[_]> = types.lines().collect();
        let types = lines.iter().map(|_| OnceLock::new()).collect();
        Self { roots: header.lines().filter_map(root).collect(), lines, types }
    }
}

impl TypeId {
    /// A number that is none is no type, which a test of the data would find.
    fn read(text: &str) -> Self {
        Self(text.parse().unwrap_or(usize::MAX))
    }
}

impl Type {
    fn decode(line: &'static str) -> Self {
        let mut ty = Self::default();
        let mut words = line.split(' ');
        while let Some(word) = words.next() {
            match word {
                "s" => ty.scalar = Some(Scalar::String),
                "n" => ty.scalar = Some(Scalar::Numeric),
                "b" => ty.scalar = Some(Scalar::Boolean),
                "u" => ty.scalar = Some(Scalar::Untyped),
                "{" | "{!" => ty.map = Some(MapType::decode(word == "{!", words.by_ref())),
                list => ty.list = list.strip_prefix('[').map(ListType::decode),
            }
        }
        ty
    }
}

impl ListType {
    fn decode(text: &'static str) -> Self {
        let (items, element) = match text.split_once('>') {
            Some((keys, element)) => (Items::Map(keys.split(',').collect()), element),
            None => match text.strip_prefix('=') {
                Some(element) => (Items::Set, element),
                None => (Items::Atomic, text.trim_start_matches('!')),
            },
        };
        Self { items, element: TypeId::read(element) }
    }
}

impl MapType {
    fn decode(atomic: bool, words: impl Iterator<Item = &'static str>) -> Self {
        let mut element = None;
        let mut fields = Vec::new();
        for word in words {
            if let Some(ty) = word.strip_prefix('*') {
                element = Some(TypeId::read(ty));
            } else if let Some((name, ty)) = word.split_once(':') {
                let (ty, default) = match ty.split_once('=') {
                    Some((ty, default)) => (ty, default_value(default)),
                    None => (ty, None),
                };
                fields.push(Field { name, ty: TypeId::read(ty), default });
            }
        }
        fields.sort_unstable_by_key(|field| field.name);
        Self { atomic, element, fields: fields.into() }
    }
}

fn default_value(text: &'static str) -> Option<Value<'static>> {
    match text {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => match text.strip_prefix('"') {
            Some(rest) => rest.strip_suffix('"').map(Value::String),
            None => text.parse().ok().map(Value::Int),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_data_decodes_to_types_that_are_there() {
        assert!(SCHEMA.roots.len() > 150, "{}", SCHEMA.roots.len());
        assert!(SCHEMA.roots.contains_key(&("*", "*")));
        let mut used = SCHEMA.roots.values().copied().collect::<Vec<_>>();
        for (index, line) in SCHEMA.lines.iter().enumerate() {
            let ty = TypeId(index).resolve();
            assert!(ty.scalar.is_some() || ty.list.is_some() || ty.map.is_some(), "{line}");
            used.extend(ty.list.iter().map(|list| list.element));
            if let Some(map) = &ty.map {
                used.extend(map.element.into_iter().chain(map.fields.iter().map(|field| field.ty)));
                let defaults = map.fields.iter().filter(|field| field.default.is_some()).count();
                assert_eq!(line.split(' ').filter(|word| word.contains('=')).count(), defaults, "{line}");
                let words = line.split(' ').filter(|word| word.contains(':')).count();
                assert_eq!(words, map.fields.len(), "{line}");
            }
        }
        assert!(used.iter().all(|ty| ty.0 < SCHEMA.lines.len()));
    }

    #[test]
    fn the_keys_of_container_ports_are_known_with_the_default_of_the_protocol() {
        let field = |ty: TypeId, name: &str| ty.resolve().map.as_ref().unwrap().field(name).unwrap().ty;
        let element = |ty: TypeId| ty.resolve().list.as_ref().unwrap().element;
        let spec = field(Root::of("v1", "Pod").ty, "spec");
        let ports = field(element(field(spec, "containers")), "ports");
        let list = ports.resolve().list.as_ref().unwrap();
        assert!(matches!(&list.items, Items::Map(keys) if **keys == ["containerPort", "protocol"]));
        let port = list.element.resolve().map.as_ref().unwrap();
        assert!(matches!(port.field("protocol").unwrap().default, Some(Value::String("TCP"))));
        let secrets = field(spec, "imagePullSecrets").resolve().list.as_ref().unwrap();
        assert!(matches!(&secrets.items, Items::Map(keys) if **keys == ["name"]));
    }
}
