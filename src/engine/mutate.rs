//! Mutations: from what an expression gave to operations that were tried on the object.

use usher_cel::document::{self, WriteOptions};
use usher_cel::eval::{Arena, ErrorKind, EvalError, Value, equal, type_name};

use super::documents::Documents;
use super::matching::{Labels, RequestLabels};
use super::merge::{MergeError, apply_configuration};
use super::patch::{self, Cause, PatchError};
use super::request::Operation;

/// The object that rules are working on, and how it came to differ from what was received.
#[derive(Debug, Default)]
pub(super) struct Working<'r> {
    /// `None`: as received.
    pub(super) object: Option<Value<'r>>,
    pub(super) labels: RequestLabels,
    operations: Vec<patch::Operation<'r>>,
    /// Who made them: places of rule and route.
    pub(super) authors: Vec<(u32, usize)>,
}

/// One change that a route has made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change<'r> {
    /// Place in the rule.
    pub(super) route: usize,
    /// The object after it.
    pub(super) object: Value<'r>,
    pub(super) operations: &'r [patch::Operation<'r>],
}

/// What operations did to an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Applied<'r> {
    /// It is as it was.
    Nothing,
    Changed {
        object: Value<'r>,
        operations: &'r [patch::Operation<'r>],
    },
    /// A `test` operation failed.
    TestFailed,
}

/// A patch in its wire form, and the object after it as JSON.
pub(super) type Finished = (Vec<u8>, Vec<u8>);

type Result<T> = std::result::Result<T, Box<EvalError>>;

impl<'r> Working<'r> {
    /// Takes over what a rule has made of the object.
    pub(super) fn commit(&mut self, rank: u32, changes: &[Change<'r>]) {
        let Some(last) = changes.last() else { return };
        self.object = Some(last.object);
        self.labels = RequestLabels::of_changed_object(labels(&last.object));
        for change in changes {
            self.operations.extend_from_slice(change.operations);
            self.authors.push((rank, change.route));
        }
    }

    /// The same object, as if it had been received so.
    pub(super) fn again(&self) -> Self {
        let labels = self.object.as_ref().map(|object| RequestLabels::of_changed_object(labels(object)));
        Self { object: self.object, labels: labels.unwrap_or_default(), ..Self::default() }
    }
}

/// Whether there is anything that a mutation could change.
pub(super) fn is_possible(documents: &Documents<'_>) -> bool {
    documents.request.object.is_some() && documents.request.operation != Operation::Delete
}

/// The operations that a `jsonPatch` expression gave, as they go over the wire: what is applied here is what is applied there.
pub(super) fn wire_form<'a>(value: &Value<'a>, arena: &'a Arena) -> Result<String> {
    let operations = patch::parse_operations(value, arena).map_err(|error| patch_error(&error))?;
    let text = patch::write_operations(operations).map_err(|error| patch_error(&error))?;
    String::from_utf8(text).map_err(|error| EvalError::invalid(error.to_string()))
}

/// The operations that merge what an `applyConfiguration` expression gave into the current object (`None`: as received).
pub(super) fn merged_form<'r: 'a, 'a>(
    documents: &Documents<'r>,
    current: Option<Value<'r>>,
    configuration: &Value<'a>,
    arena: &'a Arena,
) -> Result<String> {
    let before = current.map_or_else(|| documents.whole_object(), Ok)?;
    let merged = apply_configuration(before, configuration, documents.request.kind, arena)
        .map_err(|error| merge_error(&error))?;
    let text = patch::write_operations(&merged.operations).map_err(|error| patch_error(&error))?;
    String::from_utf8(text).map_err(|error| EvalError::invalid(error.to_string()))
}

/// Applies operations in their wire form to the current object (`None`: as received), which stays as it is.
pub(super) fn apply<'r>(
    documents: &Documents<'r>,
    current: Option<Value<'r>>,
    operations: &str,
) -> Result<Applied<'r>> {
    let text = documents.arena.alloc_str(operations)?;
    let operations = patch::parse_patch(text, documents.arena).map_err(|error| patch_error(&error))?;
    let before = current.map_or_else(|| documents.whole_object(), Ok)?;
    let object = match patch::apply(before, operations, documents.arena) {
        Ok(object) => object,
        Err(error) if error.is_test_failed() => return Ok(Applied::TestFailed),
        Err(error) => return Err(patch_error(&error)),
    };
    if !matches!(object, Value::Map(_)) {
        return Err(EvalError::invalid(format!("the patch makes a {} of the object", type_name(&object))));
    }
    Ok(if equal(&before, &object) { Applied::Nothing } else { Applied::Changed { object, operations } })
}

/// All operations together, verified to make of the object as received what the rules have seen. `None` when they come to nothing.
pub(super) fn finish<'r>(documents: &Documents<'r>, working: &Working<'r>) -> Result<Option<Finished>> {
    let Some(object) = working.object else { return Ok(None) };
    let received = documents.whole_object()?;
    if equal(&received, &object) {
        return Ok(None);
    }
    let patch = patch::write_operations(&working.operations).map_err(|error| patch_error(&error))?;
    let result =
        patch::apply(received, &working.operations, documents.arena).map_err(|error| patch_error(&error))?;
    if !equal(&result, &object) {
        return Err(EvalError::invalid("the patch makes another object than the rules have seen"));
    }
    let mut after = Vec::new();
    document::write(&object, &mut after, WriteOptions::default())
        .map_err(|error| EvalError::invalid(error.to_string()))?;
    Ok(Some((patch, after)))
}

fn merge_error(error: &MergeError) -> Box<EvalError> {
    let kind = match error {
        MergeError::NotAnObject(_) | MergeError::TypeNames(_) => ErrorKind::WrongType,
        MergeError::Memory => ErrorKind::Memory,
        MergeError::Patch(_) | MergeError::Atomic(_) | MergeError::Live(_) | MergeError::TooDeep => {
            ErrorKind::InvalidArgument
        }
    };
    EvalError::new(kind, error.to_string())
}

fn patch_error(error: &PatchError) -> Box<EvalError> {
    let kind = match error.cause {
        Cause::NotAList(_) | Cause::NotAnOperation(_) | Cause::MemberType(..) => ErrorKind::WrongType,
        Cause::Memory => ErrorKind::Memory,
        _ => ErrorKind::InvalidArgument,
    };
    EvalError::new(kind, error.to_string())
}

fn labels(object: &Value<'_>) -> Labels {
    let Value::Map(object) = object else { return None };
    let Some(Value::Map(metadata)) = object.field("metadata") else { return None };
    let Some(Value::Map(labels)) = metadata.field("labels") else { return Some(Default::default()) };
    let text = |value: &Value<'_>| match value {
        Value::String(text) => Some((*text).to_owned()),
        _ => None,
    };
    Some(labels.entries().iter().filter_map(|entry| Some((text(&entry.key)?, text(&entry.value)?))).collect())
}
