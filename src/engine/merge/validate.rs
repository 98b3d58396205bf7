//! Whether a patch is one that may be merged: structured-merge-diff's `typed/validate.go`, and MutatingAdmissionPolicy's rule about
//! what is atomic (`patch/smd.go`).

use std::collections::HashSet;

use usher_cel::eval::{Value, type_name};

use super::error::{Fault, MergeError};
use super::items::keys;
use super::path::Path;
use super::schema::{Items, ListType, MapType, Root, Scalar, Type, TypeId};

/// Most faults that are told at once.
const MOST: usize = 16;

/// Checks a patch, which holds nothing but JSON and is no deeper than a patch may be.
pub(super) fn check(root: Root, patch: &Value<'_>) -> Result<(), MergeError> {
    let mut faults = Vec::new();
    validate(root.ty, patch, Path::Root, &mut faults);
    if !faults.is_empty() {
        return Err(MergeError::Patch(faults));
    }
    let mut atomics = Vec::new();
    find_atomics(root, root.ty, patch, Path::Root, &mut atomics);
    if atomics.is_empty() { Ok(()) } else { Err(MergeError::Atomic(atomics)) }
}

fn validate(ty: TypeId, value: &Value<'_>, path: Path<'_>, faults: &mut Vec<Fault>) {
    if faults.len() >= MOST {
        return;
    }
    let ty = ty.resolve();
    let fault = match (value, ty) {
        (Value::Map(_), Type { map: Some(map), .. }) => return validate_map(map, value, path, faults),
        (Value::List(items), Type { list: Some(list), .. }) => {
            return validate_list(list, items, path, faults);
        }
        (Value::Map(_) | Value::List(_), Type { scalar: Some(scalar), map: None, .. }) => {
            expected(*scalar, value)
        }
        (_, Type { scalar: Some(scalar), .. }) if admits(*scalar, value) => return,
        (_, Type { map: Some(_), .. }) => format!("expected map, got {}", type_name(value)),
        (_, Type { scalar: Some(scalar), .. }) => expected(*scalar, value),
        _ => format!("expected list, got {}", type_name(value)),
    };
    faults.push(Fault { path: path.to_string(), message: fault });
}

fn validate_map(ty: &MapType, value: &Value<'_>, path: Path<'_>, faults: &mut Vec<Fault>) {
    let Value::Map(map) = value else { return };
    for entry in map.entries() {
        let Value::String(name) = entry.key else { continue };
        let path = Path::Field(&path, name);
        match ty.value_type(name) {
            Some(ty) => validate(ty, &entry.value, path, faults),
            None => {
                let message = "field not declared in schema".to_owned();
                faults.push(Fault { path: path.to_string(), message });
            }
        }
    }
}

fn validate_list(ty: &ListType, items: &[Value<'_>], path: Path<'_>, faults: &mut Vec<Fault>) {
    if let Items::Atomic = ty.items {
        for (index, item) in items.iter().enumerate() {
            validate(ty.element, item, Path::Index(&path, index), faults);
        }
        return;
    }
    let keys = match keys(ty, items) {
        Ok(keys) => keys,
        Err(fault) => return faults.push(fault.within(&path.to_string())),
    };
    let mut seen = HashSet::new();
    for (item, key) in items.iter().zip(&keys) {
        if !seen.insert(key) {
            let message = format!("duplicate entries for key {key}");
            faults.push(Fault { path: path.to_string(), message });
        }
        validate(ty.element, item, Path::Key(&path, key), faults);
    }
}

fn admits(scalar: Scalar, value: &Value<'_>) -> bool {
    match value {
        Value::String(_) => matches!(scalar, Scalar::String | Scalar::Untyped),
        Value::Int(_) | Value::Double(_) => matches!(scalar, Scalar::Numeric | Scalar::Untyped),
        Value::Bool(_) => matches!(scalar, Scalar::Boolean | Scalar::Untyped),
        _ => false,
    }
}

fn expected(scalar: Scalar, value: &Value<'_>) -> String {
    let wanted = match scalar {
        Scalar::String => "string",
        Scalar::Numeric => "numeric (int or float)",
        Scalar::Boolean => "boolean",
        Scalar::Untyped => "any scalar",
    };
    format!("expected {wanted}, got {}", type_name(value))
}

/// Paths of atomic lists, maps and structs. As there, what a map has under keys that are no declared fields is not looked at; in a
/// deduced schema, which declares next to nothing, it is.
fn find_atomics(root: Root, ty: TypeId, value: &Value<'_>, path: Path<'_>, atomics: &mut Vec<String>) {
    match (value, ty.resolve()) {
        (Value::Map(map), Type { map: Some(ty), .. }) => {
            if ty.atomic {
                atomics.push(path.to_string());
            }
            for entry in map.entries() {
                let Value::String(name) = entry.key else { continue };
                let declared = ty.field(name).map(|field| field.ty);
                let looked_at = if root.known { declared } else { declared.or(ty.element) };
                if let Some(inner) = looked_at {
                    find_atomics(root, inner, &entry.value, Path::Field(&path, name), atomics);
                }
            }
        }
        (Value::List(items), Type { list: Some(ty), .. }) => {
            if let Items::Atomic = ty.items {
                atomics.push(path.to_string());
            }
            for (index, item) in items.iter().enumerate() {
                find_atomics(root, ty.element, item, Path::Index(&path, index), atomics);
            }
        }
        _ => {}
    }
}
