//! Why a configuration cannot be merged.

use std::fmt;

use super::MAX_DEPTH;

/// What is wrong, in the API server's words where it has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeError {
    /// The expression gave no `Object{…}`; the name of the type it gave.
    NotAnObject(String),
    /// Objects whose type is not named by their place.
    TypeNames(Vec<UnexpectedType>),
    /// Faults of the patch: values without a place in the schema, repeated keys.
    Patch(Vec<Fault>),
    /// Paths of atomic lists, maps and structs in the patch.
    Atomic(Vec<String>),
    /// The live object has something that cannot be merged with.
    Live(Fault),
    /// The patch has more than 256 levels.
    TooDeep,
    /// The arena is full.
    Memory,
}

/// An object with another type name than its place has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnexpectedType {
    pub found: String,
    pub expected: String,
}

/// What is wrong at which path, such as `.spec.containers[name="a"]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub path: String,
    pub message: String,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    /// The same fault, seen from further up.
    #[must_use]
    pub(super) fn within(mut self, parent: &str) -> Self {
        self.path.insert_str(0, parent);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.path {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject(found) => write!(f, "must evaluate to Object but got {found}"),
            Self::TypeNames(unexpected) => {
                f.write_str("type mismatch: ")?;
                for (index, UnexpectedType { found, expected }) in unexpected.iter().enumerate() {
                    if index > 0 {
                        f.write_str("\n")?;
                    }
                    write!(
                        f,
                        "unexpected type name {found:?}, expected {expected:?}, which matches field name path from root \
                         Object type"
                    )?;
                }
                Ok(())
            }
            Self::Patch(faults) => {
                f.write_str("error applying patch: failed to convert patch object to typed object: ")?;
                match &faults[..] {
                    [one] => write!(f, "{one}"),
                    several => {
                        f.write_str("errors:")?;
                        several.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
                    }
                }
            }
            Self::Atomic(paths) => write!(
                f,
                "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
                paths.join(", ")
            ),
            Self::Live(fault) => {
                write!(f, "error applying patch: failed to convert original object to typed object: {fault}")
            }
            Self::TooDeep => {
                write!(f, "error applying patch: the configuration is nested deeper than {MAX_DEPTH} levels")
            }
            Self::Memory => f.write_str("the merge needs more memory than one request may use"),
        }
    }
}

impl std::error::Error for MergeError {}
