//! One text form for both trees; ids and places are left out.

use cel::common::ast::{EntryExpr, Expr as TheirExpr, IdedExpr, LiteralValue};
use usher_cel::ast::{Ast, Expr, ExprId, Literal};

pub(crate) fn of_ours(ast: &Ast) -> String {
    ours(ast, ast.root())
}

pub(crate) fn of_reference(tree: &IdedExpr) -> String {
    theirs(tree)
}

fn ours(ast: &Ast, id: ExprId) -> String {
    let sub = |id: &ExprId| ours(ast, *id);
    match ast.expr(id) {
        Expr::Literal(value) => match value {
            Literal::Null => "null".to_owned(),
            Literal::Bool(value) => value.to_string(),
            Literal::Int(value) => value.to_string(),
            Literal::Uint(value) => format!("{value}u"),
            Literal::Double(value) => double(*value),
            Literal::String(value) => format!("{value:?}"),
            Literal::Bytes(value) => format!("b{value:?}"),
        },
        Expr::Ident(name) => format!("${name}"),
        Expr::Select { operand, field, test_only } => select(&sub(operand), field, *test_only),
        Expr::Call { function, target, args } => {
            call(function, target.as_ref().map(sub), args.iter().map(sub).collect())
        }
        Expr::List { elements, optional } => {
            let is_optional = |index| optional.contains(&u32::try_from(index).expect("short list"));
            list(
                elements
                    .iter()
                    .map(sub)
                    .enumerate()
                    .map(|(index, item)| mark(is_optional(index), item))
                    .collect(),
            )
        }
        Expr::Map { entries } => map(entries
            .iter()
            .map(|entry| mark(entry.optional, format!("{}: {}", sub(&entry.key), sub(&entry.value))))
            .collect()),
        Expr::Struct { type_name, fields } => message(
            type_name,
            fields
                .iter()
                .map(|field| mark(field.optional, format!("{}: {}", field.name, sub(&field.value))))
                .collect(),
        ),
        Expr::Comprehension(fold) => comprehension(
            [&fold.iter_var, fold.iter_var2.as_deref().unwrap_or("-"), &fold.accu_var],
            [&fold.iter_range, &fold.accu_init, &fold.loop_condition, &fold.loop_step, &fold.result].map(sub),
        ),
    }
}

fn theirs(tree: &IdedExpr) -> String {
    match &tree.expr {
        TheirExpr::Unspecified => "unspecified".to_owned(),
        TheirExpr::Literal(value) => match value {
            LiteralValue::Null => "null".to_owned(),
            LiteralValue::Boolean(value) => value.inner().to_string(),
            LiteralValue::Int(value) => value.inner().to_string(),
            LiteralValue::UInt(value) => format!("{}u", value.inner()),
            LiteralValue::Double(value) => double(*value.inner()),
            LiteralValue::String(value) => format!("{:?}", value.inner()),
            LiteralValue::Bytes(value) => format!("b{:?}", value.inner()),
        },
        TheirExpr::Ident(name) => format!("${name}"),
        TheirExpr::Select(part) => select(&theirs(&part.operand), &part.field, part.test),
        TheirExpr::Call(part) => {
            call(&part.func_name, part.target.as_deref().map(theirs), part.args.iter().map(theirs).collect())
        }
        TheirExpr::List(part) => list(
            part.elements
                .iter()
                .map(theirs)
                .enumerate()
                .map(|(index, item)| mark(part.optional_indices.contains(&index), item))
                .collect(),
        ),
        TheirExpr::Map(part) => map(part.entries.iter().map(|item| entry(&item.expr)).collect()),
        TheirExpr::Struct(part) => {
            message(&part.type_name, part.entries.iter().map(|item| entry(&item.expr)).collect())
        }
        TheirExpr::Comprehension(fold) => comprehension(
            [&fold.iter_var, fold.iter_var2.as_deref().unwrap_or("-"), &fold.accu_var],
            [&fold.iter_range, &fold.accu_init, &fold.loop_cond, &fold.loop_step, &fold.result].map(theirs),
        ),
    }
}

fn entry(item: &EntryExpr) -> String {
    match item {
        EntryExpr::MapEntry(item) => {
            mark(item.optional, format!("{}: {}", theirs(&item.key), theirs(&item.value)))
        }
        EntryExpr::StructField(item) => {
            mark(item.optional, format!("{}: {}", item.field, theirs(&item.value)))
        }
    }
}

/// By its bits: -0.0 is not 0.0.
fn double(value: f64) -> String {
    format!("{value:?}#{:x}", value.to_bits())
}

fn mark(optional: bool, item: String) -> String {
    if optional { format!("?{item}") } else { item }
}

fn select(operand: &str, field: &str, test_only: bool) -> String {
    if test_only { format!("has({operand}.{field:?})") } else { format!("{operand}.{field:?}") }
}

fn call(function: &str, target: Option<String>, args: Vec<String>) -> String {
    let target = target.map_or(String::new(), |target| format!("({target})."));
    format!("{target}{function}({})", args.join(", "))
}

fn list(elements: Vec<String>) -> String {
    format!("[{}]", elements.join(", "))
}

fn map(entries: Vec<String>) -> String {
    format!("{{{}}}", entries.join(", "))
}

fn message(type_name: &str, fields: Vec<String>) -> String {
    format!("{type_name}{{{}}}", fields.join(", "))
}

fn comprehension(names: [&str; 3], parts: [String; 5]) -> String {
    format!("fold({}; {})", names.join(", "), parts.join("; "))
}
