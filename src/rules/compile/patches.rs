//! Literal JSON Patches.

use serde_json::{Map, Value};

use super::findings::Findings;
use crate::api::{PatchOp, PatchOperation};
use crate::diagnostic::Code;

/// The patch as a JSON array. Checks what can be checked without the document.
pub(super) fn literal(operations: &[PatchOperation], field: &str, findings: &mut Findings) -> Box<str> {
    if operations.is_empty() {
        findings.error(
            Code::MissingField,
            field,
            "a patch without operations",
            "list at least one operation",
        );
    }
    findings.at_most(field, operations.len(), 256);
    let written = operations.iter().enumerate().map(|(index, operation)| {
        let field = format!("{field}[{index}]");
        check(operation, &field, findings);
        json(operation)
    });
    Value::Array(written.collect()).to_string().into()
}

fn check(operation: &PatchOperation, field: &str, findings: &mut Findings) {
    let name = name(operation.op);
    check_pointer(&operation.path, &format!("{field}.path"), findings);
    let takes_from = matches!(operation.op, PatchOp::Move | PatchOp::Copy);
    match &operation.from {
        Some(from) if takes_from => check_pointer(from, &format!("{field}.from"), findings),
        None if takes_from => findings.error(
            Code::PatchInvalid,
            field,
            format!("the operation {name} has no from"),
            "say where the value comes from",
        ),
        Some(_) => findings.error(
            Code::PatchInvalid,
            format!("{field}.from"),
            format!("the operation {name} takes nothing from elsewhere"),
            "leave from out, or use move or copy",
        ),
        None => {}
    }
    if operation.value.is_some() && (takes_from || operation.op == PatchOp::Remove) {
        findings.error(
            Code::PatchInvalid,
            format!("{field}.value"),
            format!("the operation {name} takes no value"),
            "leave value out",
        );
    }
    // Nobody can move a place into itself.
    if operation.op == PatchOp::Move
        && let Some(from) = &operation.from
        && operation.path.strip_prefix(from.as_str()).is_some_and(|rest| rest.starts_with('/'))
    {
        findings.error(
            Code::PatchInvalid,
            format!("{field}.path"),
            format!("`{}` lies inside `{from}`, which is being moved", operation.path),
            "move it somewhere else",
        );
    }
}

fn check_pointer(pointer: &str, field: &str, findings: &mut Findings) {
    if pointer.is_empty() {
        // The API server's library refuses it as well.
        let help = "name the field to change, such as `/metadata/labels/team`";
        findings.error(Code::PatchInvalid, field, "the whole object cannot be replaced", help);
    } else if !pointer.starts_with('/') {
        let message = format!("`{pointer}` is no JSON Pointer");
        findings.error(Code::PatchInvalid, field, message, &format!("begin with a slash: `/{pointer}`"));
    } else if pointer.split('~').skip(1).any(|after| !after.starts_with(['0', '1'])) {
        let message = format!("`{pointer}` has a `~` that is no escape of a JSON Pointer");
        findings.error(
            Code::PatchInvalid,
            field,
            message,
            "write `~0` for `~` and `~1` for `/` inside a key",
        );
    }
}

fn json(operation: &PatchOperation) -> Value {
    let mut json = Map::new();
    json.insert("op".into(), name(operation.op).into());
    json.insert("path".into(), operation.path.clone().into());
    if let Some(from) = &operation.from {
        json.insert("from".into(), from.clone().into());
    }
    if matches!(operation.op, PatchOp::Add | PatchOp::Replace | PatchOp::Test) {
        json.insert("value".into(), operation.value.clone().unwrap_or_default());
    }
    Value::Object(json)
}

fn name(op: PatchOp) -> &'static str {
    match op {
        PatchOp::Add => "add",
        PatchOp::Remove => "remove",
        PatchOp::Replace => "replace",
        PatchOp::Move => "move",
        PatchOp::Copy => "copy",
        PatchOp::Test => "test",
    }
}
