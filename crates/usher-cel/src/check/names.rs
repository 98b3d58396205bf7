//! Names: variables of comprehensions, declared variables, types.

use super::static_type::Type;
use super::{Checker, Choice};
use crate::ast::{Expr, ExprId, Span};

/// Segments of a declared name at most; longer selections need not be tried as names.
pub(crate) const MAX_NAME_SEGMENTS: usize = 4;

impl<'s> Checker<'s> {
    /// A name with as many of the following selections as make the longest declared one.
    pub(super) fn name(&mut self, id: ExprId, name: &'s str, spine: &mut Vec<ExprId>) {
        if let Some((_, ty)) = self.scopes.iter().rev().find(|(scoped, _)| *scoped == name) {
            let ty = ty.clone();
            self.set(id, ty);
            return;
        }
        let ast: &'s crate::ast::Ast = self.ast;
        let mut fields: Vec<&str> = Vec::new();
        for id in spine.iter().rev().take(MAX_NAME_SEGMENTS - 1) {
            match ast.expr(*id) {
                Expr::Select { field, test_only: false, .. } => fields.push(field),
                _ => break,
            }
        }
        for taken in (0..=fields.len()).rev() {
            let mut full = name.to_owned();
            for field in &fields[..taken] {
                full.push('.');
                full.push_str(field);
            }
            if let Some(ty) = self.declared(&full) {
                let resolved = if taken == 0 { id } else { spine[spine.len() - taken] };
                spine.truncate(spine.len() - taken);
                if taken > 0 {
                    self.choices[resolved.0 as usize] = Choice::Name(self.segments(&full));
                }
                self.set(resolved, ty);
                return;
            }
        }
        if self.declared_test(name, &fields, spine) {
            return;
        }
        let scoped = self.scopes.iter().map(|(name, _)| *name).filter(|name| !name.starts_with(['@', '#']));
        let help = self.did_you_mean(name, self.env.names().chain(scoped));
        self.undeclared(id, name, help);
        self.set(id, Type::Error);
    }

    /// `has(variables.x)`: of a structure that only exists as its declared fields, each field is there.
    fn declared_test(&mut self, name: &str, fields: &[&str], spine: &mut Vec<ExprId>) -> bool {
        let Some(id) = spine.iter().rev().nth(fields.len()).copied() else { return false };
        let Expr::Select { field, test_only: true, .. } = self.ast.expr(id) else { return false };
        let full = [&[name], fields, &[&**field]].concat().join(".");
        if self.declared(&full).is_none() {
            return false;
        }
        spine.truncate(spine.len() - fields.len() - 1);
        // The test is free; what is tested is a field of what stands before it.
        self.choices[id.0 as usize] = Choice::Name(self.segments(&full).saturating_sub(1));
        self.set(id, Type::Bool);
        true
    }

    /// What reading a name costs: each segment of a variable, since Kubernetes knows none with dots, and selects fields; 1 for a type.
    fn segments(&self, name: &str) -> u32 {
        if self.env.candidates(name).any(|candidate| self.env.variable(&candidate).is_some()) {
            u32::try_from(name.split('.').count()).unwrap_or(u32::MAX)
        } else {
            1
        }
    }

    fn declared(&self, name: &str) -> Option<Type> {
        self.env.candidates(name).find_map(|candidate| match self.env.variable(&candidate) {
            Some(variable) => Some(variable.ty.clone()),
            None => type_constant(&candidate).map(named_type),
        })
    }

    pub(super) fn undeclared(&mut self, id: ExprId, name: &str, help: Option<String>) {
        let message = format!("undeclared reference to '{name}' (in container '{}')", self.env.container());
        self.issues.report_at(self.name_span(id, name), self.ast.caret(id), message, help);
    }

    /// Where the name itself stands: of a call, between the receiver and the arguments.
    fn name_span(&self, id: ExprId, name: &str) -> Span {
        let whole = self.ast.span(id);
        let Expr::Call { target, args, .. } = self.ast.expr(id) else { return whole };
        let start = target.map_or(whole.start, |target| self.ast.span(target).end);
        let end = args.first().map_or(whole.end, |arg| self.ast.span(*arg).start);
        match (Span { start, end }).text(self.ast.source()).find(name) {
            Some(at) => Span::new(start as usize + at, start as usize + at + name.len()),
            None => whole,
        }
    }
}

/// Names of types that stand for values of type `type`.
pub(crate) fn type_constant(name: &str) -> Option<&'static str> {
    const TYPES: &[&str] = &[
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "type",
        "uint",
        "optional_type",
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "net.IP",
        "net.CIDR",
    ];
    TYPES.iter().copied().find(|known| *known == name)
}

/// The type of a type's name as a value.
fn named_type(name: &'static str) -> Type {
    Type::type_of(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "int" => Type::Int,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "null_type" => Type::Null,
        "string" => Type::String,
        "type" => Type::Type(None),
        "uint" => Type::Uint,
        "optional_type" => Type::optional(Type::Dyn),
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.Duration" => Type::Duration,
        other => Type::Opaque(other),
    })
}
