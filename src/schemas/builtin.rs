//! The built-in kinds. The data is made by `tests/cluster/openapi`, whose README.md has the format.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::schema::{Field, ObjectSchema, Schema};
use super::{Gvk, Resource};

static TEXT: &str = include_str!("builtin.txt");

/// Decodes what is asked for.
#[derive(Debug)]
pub(super) struct BuiltIn {
    roots: Vec<(Resource, usize)>,
    types: Vec<&'static str>,
    /// Decoded so far, by number: kinds share most of their types.
    decoded: RefCell<HashMap<usize, Schema>>,
}

impl BuiltIn {
    pub(super) fn read() -> Self {
        let (resources, types) = TEXT.split_once("\n\n").unwrap_or((TEXT, ""));
        let roots = resources.lines().filter_map(root).collect();
        Self { roots, types: types.lines().collect(), decoded: RefCell::default() }
    }

    pub(super) fn resources(&self) -> impl Iterator<Item = Resource> {
        self.roots.iter().map(|(resource, _)| resource.clone())
    }

    pub(super) fn schema(&self, gvk: &Gvk) -> Option<Schema> {
        let (_, number) = self.roots.iter().find(|(resource, _)| resource.gvk == *gvk)?;
        Some(self.decode(*number, &mut self.decoded.borrow_mut()))
    }

    /// The schema of `metadata`.
    pub(super) fn metadata(&self) -> Schema {
        let pod = self.schema(&Gvk::new("v1", "Pod"));
        let metadata = pod.as_ref().and_then(Schema::object).and_then(|pod| pod.field("metadata"));
        metadata.map_or(Schema::Any, |field| field.schema.clone())
    }

    /// Types only ever refer to others that stand for less, so this ends.
    fn decode(&self, number: usize, decoded: &mut HashMap<usize, Schema>) -> Schema {
        if let Some(known) = decoded.get(&number) {
            return known.clone();
        }
        let line = self.types.get(number).copied().unwrap_or("?");
        let mut of = |text: &str| match text.parse() {
            Ok(below) if below != number => self.decode(below, decoded),
            _ => Schema::Any,
        };
        let schema = match line.split_at_checked(1) {
            Some(("s", _)) => Schema::String,
            Some(("y", _)) => Schema::Bytes,
            Some(("b", _)) => Schema::Bool,
            Some(("n", _)) => Schema::Int,
            Some(("f", _)) => Schema::Double,
            Some(("t", _)) => Schema::Timestamp,
            Some(("d", _)) => Schema::Duration,
            Some(("i", _)) => Schema::IntOrString,
            Some(("[", item)) => Schema::List(Arc::new(of(item))),
            Some(("*", value)) => Schema::Map(Arc::new(of(value))),
            Some(("{", fields)) => {
                let fields: Vec<Field> =
                    fields.split_ascii_whitespace().filter_map(|word| field(word, &mut of)).collect();
                let open = fields.is_empty();
                Schema::Object(Arc::new(ObjectSchema::new(fields, open)))
            }
            _ => Schema::Any,
        };
        decoded.insert(number, schema.clone());
        schema
    }
}

fn root(line: &'static str) -> Option<(Resource, usize)> {
    let mut words = line.split(' ');
    let gvk = Gvk::new(words.next()?, words.next()?);
    let resource = Resource { gvk, name: words.next()?.into(), namespaced: words.next()? == "n" };
    Some((resource, words.next()?.parse().ok()?))
}

fn field(word: &str, of: &mut impl FnMut(&str) -> Schema) -> Option<Field> {
    let (name, ty) = word.split_once(':')?;
    let (ty, present) = ty.strip_suffix('!').map_or((ty, false), |ty| (ty, true));
    Some(Field { name: name.into(), schema: of(ty), present })
}
