//! List, map and struct literals.

use super::Checker;
use super::select::field_help;
use super::static_type::Type;
use super::substitution::most_general;
use crate::ast::{Expr, ExprId, MapEntry, Span, StructField};

const ONE_TYPE: &str = "elements of a literal must have one type; wrap each one in dyn()";
const OPTIONAL: &str = "what stands behind `?` must be an optional, as optional.of(x) or x.?field";

impl<'s> Checker<'s> {
    pub(super) fn list(&mut self, id: ExprId, elements: &[ExprId], optional: &[u32]) {
        let mut joined = None;
        for (index, element) in (0_u32..).zip(elements) {
            self.check(*element);
            let ty = self.entry_type(*element, optional.contains(&index));
            joined = Some(self.join(joined, ty));
        }
        let item = joined.unwrap_or_else(|| self.found.fresh());
        self.set(id, Type::list(item));
        self.note_literal(id);
    }

    pub(super) fn map(&mut self, id: ExprId, entries: &[MapEntry]) {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            self.check(entry.key);
            keys = Some(self.join(keys, self.ty(entry.key).clone()));
            self.check(entry.value);
            let value = self.entry_type(entry.value, entry.optional);
            values = Some(self.join(values, value));
        }
        let key = keys.unwrap_or_else(|| self.found.fresh());
        let value = values.unwrap_or_else(|| self.found.fresh());
        self.set(id, Type::map(key, value));
        self.note_literal(id);
    }

    pub(super) fn structure(&mut self, id: ExprId, type_name: &str, fields: &'s [StructField]) {
        let name = type_name.trim_start_matches('.');
        let mutation = self.env.has_mutation_types();
        let ty = match name {
            "JSONPatch" if mutation => Type::object(
                name,
                [("op", Type::String), ("path", Type::String), ("from", Type::String), ("value", Type::Dyn)],
            ),
            _ if mutation && (name == "Object" || name.starts_with("Object.")) => Type::open_object(name, []),
            _ => {
                match self.env.candidates(type_name).find_map(|name| super::type_constant(&name)) {
                    Some(known) => self.report(id, format!("'{known}' is not a message type"), None),
                    None => self.undeclared(id, type_name, None),
                }
                self.set(id, Type::Error);
                return;
            }
        };
        self.set(id, ty.clone());
        let Type::Object(object) = ty else { return };
        for field in fields {
            self.check(field.value);
            let caret = colon_after(self.ast.source(), field.span);
            let Some(wanted) = object.field(&field.name) else {
                let message = format!("undefined field '{}'", field.name);
                let help = Some(field_help(&object, &field.name));
                self.issues.report_at(field.span, caret, message, help);
                continue;
            };
            let value = self.entry_type(field.value, field.optional);
            if !self.found.assignable(&wanted, &value) {
                let message = format!(
                    "expected type of field '{}' is '{}' but provided type is '{}'",
                    field.name,
                    wanted.in_messages(),
                    self.found.finish(&value).in_messages()
                );
                self.issues.report_at(field.span, caret, message, None);
            }
        }
    }

    /// Kubernetes refuses literals of mixed types, to the letter: `dyn` and `string` are two types.
    pub(super) fn homogeneous_literals(&mut self) {
        let ast: &'s crate::ast::Ast = self.ast;
        for id in std::mem::take(&mut self.literals) {
            match ast.expr(id) {
                Expr::List { elements, optional } if elements.len() > 1 => {
                    let optional = |index: usize| {
                        optional.iter().any(|known| usize::try_from(*known).is_ok_and(|known| known == index))
                    };
                    let elements = elements.iter().enumerate().map(|(index, id)| (*id, optional(index)));
                    self.same_types(elements, true);
                }
                Expr::Map { entries } if entries.len() > 1 => {
                    self.same_types(entries.iter().map(|entry| (entry.key, false)), false);
                    self.same_types(entries.iter().map(|entry| (entry.value, entry.optional)), false);
                }
                _ => {}
            }
        }
    }

    fn same_types(&mut self, parts: impl Iterator<Item = (ExprId, bool)>, only_first: bool) {
        let mut wanted: Option<Type> = None;
        for (id, optional) in parts {
            let ty = match self.found.finish(self.ty(id)) {
                Type::Optional(held) if optional => (*held).clone(),
                ty => ty,
            };
            match &wanted {
                None => wanted = Some(ty),
                Some(wanted) if *wanted == ty => {}
                Some(wanted) => {
                    let wanted = wanted.clone();
                    self.mismatch(id, &wanted, &ty, ONE_TYPE);
                    if only_first {
                        return;
                    }
                }
            }
        }
    }

    fn note_literal(&mut self, id: ExprId) {
        if self.mixed_literals == 0 {
            self.literals.push(id);
        }
    }

    /// The type of a part of a literal; of an optional one, what it holds. cel-go looks at the type as it was found, before unknown types in
    /// it became known.
    fn entry_type(&mut self, id: ExprId, optional: bool) -> Type {
        match self.ty(id).clone() {
            Type::Optional(held) if optional => (*held).clone(),
            Type::Dyn if optional => {
                if self.mixed_literals == 0 {
                    self.unwrapped.push(id);
                }
                Type::Dyn
            }
            ty => {
                if optional {
                    self.mismatch(id, &Type::optional(ty.clone()), &ty, OPTIONAL);
                }
                ty
            }
        }
    }

    /// Optional parts of literals of which it is not known whether they are optionals. cel-go's checker lets them pass, and a validator behind it
    /// crashes, except among the arguments of `format`, which it does not look at.
    pub(super) fn optional_parts(&mut self) {
        for id in std::mem::take(&mut self.unwrapped) {
            self.mismatch(id, &Type::optional(Type::Dyn), &Type::Dyn, OPTIONAL);
        }
    }

    fn join(&mut self, joined: Option<Type>, next: Type) -> Type {
        match joined {
            None => next,
            Some(before) if self.found.assignable(&before, &next) => most_general(before, next),
            Some(_) => Type::Dyn,
        }
    }
}

/// Where the colon behind a field's name stands: cel-go points there.
fn colon_after(source: &str, name: Span) -> u32 {
    let start = name.end as usize;
    let at = source.get(start..).and_then(|rest| rest.find(':')).map_or(name.start as usize, |at| start + at);
    u32::try_from(at).unwrap_or(name.start)
}
