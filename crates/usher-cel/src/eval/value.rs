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

/// A map with unique keys, in insertion order. As in cel-go a key may be of any type but bytes; `1` and `1u` are two keys, of which each finds the
/// other where its own is not there, and `1.0` finds both. A list, a map and what a library made are equal to no other key: nothing finds them.
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

    /// The value of a key; numbers of other types find a whole number too. cel-go `refValMapAccessor.Find`.
    pub fn get(&self, key: &Value<'_>) -> Option<&'a Value<'a>> {
        self.get_exactly(key).or_else(|| match key {
            Value::Int(int) => self.get_exactly(&Value::Uint(u64::try_from(*int).ok()?)),
            Value::Uint(uint) => self.get_exactly(&Value::Int(i64::try_from(*uint).ok()?)),
            Value::Double(double) => {
                let int = whole_int(*double).and_then(|int| self.get_exactly(&Value::Int(int)));
                int.or_else(|| self.get_exactly(&Value::Uint(whole_uint(*double)?)))
            }
            _ => None,
        })
    }

    fn get_exactly(&self, key: &Value<'_>) -> Option<&'a Value<'a>> {
        match self.0 {
            Repr::Small(entries) => {
                entries.iter().find(|entry| same_key(&entry.key, key)).map(|entry| &entry.value)
            }
            Repr::Indexed(map) => map.get(key),
        }
    }
}

/// The int that a double is, as cel-go's `doubleToInt64Lossless`: -2^63 is none.
fn whole_int(double: f64) -> Option<i64> {
    (double.trunc() == double && double.abs() < i64::MAX as f64).then_some(double as i64)
}

/// The uint that a double is, as cel-go's `doubleToUint64Lossless`.
fn whole_uint(double: f64) -> Option<u64> {
    (double.trunc() == double && (0.0..u64::MAX as f64).contains(&double)).then_some(double as u64)
}

impl<'a> Indexed<'a> {
    fn get(&self, key: &Value<'_>) -> Option<&'a Value<'a>> {
        if key_rank(key) == NO_KEY {
            return None;
        }
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
    key_order(a, b) == Ordering::Equal && key_rank(a) != NO_KEY
}

/// Of a key that equals no other.
const NO_KEY: u8 = u8::MAX;

/// A total order of map keys, in which keys are equal that Go's maps take for the same, and all that equal no other.
fn key_order(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) | (Value::Duration(a), Value::Duration(b)) => a.cmp(b),
        (Value::Uint(a), Value::Uint(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        (Value::Type(a), Value::Type(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => {
            a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
        _ => key_rank(a).cmp(&key_rank(b)),
    }
}

fn key_rank(key: &Value<'_>) -> u8 {
    match key {
        Value::Bool(_) => 0,
        Value::Int(_) => 1,
        Value::Uint(_) => 2,
        Value::Double(double) if !double.is_nan() => 3,
        Value::String(_) => 4,
        Value::Null => 5,
        Value::Timestamp(_) => 6,
        Value::Duration(_) => 7,
        Value::Type(_) => 8,
        // There is one of it in cel-go.
        Value::Optional(None) => 9,
        _ => NO_KEY,
    }
}
