//! Constants of a program: values that own what they hold, so that a program needs no arena.

use std::cmp::Ordering;

use crate::eval::{Arena, Entry, EvalResult, Map, Value, key_order};

/// A folded constant.
#[derive(Clone, Debug)]
pub(crate) enum Constant {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Box<str>),
    Bytes(Box<[u8]>),
    Timestamp(crate::eval::Timestamp),
    Duration(i64),
    Type(Box<str>),
    List(Box<[Self]>),
    Map(Box<[(Self, Self)]>),
}

impl Constant {
    /// The value of a scalar costs nothing; lists and maps are laid out in the arena.
    ///
    /// # Errors
    /// When the arena is full.
    pub(crate) fn value<'a>(&'a self, arena: &'a Arena) -> EvalResult<'a> {
        Ok(match self {
            Self::List(items) => {
                let mut list = arena.list(items.len())?;
                for item in items {
                    list.push(item.value(arena)?)?;
                }
                Value::List(list.finish())
            }
            Self::Map(entries) => {
                let mut list = arena.list(entries.len())?;
                for (key, value) in entries {
                    list.push(Entry { key: key.value(arena)?, value: value.value(arena)? })?;
                }
                Value::Map(Map::new(list.finish(), arena)?)
            }
            _ => self.scalar().unwrap_or(Value::Null),
        })
    }

    /// The value of anything but a list or a map.
    fn scalar(&self) -> Option<Value<'_>> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Uint(value) => Value::Uint(*value),
            Self::Double(value) => Value::Double(*value),
            Self::String(value) => Value::String(value),
            Self::Bytes(value) => Value::Bytes(value),
            Self::Timestamp(value) => Value::Timestamp(*value),
            Self::Duration(value) => Value::Duration(*value),
            Self::Type(name) => Value::Type(name),
            Self::List(_) | Self::Map(_) => return None,
        })
    }

    /// The constant that holds a value; `None` for values that only live in an arena. Depth is bounded by the parser's nesting limit,
    /// as only literals and calls on them are folded.
    pub(crate) fn of(value: &Value<'_>) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Uint(value) => Self::Uint(*value),
            Value::Double(value) => Self::Double(*value),
            Value::String(value) => Self::String((*value).into()),
            Value::Bytes(value) => Self::Bytes((*value).into()),
            Value::Timestamp(value) => Self::Timestamp(*value),
            Value::Duration(value) => Self::Duration(*value),
            Value::Type(name) => Self::Type((*name).into()),
            Value::List(items) => Self::List(items.iter().map(Self::of).collect::<Option<_>>()?),
            Value::Map(map) => Self::Map(
                map.entries()
                    .iter()
                    .map(|entry| Some((Self::of(&entry.key)?, Self::of(&entry.value)?)))
                    .collect::<Option<_>>()?,
            ),
            Value::Optional(_) | Value::Object(_) | Value::Opaque(_) => return None,
        })
    }

    /// For what can be no index of anything: cel-go's name of its type.
    pub(crate) fn no_qualifier(&self) -> Option<&'static str> {
        match self {
            Self::Bool(_) | Self::Int(_) | Self::Uint(_) | Self::Double(_) | Self::String(_) => None,
            Self::Null => Some("types.Null"),
            Self::Bytes(_) => Some("types.Bytes"),
            Self::Timestamp(_) => Some("types.Timestamp"),
            Self::Duration(_) => Some("types.Duration"),
            Self::Type(_) => Some("*types.Type"),
            Self::List(_) => Some("*types.baseList"),
            Self::Map(_) => Some("*types.baseMap"),
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

/// A constant list of numbers, strings and bools that `in` looks into. It costs nothing in Kubernetes however long it is, so it must not take
/// long either.
#[derive(Debug)]
pub(crate) struct ConstantSet {
    /// By [`key_order`], in which numbers of different types that are equal are equal.
    sorted: Box<[Constant]>,
}

impl ConstantSet {
    /// `None` when an item is of another type, or NaN, which equals nothing.
    pub(crate) fn new(items: &[Constant]) -> Option<Self> {
        let mut sorted: Box<[Constant]> = items.into();
        if !sorted.iter().all(|item| item.scalar().is_some_and(|value| is_ordered(&value))) {
            return None;
        }
        sorted.sort_unstable_by(|a, b| match (a.scalar(), b.scalar()) {
            (Some(a), Some(b)) => key_order(&a, &b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        Some(Self { sorted })
    }

    pub(crate) fn contains(&self, value: &Value<'_>) -> bool {
        let is_found =
            |known: &Constant| known.scalar().map_or(Ordering::Less, |known| key_order(&known, value));
        is_ordered(value) && self.sorted.binary_search_by(is_found).is_ok()
    }
}

fn is_ordered(value: &Value<'_>) -> bool {
    match value {
        Value::Double(double) => !double.is_nan(),
        _ => matches!(value, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::String(_)),
    }
}
