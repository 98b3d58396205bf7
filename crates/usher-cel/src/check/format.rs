//! `format` on a literal text with a literal list: the clauses must fit the types. cel-go `ext/formatting.go`.

use super::Checker;
use super::static_type::Type;
use crate::ast::{Expr, ExprId, Literal};
use crate::library::FormatClause;

impl Checker<'_> {
    pub(super) fn format_clauses(&mut self) {
        for call in std::mem::take(&mut self.formats) {
            if let Err((id, message)) = self.format_clauses_of(call) {
                self.report(id, message, None);
            }
        }
    }

    fn format_clauses_of(&self, call: ExprId) -> Result<(), (ExprId, String)> {
        let Expr::Call { target: Some(target), args, .. } = self.ast.expr(call) else { return Ok(()) };
        let (Expr::Literal(Literal::String(format)), [args]) = (self.ast.expr(*target), &args[..]) else {
            return Ok(());
        };
        let Expr::List { elements, .. } = self.ast.expr(*args) else { return Ok(()) };
        let mut used = 0;
        let mut rest = &**format;
        while let Some(percent) = rest.find('%') {
            rest = &rest[percent + 1..];
            if let Some(after) = rest.strip_prefix('%') {
                rest = after;
                continue;
            }
            if rest.is_empty() {
                return Err((call, "unexpected end of string".to_owned()));
            }
            let element = *elements.get(used).ok_or_else(|| (call, format!("index {used} out of range")))?;
            let clause = FormatClause::parse(rest).map_err(|why| (call, why))?;
            self.fits_clause(element, &clause)?;
            rest = &rest[clause.length..];
            used += 1;
        }
        if elements.len() > used {
            let given = elements.len();
            let message =
                format!("too many arguments supplied to string.format (expected {used}, got {given})");
            return Err((call, message));
        }
        Ok(())
    }

    fn fits_clause(&self, id: ExprId, clause: &FormatClause) -> Result<(), (ExprId, String)> {
        let ty = self.found.finish(self.ty(id));
        let fits = match clause.verb {
            's' => !matches!(ty, Type::Optional(_) | Type::Object(_) | Type::Opaque(_)),
            'd' | 'o' => matches!(ty, Type::Int | Type::Uint),
            'f' | 'e' => matches!(ty, Type::Double | Type::String),
            'b' => matches!(ty, Type::Int | Type::Uint | Type::Bool),
            _ => matches!(ty, Type::Int | Type::Uint | Type::String | Type::Bytes),
        };
        if !fits && !ty.is_dyn_or_error() {
            return Err((id, clause.refusal(runtime_name(&ty).as_str())));
        }
        if clause.verb != 's' {
            return Ok(());
        }
        // Literals nest no deeper than the parser allows.
        match self.ast.expr(id) {
            Expr::List { elements, .. } => {
                elements.iter().try_for_each(|part| self.fits_clause(*part, clause))
            }
            Expr::Map { entries } => entries.iter().try_for_each(|entry| {
                self.fits_clause(entry.key, clause)?;
                self.fits_clause(entry.value, clause)
            }),
            _ => Ok(()),
        }
    }
}

/// The name without what the type is made of.
fn runtime_name(ty: &Type) -> String {
    match ty {
        Type::List(_) => "list".to_owned(),
        Type::Map(_) => "map".to_owned(),
        Type::Optional(_) => "optional_type".to_owned(),
        Type::Type(_) => "type".to_owned(),
        other => other.to_string(),
    }
}
