//! `applyConfiguration` as MutatingAdmissionPolicy has it: a partial object merged into the current one by the schema of its kind.
//!
//! ```text
//! Object{…} ── configuration (type names, JSON) ──► patch ── validate (schema, atomics) ── merge ──► operations of a JSON Patch
//! ```
//!
//! What is merged how follows the API server (`pkg/admission/plugin/policy/mutating/patch/smd.go`) and structured-merge-diff 6.4:
//! structs and maps by field, lists of type `map` by their keys, sets by value, everything else is overwritten; nothing is removed.
//! A patch may have neither unknown fields of a built-in kind, nor two items of one key, nor anything atomic, which it would
//! replace as a whole. The live object may have repeated keys: all of them give way to the item of the patch.
//!
//! Deliberate differences: kinds without a built-in schema get a deduced one, in which maps are granular and lists are atomic,
//! where the API server uses the CRD's, or fails while it has none. And maps in lists (`[{'name': 'x'}]`) are maps here; there
//! only typed objects are.

mod configuration;
mod error;
mod items;
mod lists;
mod path;
mod schema;
mod validate;
mod walk;

#[cfg(test)]
mod tests;

use usher_cel::eval::{Arena, Value};

use super::patch::Operation;
use super::request::GroupVersionKind;
use schema::Root;

pub use error::MergeError;

/// How deep a patch may be: more than any built-in kind but those that contain themselves.
const MAX_DEPTH: usize = 256;

/// What a merge comes to.
#[derive(Debug)]
pub struct Merged<'a> {
    /// The object afterwards; it shares what was not touched.
    pub object: Value<'a>,
    /// What makes it of the object before: only the places that change. None when the object has all of the patch already.
    pub operations: Vec<Operation<'a>>,
}

/// Merges what an `applyConfiguration` expression gave into the current object. Group, version and kind are those of the object
/// (`kind` where it does not say), whatever the patch says.
///
/// # Errors
/// See [`MergeError`].
pub fn apply_configuration<'a>(
    live: Value<'a>,
    configuration: &Value<'a>,
    kind: GroupVersionKind<'_>,
    arena: &'a Arena,
) -> Result<Merged<'a>, MergeError> {
    configuration::check_type_names(configuration)?;
    let patch = configuration::to_json(configuration, arena)?;
    let root = root(&live, kind);
    validate::check(root, &patch)?;
    walk::merge(root.ty, live, patch, arena)
}

fn root(live: &Value<'_>, kind: GroupVersionKind<'_>) -> Root {
    let text = |name: &str| match live {
        Value::Map(map) => match map.field(name) {
            Some(Value::String(text)) if !text.is_empty() => Some(*text),
            _ => None,
        },
        _ => None,
    };
    if let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) {
        return Root::of(api_version, kind);
    }
    match kind.group {
        "" => Root::of(kind.version, kind.kind),
        group => Root::of(&format!("{group}/{}", kind.version), kind.kind),
    }
}
