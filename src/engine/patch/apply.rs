//! Applying a patch.

use usher_cel::document::{WriteError, WriteOptions, write};
use usher_cel::{Arena, Value};

use super::MAX_COPY_BYTES;
use super::equality::same;
use super::error::{Cause, PatchError};
use super::operation::Operation;
use super::tree::{Child, Tree};

/// Applies operations to a document one after the other and gives the new document. The old one is unchanged; both share what the
/// patch did not touch.
///
/// # Errors
/// The first operation that does not apply, with its index, its path and the cause; [`PatchError::is_test_failed`] tells a
/// failed `test` from the rest.
pub fn apply<'a>(
    document: Value<'a>,
    operations: &[Operation<'a>],
    arena: &'a Arena,
) -> Result<Value<'a>, PatchError> {
    let mut patcher = Patcher { tree: Tree::new(document, arena), copied: 0 };
    for (index, operation) in operations.iter().enumerate() {
        patcher.operation(operation).map_err(|(path, cause)| PatchError {
            index: Some(index),
            op: operation.op(),
            path: path.to_owned(),
            cause,
        })?;
    }
    let root = patcher.tree.root();
    patcher.tree.close(root).map_err(PatchError::whole)
}

struct Patcher<'a> {
    tree: Tree<'a>,
    /// Bytes that `copy` operations have added.
    copied: usize,
}

/// A cause, and the path that it is about.
type Failure<'a> = (&'a str, Cause);

impl<'a> Patcher<'a> {
    fn operation(&mut self, operation: &Operation<'a>) -> Result<(), Failure<'a>> {
        match *operation {
            Operation::Add { path, value } => self.add(path, Child::Whole(value)),
            Operation::Remove { path } => {
                self.tree.open(path).and_then(|place| self.tree.remove(place)).map_err(|cause| (path, cause))
            }
            Operation::Replace { path, value } => self.replace(path, value).map_err(|cause| (path, cause)),
            Operation::Move { from, path } => {
                let child = self.take(from).map_err(|cause| (from, cause))?;
                self.add(path, child)
            }
            Operation::Copy { from, path } => {
                let value = self.copy(from).map_err(|cause| (from, cause))?;
                self.add(path, Child::Whole(value))
            }
            Operation::Test { path, value } => self.test(path, value).map_err(|cause| (path, cause)),
        }
    }

    fn add(&mut self, path: &'a str, child: Child<'a>) -> Result<(), Failure<'a>> {
        self.tree.open(path).and_then(|place| self.tree.add(place, child)).map_err(|cause| (path, cause))
    }

    fn replace(&mut self, path: &'a str, value: Value<'a>) -> Result<(), Cause> {
        if path.is_empty() {
            if !matches!(value, Value::Map(_) | Value::List(_)) {
                return Err(Cause::ScalarDocument);
            }
            self.tree.replace_root(value);
            return Ok(());
        }
        let place = self.tree.open(path)?;
        // Not whether it is there: an absent member is added.
        self.tree.set(place, Child::Whole(value))
    }

    fn take(&mut self, from: &'a str) -> Result<Child<'a>, Cause> {
        let place = self.tree.open(from)?;
        let child = self.tree.get_at(place)?.ok_or(Cause::NoMember)?;
        self.tree.remove(place)?;
        Ok(child)
    }

    fn copy(&mut self, from: &'a str) -> Result<Value<'a>, Cause> {
        let Some(child) = self.tree.get(from)? else { return Ok(Value::Null) };
        let value = self.tree.close(child)?;
        let mut text = Vec::new();
        let options = WriteOptions {
            limit: MAX_COPY_BYTES - self.copied,
            escape_html: true,
            ..WriteOptions::default()
        };
        write(&value, &mut text, options).map_err(|error| match error {
            WriteError::TooLarge { .. } => Cause::CopiesTooLarge,
            other => Cause::Value(other),
        })?;
        self.copied += text.len();
        Ok(value)
    }

    fn test(&mut self, path: &'a str, value: Value<'a>) -> Result<(), Cause> {
        let child = if path.is_empty() { Some(self.tree.root()) } else { self.tree.get(path)? };
        let found = match child {
            Some(child) => self.tree.close(child)?,
            None => Value::Null,
        };
        if same(&found, &value)? { Ok(()) } else { Err(Cause::TestFailed) }
    }
}
