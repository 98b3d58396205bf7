//! A JSON text as a [`Value`].

use super::error::{JsonError, JsonErrorKind};
use super::grammar::{self, Member, Sink};
use super::lex::{Lexer, RawNumber, RawString};
use super::unescape::unescape;
use crate::eval::{Arena, Entry, Map, Value};

/// How [`parse`] reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Leave out `metadata.managedFields` of the object. They are half of a real review, and only an expression that names
    /// them can tell. They are still checked, except for the range of numbers.
    pub skip_managed_fields: bool,
    /// The text was checked before, as [`super::Scanner::skip`] does: what is left out is not checked again. Of a text that is not JSON after
    /// all, either an error or some value is made.
    pub is_checked: bool,
}

/// Parses a JSON text into a value that borrows its strings from the text, or from the arena where they have escapes.
///
/// Numbers become what Kubernetes' decoder makes of them (`sigs.k8s.io/json`, `convertNumber`): an int if they are written
/// without fraction and exponent and fit 64 bits, else a double. `1.0` is a double, `1e3` is a double, `-0` is the int 0.
/// Of repeated keys the last one counts.
///
/// # Errors
/// When the text is not one JSON value, is nested more than [`super::MAX_DEPTH`] levels deep, has a number beyond the range of a
/// double, or needs more memory than the arena may hold.
pub fn parse<'a>(json: &'a str, arena: &'a Arena, options: Options) -> Result<Value<'a>, JsonError> {
    let mut lexer = Lexer::new(json);
    let mut builder = Builder {
        arena,
        options,
        root: Value::Null,
        frames: Vec::with_capacity(32),
        entries: Vec::with_capacity(64),
        values: Vec::with_capacity(32),
        text: String::new(),
    };
    grammar::read(&mut lexer, 0, &mut builder)?;
    if !lexer.at_end() {
        return Err(lexer.unexpected("nothing after the value"));
    }
    Ok(builder.root)
}

/// Collects children on stacks and moves them into the arena when their parent is complete, so the arena gets exactly what the
/// document keeps.
struct Builder<'a> {
    arena: &'a Arena,
    options: Options,
    root: Value<'a>,
    frames: Vec<Frame>,
    /// Members read so far of all open objects. The last one of an object has no value yet while that is being read.
    entries: Vec<Entry<'a>>,
    /// Items read so far of all open lists.
    values: Vec<Value<'a>>,
    /// The string being unescaped.
    text: String,
}

/// An open value and where its children start.
#[derive(Clone, Copy)]
enum Frame {
    Object(usize),
    List(usize),
}

impl<'a> Builder<'a> {
    #[inline]
    fn store(&mut self, value: Value<'a>, at: usize) -> Result<(), JsonError> {
        match self.frames.last() {
            Some(Frame::Object(_)) => {
                if let Some(entry) = self.entries.last_mut() {
                    entry.value = value;
                }
            }
            Some(Frame::List(_)) => {
                if self.values.len() == self.values.capacity() {
                    let more = self.affordable::<Value<'_>>(self.values.len(), at)?;
                    self.values.reserve_exact(more);
                    self.set_aside();
                }
                self.values.push(value);
            }
            None => self.root = value,
        }
        Ok(())
    }

    /// By how many items a full stack of `len` grows: twofold, as long as the arena has room for all that waits on the stacks, since everything
    /// moves there in the end, and twice for each item more: while it waits, and when it has moved.
    #[cold]
    fn affordable<T>(&self, len: usize, at: usize) -> Result<usize, JsonError> {
        let waiting = size_of_val(self.values.as_slice()) + size_of_val(self.entries.as_slice());
        let spare = self.arena.room().saturating_sub(waiting) / (2 * size_of::<T>());
        match spare {
            0 => Err(JsonError { offset: at, kind: JsonErrorKind::Memory }),
            spare => Ok(len.max(32).min(spare)),
        }
    }

