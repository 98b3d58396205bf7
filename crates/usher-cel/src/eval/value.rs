//! Values: `Copy`, 24 bytes, borrowing from the request body, the program or the arena of the evaluation.

use std::cmp::Ordering;
use std::fmt;

use super::arena::Arena;
use super::error::EvalError;
use super::timestamp::Timestamp;
use crate::library::opaque::OpaqueValue;

/// A CEL value.
///
/// A JSON document is parsed straight into this type, so reading a field of a request is a look into a slice; there is no
/// conversion step and no reference count.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(&'a str),
    Bytes(&'a [u8]),
    Timestamp(Timestamp),
    /// Nanoseconds, as Go's `time.Duration`.
    Duration(i64),
    List(&'a [Self]),
    Map(Map<'a>),
    Optional(Option<&'a Self>),
    /// The value of `type(x)`, by name: `int`, `list`, `net.IP` …
    Type(&'a str),
    /// `Object{…}`, `Object.spec{…}`, `JSONPatch{…}`.
    Object(&'a Object<'a>),
    Opaque(Opaque<'a>),
}

const _: () = assert!(size_of::<Value<'_>>() <= 24, "values are copied everywhere: keep them small");

/// A value of a library's own type (quantity, IP address, …).
pub type Opaque<'a> = &'a OpaqueValue<'a>;

/// The name of a value's type, as `type(x)` prints it.
pub fn type_name<'a>(value: &Value<'a>) -> &'a str {
    match value {
        Value::Null => "null_type",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Uint(_) => "uint",
        Value::Double(_) => "double",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Optional(_) => "optional_type",
        Value::Type(_) => "type",
        Value::Object(object) => object.type_name,
        Value::Opaque(opaque) => opaque.type_name(),
    }
}

/// A typed object under construction.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    /// As written: `Object.spec.template`, `JSONPatch`.
    pub type_name: &'a str,
    /// In the order written; absent optional fields are left out.
    pub fields: &'a [(&'a str, Value<'a>)],
}

impl<'a> Object<'a> {
    pub fn field(&self, name: &str) -> Option<&'a Value<'a>> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }
}

/// A map with unique keys, in insertion order. Keys are bool, int, uint or string; `1`, `1u` and `1.0` find the same key.
#[derive(Clone, Copy)]
pub struct Map<'a>(Repr<'a>);

#[derive(Clone, Copy)]
enum Repr<'a> {
    /// At most [`LINEAR`] entries: looking at each beats any index.
    Small(&'a [Entry<'a>]),
    Indexed(&'a Indexed<'a>),
}

#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub key: Value<'a>,
    pub value: Value<'a>,
}

#[derive(Clone, Copy)]
struct Indexed<'a> {
    entries: &'a [Entry<'a>],
    /// Indexes into `entries`, by [`key_order`].
    order: &'a [u32],
}

const LINEAR: usize = 12;

impl<'a> Map<'a> {
    pub const EMPTY: Map<'static> = Map(Repr::Small(&[]));

    /// Makes a map of entries in the given order. Of entries with equal keys the last value wins, in the place of the first,
    /// as in Go's JSON decoder and in cel-go's map literals.
    ///
    /// # Errors
    /// When the arena is full.
    pub fn new(mut entries: &'a [Entry<'a>], arena: &'a Arena) -> Result<Self, Box<EvalError>> {
        if entries.len() <= LINEAR {
            let repeated =
                (1..entries.len()).any(|i| entries[..i].iter().any(|e| same_key(&e.key, &entries[i].key)));
            if repeated {
                entries = deduplicate_small(entries, arena)?;
            }
            return Ok(Self(Repr::Small(entries)));
        }
        let mut order = arena.list::<u32>(entries.len())?;
        for index in 0..entries.len() {
            order.push(u32::try_from(index).unwrap_or(u32::MAX))?;
        }
        let by_key = |entries: &[Entry<'a>], a: u32, b: u32| {
            key_order(&entries[a as usize].key, &entries[b as usize].key).then(a.cmp(&b))
        };
        order.as_mut_slice().sort_unstable_by(|a, b| by_key(entries, *a, *b));
        let order = order.finish();
        let repeated = order
            .windows(2)
            .any(|pair| same_key(&entries[pair[0] as usize].key, &entries[pair[1] as usize].key));
        if repeated {
            return Self::new(deduplicate_large(entries, order, arena)?, arena);
        }
        Ok(Self(Repr::Indexed(arena.alloc(Indexed { entries, order })?)))
    }

    pub fn entries(&self) -> &'a [Entry<'a>] {
        match self.0 {
            Repr::Small(entries) => entries,
            Repr::Indexed(map) => map.entries,
        }
    }

    pub fn len(&self) -> usize {
        self.entries().len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// The value of a string key.
    #[inline]
    pub fn field(&self, name: &str) -> Option<&'a Value<'a>> {
        match self.0 {
            Repr::Small(entries) => entries
                .iter()
                .find(|entry| matches!(entry.key, Value::String(key) if same_text(key, name)))
                .map(|entry| &entry.value),
            Repr::Indexed(map) => map.get(&Value::String(name)),
        }
    }

    /// The value of any key; a key of a type that cannot be one is not found.
    pub fn get(&self, key: &Value<'_>) -> Option<&'a Value<'a>> {
        match self.0 {
            Repr::Small(entries) => {
                entries.iter().find(|entry| same_key(&entry.key, key)).map(|entry| &entry.value)
            }
            Repr::Indexed(map) => map.get(key),
        }
    }
}

