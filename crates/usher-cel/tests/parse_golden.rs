//! Our parser against recorded trees of cel-go 0.29.2, with the place of every node. `parse_golden/main.go` made them:
//! `jq .expr cel-go-0.29.2.jsonl | go run main.go loc` in a module with `github.com/google/cel-go@v0.29.2`.

use serde_json::Value;
use usher_cel::ast::{Ast, Expr, ExprId, Literal, Position};
use usher_cel::parse::parse;

const RECORDED: &str = include_str!("parse_golden/cel-go-0.29.2.jsonl");

#[test]
fn trees_and_places_are_those_of_cel_go() {
    let mut differences = Vec::new();
    let mut count = 0;
    for line in RECORDED.lines() {
        let row: Value = serde_json::from_str(line).expect("a row is JSON");
        let expression = row["expr"].as_str().expect("a row has an expression");
        let theirs = row["tree"].as_str();
        let ours = parse(expression).map(|ast| render(&ast, ast.root()));
        count += 1;
        if ours.as_deref().ok() != theirs {
            let ours = ours.unwrap_or_else(|issues| issues.to_string());
            differences
                .push(format!("{expression:?}\n  ours   {ours}\n  cel-go {}", theirs.unwrap_or("refuses")));
        }
    }
    assert!(count > 300, "only {count} rows");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn render(ast: &Ast, id: ExprId) -> String {
    let Position { line, column } = Position::of(ast.source(), ast.caret(id));
    format!("{}@{line}:{column}", render_expr(ast, ast.expr(id)))
}

fn render_expr(ast: &Ast, expr: &Expr) -> String {
    let sub = |id: &ExprId| render(ast, *id);
    let all = |ids: &[ExprId]| ids.iter().map(sub).collect::<Vec<_>>().join(",");
    let mark = |optional: bool| if optional { "?" } else { "" };
    match expr {
        Expr::Literal(Literal::Null) => "null".to_owned(),
        Expr::Literal(Literal::Bool(value)) => value.to_string(),
        Expr::Literal(Literal::Int(value)) => value.to_string(),
        Expr::Literal(Literal::Uint(value)) => format!("{value}u"),
        Expr::Literal(Literal::Double(value)) => format!("d{:x}", value.to_bits()),
        Expr::Literal(Literal::String(value)) => quote(value),
        Expr::Literal(Literal::Bytes(value)) => {
            value.iter().fold("b".to_owned(), |text, byte| format!("{text}{byte:02x}"))
        }
        Expr::Ident(name) => format!("${name}"),
        Expr::Select { operand, field, test_only } => {
            format!("{}.{}{}", sub(operand), quote(field), if *test_only { "~" } else { "" })
        }
        Expr::Call { function, target, args } => {
            let target = target.as_ref().map_or(String::new(), |target| format!("({}).", sub(target)));
            format!("{target}{function}({})", all(args))
        }
        Expr::List { elements, optional } => format!("[{}]{optional:?}", all(elements)),
        Expr::Map { entries } => {
            let entries: Vec<_> = entries
                .iter()
                .map(|entry| format!("{}{}:{}", mark(entry.optional), sub(&entry.key), sub(&entry.value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Expr::Struct { type_name, fields } => {
            let fields: Vec<_> = fields
                .iter()
                .map(|field| format!("{}{}:{}", mark(field.optional), field.name, sub(&field.value)))
                .collect();
            format!("{type_name}{{{}}}", fields.join(","))
        }
        Expr::Comprehension(fold) => {
            let parts =
                [&fold.iter_range, &fold.accu_init, &fold.loop_condition, &fold.loop_step, &fold.result]
                    .map(sub);
            let var2 = fold.iter_var2.as_deref().unwrap_or("");
            format!("fold({},{var2},{};{})", fold.iter_var, fold.accu_var, parts.join(";"))
        }
    }
}

fn quote(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|char| match char {
            ' '..='~' if char != '"' && char != '\\' => char.to_string(),
            _ => format!("\\u{{{:x}}}", char as u32),
        })
        .collect();
    format!("\"{escaped}\"")
}
