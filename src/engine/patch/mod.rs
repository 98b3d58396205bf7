//! JSON Patch exactly as the API server applies it.
//!
//! The API server applies the patches of webhooks and of MutatingAdmissionPolicy with `evanphx/json-patch` 4.13, which differs
//! from RFC 6902: `replace` of an absent member adds it, `-1` is the last index, leading zeros are accepted, a missing `value`
//! is null, only `replace` and `test` take the whole document, `copy` of an absent member gives null, `test` of an absent member
//! against null passes, and of a path that does not start with `/` everything before the first `/` is ignored. A patch that is
//! applied here must give what it gives there, so all of this is copied, down to what counts as equal for `test`: there,
//! scalars are compared as they are written.
//!
//! One thing is stricter: an operation that cannot be read, such as one with an unknown `op`, is an error before any is applied,
//! even if a `test` before it would fail. And one is not followed: the library keeps apart a null that the document had and one
//! that the patch has put there, so a `test` of an object or list around a null of the same patch can fail or crash there only.

mod apply;
mod equality;
mod error;
mod operation;
mod pointer;
mod tree;

#[cfg(test)]
mod tests;

pub use apply::apply;
pub use error::{Cause, PatchError};
pub use operation::{Operation, parse_operations, parse_patch, write_operations};
pub use pointer::escape_key;

/// Most operations of one patch: what the API server takes of a client's patch (`maxJSONPatchOperations` in
/// `pkg/endpoints/handlers/patch.go`). It sets no limit to a webhook's, but a longer one is a fault.
pub const MAX_OPERATIONS: usize = 10_000;

/// Most bytes of a patch as written, before base64: the API server's limit for a request body. More could only make an object
/// that no client could have sent; etcd refuses objects at half of it.
pub const MAX_PATCH_BYTES: usize = 3 * 1024 * 1024;

/// Most bytes that the `copy` operations of one patch may add: the API server's `JSONPatchMaxCopyBytes`
/// (`pkg/server/config.go`), by which it refuses webhooks' patches too.
pub const MAX_COPY_BYTES: usize = 3 * 1024 * 1024;

/// Most items of lists that the insertions and removals of one patch may move: ten thousand operations in front of ten thousand items. In
/// front of the longest list that an object can hold they would take half a minute, in which nobody looks at the time.
const MAX_MOVES: usize = 100_000_000;