impl<'a> Indexed<'a> {
    fn get(&self, key: &Value<'_>) -> Option<&'a Value<'a>> {
        self.order
            .binary_search_by(|index| key_order(&self.entries[*index as usize].key, key))
            .ok()
            .map(|at| &self.entries[self.order[at] as usize].value)
    }
}

impl fmt::Debug for Map<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries().iter().map(|entry| (&entry.key, &entry.value))).finish()
    }
}

fn deduplicate_small<'a>(
    entries: &'a [Entry<'a>],
    arena: &'a Arena,
) -> Result<&'a [Entry<'a>], Box<EvalError>> {
    let mut kept = arena.list::<Entry<'a>>(entries.len())?;
    for entry in entries {
        match kept.as_mut_slice().iter_mut().find(|known| same_key(&known.key, &entry.key)) {
            Some(known) => known.value = entry.value,
            None => kept.push(*entry)?,
        }
    }
    Ok(kept.finish())
}

fn deduplicate_large<'a>(
    entries: &'a [Entry<'a>],
    order: &[u32],
    arena: &'a Arena,
) -> Result<&'a [Entry<'a>], Box<EvalError>> {
    const DROPPED: u32 = u32::MAX;
    // Not in the arena, which could not take it back: a text of nothing but one key repeated would cost a third more.
    let mut last_of = vec![DROPPED; entries.len()];
    let mut distinct = 0;
    for run in order.chunk_by(|a, b| same_key(&entries[*a as usize].key, &entries[*b as usize].key)) {
        // Within a run the indexes ascend: the first gives the place, the last the value.
        last_of[run[0] as usize] = run[run.len() - 1];
        distinct += 1;
    }
    let mut kept = arena.list::<Entry<'a>>(distinct)?;
    for (entry, last) in entries.iter().zip(last_of).filter(|(_, last)| *last != DROPPED) {
        kept.push(Entry { key: entry.key, value: entries[last as usize].value })?;
    }
    Ok(kept.finish())
}

/// `a == b`, for keys: nearly all are short, and a comparison of memory is a call that costs more than they do.
#[inline]
fn same_text(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        0 => true,
        // The first byte, the last and the one between.
        1..4 => a[0] == b[0] && a.last() == b.last() && a[a.len() / 2] == b[b.len() / 2],
        // Two words that overlap.
        4..8 => a.first_chunk::<4>() == b.first_chunk::<4>() && a.last_chunk::<4>() == b.last_chunk::<4>(),
        8..=16 => a.first_chunk::<8>() == b.first_chunk::<8>() && a.last_chunk::<8>() == b.last_chunk::<8>(),
        _ => a.first_chunk::<8>() == b.first_chunk::<8>() && a == b,
    }
}

fn same_key(a: &Value<'_>, b: &Value<'_>) -> bool {
    if let (Value::String(a), Value::String(b)) = (a, b) {
        return same_text(a, b);
    }
    key_order(a, b) == Ordering::Equal
}

/// A total order of map keys in which equal keys of different numeric types are equal.
pub(crate) fn key_order(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        _ => match compare_numbers(a, b) {
            Some(order) => order,
            None => key_rank(a).cmp(&key_rank(b)),
        },
    }
}

fn key_rank(key: &Value<'_>) -> u8 {
    match key {
        Value::Bool(_) => 0,
        // One rank for all numbers that compare with each other, or the order would not be total.
        Value::Int(_) | Value::Uint(_) => 1,
        Value::Double(double) if !double.is_nan() => 1,
        Value::String(_) => 2,
        // NaN, and values that are no keys at all: after everything, never found by a search for a legal key.
        _ => 3,
    }
}

/// Compares numbers of any types exactly, as keys of maps are found; `None` when one is no number or NaN. (Operators round:
/// `eval::compare`.)
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
