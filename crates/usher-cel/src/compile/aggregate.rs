//! List, map and struct literals.

use super::constant::Constant;
use super::lower::Lower;
use super::program::{Element, MapElement, Node, NodeId, StructElement};
use crate::ast::{ExprId, MapEntry, Span, StructField};
use crate::eval::Arena;

impl Lower<'_> {
    pub(super) fn list(&mut self, elements: &[ExprId], optional: &[u32], span: Span) -> NodeId {
        let mut list = Vec::with_capacity(elements.len());
        for (index, element) in (0_u32..).zip(elements) {
            list.push(Element { value: self.expr(*element), optional: optional.contains(&index) });
        }
        if optional.is_empty()
            && let Some(items) =
                list.iter().map(|element| self.constant(element.value).cloned()).collect::<Option<_>>()
        {
            return self.push(Node::Constant(Constant::List(items)), span);
        }
        self.push(Node::List(list.into()), span)
    }

    pub(super) fn map(&mut self, entries: &[MapEntry], span: Span) -> NodeId {
        let mut map = Vec::with_capacity(entries.len());
        for entry in entries {
            let (key, value) = (self.expr(entry.key), self.expr(entry.value));
            map.push(MapElement { key, value, optional: entry.optional });
        }
        if let Some(constant) = self.constant_map(&map) {
            return self.push(Node::Constant(constant), span);
        }
        self.push(Node::Map(map.into()), span)
    }

    fn constant_map(&self, map: &[MapElement]) -> Option<Constant> {
        let mut entries = Vec::with_capacity(map.len());
        for entry in map {
            let key = self.constant(entry.key)?;
            if entry.optional || matches!(key, Constant::Bytes(_)) {
                return None;
            }
            entries.push((key.clone(), self.constant(entry.value)?.clone()));
        }
        // Through the map type itself, which settles repeated keys; with numbers for the values, which may be large.
        let arena = Arena::default();
        let numbered = (0_i64..).zip(&entries).map(|(number, (key, _))| (key.clone(), Constant::Int(number)));
        let Some(Constant::Map(settled)) =
            Constant::of(&Constant::Map(numbered.collect()).value(&arena).ok()?)
        else {
            return None;
        };
        let value = |number: &Constant| match number {
            Constant::Int(number) => {
                entries.get(usize::try_from(*number).ok()?).map(|(_, value)| value.clone())
            }
            _ => None,
        };
        let settled = settled.iter().map(|(key, number)| Some((key.clone(), value(number)?)));
        settled.collect::<Option<_>>().map(Constant::Map)
    }

    pub(super) fn structure(&mut self, type_name: &str, fields: &[StructField], span: Span) -> NodeId {
        let name = type_name.trim_start_matches('.');
        let known = name == "JSONPatch" || name == "Object" || name.starts_with("Object.");
        if !known || !self.env.has_mutation_types() {
            return self.undeclared(span, name);
        }
        let mut elements = Vec::with_capacity(fields.len());
        for field in fields {
            let value = self.expr(field.value);
            elements.push(StructElement { name: field.name.clone(), value, optional: field.optional });
        }
        self.push(Node::Struct { type_name: name.into(), fields: elements.into() }, span)
    }
}
