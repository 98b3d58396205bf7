//! Whether expressions tell kinds apart, so that what is wrong for one kind may never be evaluated for it.

use usher_cel::ast::Expr;
use usher_cel::parse::parse;

use super::written::Written;
use crate::diagnostic::Diagnostic;

/// Fields that say which kind an object is of, of `request` and of objects.
const KIND_FIELDS: [&str; 5] = ["kind", "resource", "requestKind", "requestResource", "apiVersion"];

/// Whether any expression asks for the kind or the resource.
pub(super) fn look_at_kinds(written: &Written<'_>) -> bool {
    written.expressions.iter().filter_map(|expression| parse(expression.source).ok()).any(|ast| {
        ast.nodes().iter().any(|node| match &node.expr {
            Expr::Select { field, .. } => KIND_FIELDS.contains(&&**field),
            _ => false,
        })
    })
}

/// Whether a finding is about a question: `has(object.spec.template)`, `object.spec.?template`. For a kind without the field the answer is no, and what
/// follows is for other kinds.
pub(super) fn asks_first(finding: &Diagnostic, source: &str) -> bool {
    let Some(text) = finding.text.as_ref().and_then(|text| source.get(text.span.clone())) else {
        return false;
    };
    let Some(field) =
        finding.message.strip_prefix("undefined field '").and_then(|rest| rest.strip_suffix('\''))
    else {
        return false;
    };
    let Some((before, _)) = text.rsplit_once(field) else { return false };
    text.starts_with("has(") || before.trim_end().ends_with('?')
}
