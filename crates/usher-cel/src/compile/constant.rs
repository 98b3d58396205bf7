//! Constants of a program: values that own what they hold, so that a program needs no arena.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::ast::Literal;
use crate::eval::{Arena, Entry, EvalResult, Map, Value};

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
    /// Shared: each literal in a nested one is a constant of its own as well.
    List(Arc<[Self]>),
    Map(Arc<[(Self, Self)]>),
}

impl From<&Literal> for Constant {
    fn from(literal: &Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::Uint(value) => Self::Uint(*value),
            Literal::Double(value) => Self::Double(*value),
            Literal::String(value) => Self::String(value.clone()),
            Literal::Bytes(value) => Self::Bytes(value.clone()),
        }
    }
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
                for item in items.iter() {
                    list.push(item.value(arena)?)?;
                }
                Value::List(list.finish())
            }
            Self::Map(entries) => {
                let mut list = arena.list(entries.len())?;
                for (key, value) in entries.iter() {
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
/// long either. cel-go `maybeOptimizeSetMembership`.
#[derive(Debug)]
pub(crate) struct ConstantSet {
    /// By [`order`], in which numbers of different types that are equal are equal.
    sorted: Box<[Constant]>,
    /// The doubles that ints and uints become, in order: unlike `==` elsewhere, a double finds an integer that it only comes near to.
    doubles: Box<[f64]>,
}

impl ConstantSet {
    /// `None` when an item is of another type, or NaN, which equals nothing.
    pub(crate) fn new(items: &[Constant]) -> Option<Self> {
        let mut sorted: Box<[Constant]> = items.into();
        if !sorted.iter().all(|item| item.scalar().is_some_and(|value| is_ordered(&value))) {
            return None;
        }
        sorted.sort_unstable_by(|a, b| match (a.scalar(), b.scalar()) {
            (Some(a), Some(b)) => order(&a, &b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        let mut doubles: Vec<f64> = sorted
            .iter()
            .filter_map(|item| match item {
                Constant::Int(int) => Some(*int as f64),
                Constant::Uint(uint) => Some(*uint as f64),
                _ => None,
            })
            .collect();
        doubles.sort_unstable_by(f64::total_cmp);
        Some(Self { sorted, doubles: doubles.into() })
    }

    pub(crate) fn contains(&self, value: &Value<'_>) -> bool {
        let is_found = |known: &Constant| known.scalar().map_or(Ordering::Less, |known| order(&known, value));
        if !is_ordered(value) {
            return false;
        }
        if let Value::Double(double) = value
            && self.doubles.binary_search_by(|known| known.total_cmp(double)).is_ok()
        {
            return true;
        }
        self.sorted.binary_search_by(is_found).is_ok()
    }
}

fn is_ordered(value: &Value<'_>) -> bool {
    match value {
        Value::Double(double) => !double.is_nan(),
        _ => matches!(value, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::String(_)),
    }
}

/// A total order of what [`is_ordered`], in which equal numbers of different types are equal.
fn order(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        _ => compare_numbers(a, b).unwrap_or_else(|| rank(a).cmp(&rank(b))),
    }
}

fn rank(value: &Value<'_>) -> u8 {
    match value {
        Value::Bool(_) => 0,
        Value::Int(_) | Value::Uint(_) | Value::Double(_) => 1,
        _ => 2,
    }
}

/// Compares numbers of any types exactly, `None` when one is no number or NaN. (Operators round: `eval::compare`.)
fn compare_numbers(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    Some(match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Uint(a), Value::Uint(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => return a.partial_cmp(b),
        (Value::Int(a), Value::Uint(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::Uint(a), Value::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::Int(a), Value::Double(b)) => compare_integer_to_double(i128::from(*a), *b)?,
        (Value::Uint(a), Value::Double(b)) => compare_integer_to_double(i128::from(*a), *b)?,
        (Value::Double(a), Value::Int(b)) => compare_integer_to_double(i128::from(*b), *a)?.reverse(),
        (Value::Double(a), Value::Uint(b)) => compare_integer_to_double(i128::from(*b), *a)?.reverse(),
        _ => return None,
    })
}

/// `integer` is within ±2^64, so a double beyond ±2^65 decides by its sign, and any other has an exact whole part.
fn compare_integer_to_double(integer: i128, double: f64) -> Option<Ordering> {
    const BEYOND: f64 = 36_893_488_147_419_103_232.0;
    if double.is_nan() {
        return None;
    }
    if double >= BEYOND {
        return Some(Ordering::Less);
    }
    if double <= -BEYOND {
        return Some(Ordering::Greater);
    }
    let whole = double.trunc();
    let order = integer.cmp(&(whole as i128));
    Some(order.then_with(|| 0.0_f64.partial_cmp(&(double - whole)).unwrap_or(Ordering::Equal)))
}