    /// The stacks count as the arena's, so that its limit is the limit of the whole document.
    fn set_aside(&self) {
        let values = self.values.capacity() * size_of::<Value<'_>>();
        self.arena.set_aside(values + self.entries.capacity() * size_of::<Entry<'_>>());
    }

    #[inline]
    fn resolve(&mut self, string: RawString<'a>, at: usize) -> Result<&'a str, JsonError> {
        if !string.escaped {
            return Ok(string.text);
        }
        self.text.clear();
        unescape(string.text, &mut self.text);
        self.arena.alloc_str(&self.text).map_err(JsonError::memory(at))
    }

    /// Whether the object being read is `metadata` of the root.
    fn in_metadata(&self) -> bool {
        match self.frames[..] {
            [Frame::Object(_), Frame::Object(start)] => start
                .checked_sub(1)
                .is_some_and(|parent| matches!(self.entries[parent].key, Value::String("metadata"))),
            _ => false,
        }
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        self.arena.set_aside(0);
    }
}

impl<'a> Sink<'a> for Builder<'a> {
    fn null(&mut self, at: usize) -> Result<(), JsonError> {
        self.store(Value::Null, at)
    }

    fn bool(&mut self, value: bool, at: usize) -> Result<(), JsonError> {
        self.store(Value::Bool(value), at)
    }

    #[inline]
    fn number(&mut self, number: RawNumber<'a>, at: usize) -> Result<(), JsonError> {
        let value =
            number_value(number).ok_or(JsonError { offset: at, kind: JsonErrorKind::NumberOutOfRange })?;
        self.store(value, at)
    }

    #[inline]
    fn string(&mut self, string: RawString<'a>, at: usize) -> Result<(), JsonError> {
        let value = Value::String(self.resolve(string, at)?);
        self.store(value, at)
    }

    #[inline]
    fn begin_list(&mut self) -> Result<(), JsonError> {
        self.frames.push(Frame::List(self.values.len()));
        Ok(())
    }

    fn end_list(&mut self, at: usize) -> Result<(), JsonError> {
        let Some(Frame::List(start)) = self.frames.pop() else { return Ok(()) };
        let items = self.arena.alloc_slice(&self.values[start..]).map_err(JsonError::memory(at))?;
        self.values.truncate(start);
        self.store(Value::List(items), at)
    }

    #[inline]
    fn begin_object(&mut self) -> Result<(), JsonError> {
        self.frames.push(Frame::Object(self.entries.len()));
        Ok(())
    }

    #[inline]
    fn key(&mut self, key: RawString<'a>, at: usize) -> Result<Member, JsonError> {
        let name = self.resolve(key, at)?;
        if self.options.skip_managed_fields && name == "managedFields" && self.in_metadata() {
            return Ok(if self.options.is_checked { Member::Jump } else { Member::Skip });
        }
        if self.entries.len() == self.entries.capacity() {
            let more = self.affordable::<Entry<'_>>(self.entries.len(), at)?;
            self.entries.reserve_exact(more);
            self.set_aside();
        }
        self.entries.push(Entry { key: Value::String(name), value: Value::Null });
        Ok(Member::Read)
    }

    fn end_object(&mut self, at: usize) -> Result<(), JsonError> {
        let Some(Frame::Object(start)) = self.frames.pop() else { return Ok(()) };
        let entries = self.arena.alloc_slice(&self.entries[start..]).map_err(JsonError::memory(at))?;
        let map = Map::new(entries, self.arena).map_err(JsonError::memory(at))?;
        self.entries.truncate(start);
        self.store(Value::Map(map), at)
    }
}

/// `None` when the number is beyond the range of a double.
#[inline]
fn number_value<'a>(number: RawNumber<'_>) -> Option<Value<'a>> {
    if number.whole
        && let Ok(int) = number.text.parse::<i64>()
    {
        return Some(Value::Int(int));
    }
    number.text.parse::<f64>().ok().filter(|double| double.is_finite()).map(Value::Double)
}
