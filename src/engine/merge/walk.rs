//! The merge itself: along the patch, writing down what changes.

use usher_cel::eval::{Arena, Entry, Map, Value, equal};

use super::Merged;
use super::error::MergeError;
use super::items::keys;
use super::lists::{Source, is_insertion, order};
use super::schema::{Items, ListType, MapType, Type, TypeId};
use crate::engine::patch::{Operation, escape_key};

/// Merges a patch that was found valid. Depth is that of the patch.
pub(super) fn merge<'a>(
    ty: TypeId,
    live: Value<'a>,
    patch: Value<'a>,
    arena: &'a Arena,
) -> Result<Merged<'a>> {
    let mut merger = Merger { arena, pointer: String::new(), operations: Vec::new() };
    let object = merger.value(ty, Some(live), patch)?.unwrap_or(live);
    Ok(Merged { object, operations: merger.operations })
}

struct Merger<'a> {
    arena: &'a Arena,
    /// Where the walk is, in the object as the operations so far have made it.
    pointer: String,
    operations: Vec<Operation<'a>>,
}

type Result<T> = std::result::Result<T, MergeError>;

impl<'a> Merger<'a> {
    /// The merged value; `None`: the live one.
    fn value(&mut self, ty: TypeId, live: Option<Value<'a>>, patch: Value<'a>) -> Result<Option<Value<'a>>> {
        match (live, patch, ty.resolve()) {
            (Some(Value::Map(live)), Value::Map(patch), Type { map: Some(ty), .. }) if !ty.atomic => {
                self.map(ty, live, patch)
            }
            (Some(Value::List(items)), Value::List(patch), Type { list: Some(ty), .. })
                if !matches!(ty.items, Items::Atomic) && !items.is_empty() =>
            {
                self.list(ty, items, patch)
            }
            (Some(live), patch, _) if equal(&live, &patch) => Ok(None),
            (Some(_), value, _) => {
                self.operations.push(Operation::Replace { path: self.path()?, value });
                Ok(Some(value))
            }
            (None, value, _) => {
                self.operations.push(Operation::Add { path: self.path()?, value });
                Ok(Some(value))
            }
        }
    }

    fn map(&mut self, ty: &MapType, live: Map<'a>, patch: Map<'a>) -> Result<Option<Value<'a>>> {
        let mut changed: Vec<Entry<'a>> = Vec::new();
        for entry in patch.entries() {
            // A key without a type was found before.
            let Value::String(name) = entry.key else { continue };
            let Some(ty) = ty.value_type(name) else { continue };
            let here = self.enter(&escape_key(name));
            let merged =
                self.value(ty, live.field(name).copied(), entry.value).map_err(|error| at(error, name))?;
            self.pointer.truncate(here);
            changed.extend(merged.map(|value| Entry { key: entry.key, value }));
        }
        if changed.is_empty() {
            return Ok(None);
        }
        // Later entries win, in the place of the first.
        let mut entries = self.arena.list(live.len() + changed.len()).map_err(memory)?;
        entries.extend(live.entries()).map_err(memory)?;
        entries.extend(&changed).map_err(memory)?;
        Map::new(entries.finish(), self.arena).map(|map| Some(Value::Map(map))).map_err(memory)
    }

    fn list(
        &mut self,
        ty: &ListType,
        live: &'a [Value<'a>],
        patch: &'a [Value<'a>],
    ) -> Result<Option<Value<'a>>> {
        if patch.is_empty() {
            return Ok(None);
        }
        let live_keys = keys(ty, live).map_err(MergeError::Live)?;
        let patch_keys = keys(ty, patch).map_err(|fault| MergeError::Patch(vec![fault]))?;
        let order = order(&live_keys, &patch_keys);
        let before = self.operations.len();
        let mut merged = self.arena.list(order.len()).map_err(memory)?;
        for (index, source) in order.iter().enumerate() {
            let item = match *source {
                Source::Live(live_at) => live[live_at],
                Source::Patch(patch_at) => self.item(ty, index, None, patch[patch_at])?,
                Source::Both { live: live_at, patch: patch_at } => {
                    self.item(ty, index, Some(live[live_at]), patch[patch_at])?
                }
            };
            merged.push(item).map_err(memory)?;
        }
        let merged = Value::List(merged.finish());
        if !is_insertion(&order, live.len()) {
            // Items change places: then the list as a whole is shorter than what would move them.
            self.operations.truncate(before);
            self.operations.push(Operation::Replace { path: self.path()?, value: merged });
        }
        Ok((self.operations.len() > before).then_some(merged))
    }

    /// The item at `index` of the merged list. All before it are in their places, so that an added one is inserted there.
    fn item(
        &mut self,
        ty: &ListType,
        index: usize,
        live: Option<Value<'a>>,
        patch: Value<'a>,
    ) -> Result<Value<'a>> {
        let here = self.enter(&index.to_string());
        let merged = self.value(ty.element, live, patch)?;
        self.pointer.truncate(here);
        Ok(merged.or(live).unwrap_or(patch))
    }

    fn enter(&mut self, token: &str) -> usize {
        let here = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(token);
        here
    }

    fn path(&self) -> Result<&'a str> {
        self.arena.alloc_str(&self.pointer).map_err(memory)
    }
}

fn at(error: MergeError, name: &str) -> MergeError {
    match error {
        MergeError::Live(fault) => MergeError::Live(fault.within(&format!(".{name}"))),
        other => other,
    }
}

fn memory<E>(_: E) -> MergeError {
    MergeError::Memory
}
