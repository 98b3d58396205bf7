//! Constants of a program: values that own what they hold, so that a program needs no arena.

use crate::eval::{Arena, Entry, EvalError, EvalResult, Map, Value, equal};

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

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

/// A constant list that `in` looks into, without laying it out for every evaluation.
#[derive(Debug)]
pub(crate) enum ConstantSet {
    /// All strings, sorted.
    Strings(Box<[Box<str>]>),
    /// Anything else, by equality.
    Any(Box<[Constant]>),
}

impl ConstantSet {
    pub(crate) fn new(items: Box<[Constant]>) -> Self {
        let strings: Option<Vec<Box<str>>> = items.iter().map(|item| item.as_str().map(Into::into)).collect();
        match strings {
            Some(mut strings) => {
                strings.sort_unstable();
                strings.dedup();
                Self::Strings(strings.into_boxed_slice())
            }
            None => Self::Any(items),
        }
    }

    pub(crate) fn contains<'a>(
        &'a self,
        value: &Value<'a>,
        arena: &'a Arena,
    ) -> Result<bool, Box<EvalError>> {
        match self {
            Self::Strings(strings) => Ok(match value {
                Value::String(text) => strings.binary_search_by(|known| known.as_ref().cmp(text)).is_ok(),
                _ => false,
            }),
            Self::Any(items) => {
                for item in items {
                    if equal(&item.value(arena)?, value) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}
