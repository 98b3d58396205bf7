//! The declared fields of `request`: one that is misspelt would otherwise show only when a request comes.

use usher_cel::ast::{Ast, Expr, ExprId, Span};

use super::expressions::Dialect;

/// apiserver `cel/compile.go`, `BuildRequestType`.
const REQUEST: &[&str] = &[
    "kind",
    "resource",
    "subResource",
    "requestKind",
    "requestResource",
    "requestSubResource",
    "name",
    "namespace",
    "operation",
    "userInfo",
    "dryRun",
    "options",
];
const KIND: &[&str] = &["group", "version", "kind"];
const RESOURCE: &[&str] = &["group", "version", "resource"];
const USER_INFO: &[&str] = &["username", "uid", "groups", "extra"];
/// Usher's aliases of `object` and `oldObject`.
const OBJECTS: &[&str] = &["object", "oldObject"];

/// Selections of fields that `request` does not have: place, message and help.
pub(super) fn unknown(ast: &Ast, dialect: Dialect) -> Vec<(Span, String, Option<String>)> {
    let mut found = Vec::new();
    for node in ast.nodes() {
        let Expr::Select { operand, field, .. } = &node.expr else { continue };
        let Some(known) = fields_of(ast, *operand) else { continue };
        let is_request = std::ptr::eq(known, REQUEST);
        let alias = is_request && OBJECTS.contains(&&**field);
        if known.contains(&&**field) || alias && dialect == Dialect::RoutingRule {
            continue;
        }
        let help = match &**field {
            _ if alias => Some(format!("in a policy of Kubernetes it is called `{field}`")),
            "uid" if is_request => Some("the uid of a review is no input of a rule".to_owned()),
            _ => usher_cel::compile::nearest(field, known.iter().copied())
                .map(|near| format!("did you mean `{near}`?"))
                .or_else(|| Some(format!("the fields are {}", known.join(", ")))),
        };
        // cel-go's text.
        found.push((node.span, format!("undefined field '{field}'"), help));
    }
    found
}

/// The fields of what an expression gives, if it is `request` or one of its structures.
fn fields_of(ast: &Ast, id: ExprId) -> Option<&'static [&'static str]> {
    match ast.expr(id) {
        Expr::Ident(name) if matches!(&**name, "request" | ".request") => Some(REQUEST),
        Expr::Select { operand, field, test_only: false } => {
            let parent = ast.expr(*operand);
            if !matches!(parent, Expr::Ident(name) if matches!(&**name, "request" | ".request")) {
                return None;
            }
            match &**field {
                "kind" | "requestKind" => Some(KIND),
                "resource" | "requestResource" => Some(RESOURCE),
                "userInfo" => Some(USER_INFO),
                _ => None,
            }
        }
        _ => None,
    }
}
