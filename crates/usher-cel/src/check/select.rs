//! Selection of fields: `a.b`, `a.?b`, `has(a.b)`.

use super::Checker;
use super::static_type::{ObjectType, Type};
use crate::ast::ExprId;
use crate::compile::nearest;

impl Checker<'_> {
    /// The type of `operand.field`; the operand is checked.
    pub(super) fn select(&mut self, id: ExprId, operand: ExprId, field: &str, optional: bool) -> Type {
        let operand = self.found.apply(self.ty(operand));
        let (target, optional) = match operand {
            Type::Optional(held) => ((*held).clone(), true),
            other => (other, optional),
        };
        let ty = match &target {
            Type::Map(entry) => entry.1.clone(),
            Type::Object(object) => self.field(id, object, field),
            Type::Var(_) => {
                self.found.assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            // cel-go knows these as structures without knowing their fields.
            Type::Opaque(name) if !matches!(*name, "net.IP" | "net.CIDR") => {
                self.report(id, format!("unexpected failed resolution of '{name}'"), no_fields(name));
                Type::Error
            }
            target => {
                if !target.is_dyn_or_error() {
                    let name = target.in_messages();
                    let message = format!("type '{name}' does not support field selection");
                    self.report(id, message, no_fields(&name));
                }
                Type::Dyn
            }
        };
        let ty = self.found.apply(&ty);
        if optional { Type::optional(ty) } else { ty }
    }

    fn field(&mut self, id: ExprId, object: &ObjectType, name: &str) -> Type {
        if let Some(ty) = object.field(name) {
            return ty;
        }
        self.report(id, format!("undefined field '{name}'"), Some(field_help(object, name)));
        Type::Error
    }
}

/// As many fields are named where none is near.
const SHOWN_FIELDS: usize = 16;

/// Which field may have been meant.
pub(super) fn field_help(object: &ObjectType, name: &str) -> String {
    match nearest(name, object.field_names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let names: Vec<&str> = object.field_names().collect();
            match names.get(..SHOWN_FIELDS) {
                Some(shown) if names.len() > SHOWN_FIELDS => {
                    format!("the fields are {} and {} more", shown.join(", "), names.len() - SHOWN_FIELDS)
                }
                _ => format!("the fields are {}", names.join(", ")),
            }
        }
    }
}

fn no_fields(name: &str) -> Option<String> {
    Some(format!("a value of type {name} has no fields; call one of its functions"))
}
