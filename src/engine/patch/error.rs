//! Why a patch cannot be read or applied.

use std::fmt;

use usher_cel::document::{JsonError, WriteError};

use super::{MAX_COPY_BYTES, MAX_OPERATIONS, MAX_PATCH_BYTES};

/// What is wrong with which operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchError {
    /// The operation's index in the patch; none when the patch as a whole is wrong.
    pub index: Option<usize>,
    /// The operation's `op`, empty when it has none.
    pub op: &'static str,
    /// The path that the cause is about: `from` or `path` of the operation, empty when it has none.
    pub path: String,
    pub cause: Cause,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A `test` operation found another value. In Kubernetes' MutatingAdmissionPolicy this makes the mutation a no-op; from a
    /// webhook it fails the request.
    TestFailed,
    /// The patch text is not JSON.
    Json(JsonError),
    /// The patch is not a list; the name of what it is.
    NotAList(&'static str),
    /// An operation is not an object; the name of what it is.
    NotAnOperation(&'static str),
    UnknownOp(String),
    /// A required member is missing or null.
    MissingMember(&'static str),
    /// A member that must be a string; its name and what it is.
    MemberType(&'static str, &'static str),
    /// A value that has no JSON form.
    Value(WriteError),
    /// The operation cannot be applied to the whole document, which an empty path means.
    WholeDocument,
    /// The path has no `/`.
    NotAPointer,
    /// The whole document can only be replaced by an object or a list.
    ScalarDocument,
    /// The document is no object or list.
    NoDocument(&'static str),
    /// Nothing is at `parent`, so nothing can be added, found or removed inside.
    NoParent {
        parent: String,
    },
    /// What is at `parent` is neither object nor list.
    NotAContainer {
        parent: String,
        found: &'static str,
    },
    /// The member to remove does not exist.
    NoMember,
    /// `token` is no index of a list.
    NotAnIndex {
        token: String,
    },
    /// The list has only `length` items.
    IndexOutOfRange {
        token: String,
        length: usize,
    },
    /// `test` meets null inside a list, at which the API server's library crashes.
    NullInList,
    TooManyOperations(usize),
    PatchTooLarge,
    CopiesTooLarge,
    /// Insertions and removals in front of long lists.
    TooManyMoves,
    /// The arena is full.
    Memory,
}

impl PatchError {
    /// Whether a `test` operation found another value, as opposed to a patch that cannot be applied.
    pub fn is_test_failed(&self) -> bool {
        self.cause == Cause::TestFailed
    }

    pub(super) fn whole(cause: Cause) -> Self {
        Self { index: None, op: "", path: String::new(), cause }
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON Patch")?;
        if let Some(index) = self.index {
            write!(f, " operation {index}")?;
        }
        match (self.op, &*self.path) {
            ("", "") => {}
            (op, "") => write!(f, " ({op})")?,
            (op, path) => write!(f, " ({op} {})", shown(path))?,
        }
        write!(f, ": {}", self.cause)
    }
}

impl std::error::Error for PatchError {}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TestFailed => f.write_str("the value there is not the one to test for"),
            Self::Json(error) => write!(f, "{error}"),
            Self::NotAList(found) => write!(f, "a patch is a list of operations, not {found}"),
            Self::NotAnOperation(found) => {
                write!(f, "an operation is an object with `op` and `path`, not {found}")
            }
            Self::UnknownOp(op) => {
                write!(f, "unknown op {:?}: use add, remove, replace, move, copy or test", shown(op))
            }
            Self::MissingMember(name) => write!(f, "`{name}` is missing"),
            Self::MemberType(name, found) => write!(f, "`{name}` must be a string, not {found}"),
            Self::Value(error) => write!(f, "the value cannot be written: {error}"),
            Self::WholeDocument => f.write_str(
                "only `replace` and `test` can be applied to the whole document: name a member, such as /metadata",
            ),
            Self::NotAPointer => f.write_str("a path starts with `/`, for example /metadata/labels"),
            Self::ScalarDocument => {
                f.write_str("the whole document can only be replaced by an object or a list")
            }
            Self::NoDocument(found) => write!(f, "only an object or a list can be patched, not {found}"),
            Self::NoParent { parent } => {
                write!(f, "there is nothing at {}: add that first", shown(parent))
            }
            Self::NotAContainer { parent, found } => {
                write!(f, "the value at {} is {found}, which has no members", shown(parent))
            }
            Self::NoMember => f.write_str("there is no such member to remove: make the operation depend on has()"),
            Self::NotAnIndex { token } => {
                write!(f, "{:?} is no index of the list: use a number, or `-` to append", shown(token))
            }
            Self::IndexOutOfRange { token, length } => {
                write!(f, "index {} is out of range: the list has {length} items", shown(token))
            }
            Self::NullInList => f.write_str(
                "the API server cannot compare lists that contain null: test their other items one by one",
            ),
            Self::TooManyOperations(found) => {
                write!(f, "{found} operations, more than the {MAX_OPERATIONS} that are allowed: replace a whole object or list")
            }
            Self::PatchTooLarge => write!(f, "the patch is larger than {MAX_PATCH_BYTES} bytes"),
            Self::CopiesTooLarge => {
                write!(f, "`copy` operations add more than the {MAX_COPY_BYTES} bytes that the API server allows")
            }
            Self::TooManyMoves => f.write_str(
                "the operations move more items of lists than one patch may: replace the whole list, or append with `-`",
            ),
            Self::Memory => f.write_str("the patch needs more memory than one request may use"),
        }
    }
}

/// Paths come from users' objects: escaped for terminals and logs, and cut at 256 characters.
fn shown(text: &str) -> String {
    const LONGEST: usize = 256;
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}
