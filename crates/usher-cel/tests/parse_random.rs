//! Properties of the parser that hold for any text.

use proptest::prelude::*;
use usher_cel::ast::{Ast, Expr, ExprId, Span};
use usher_cel::parse::parse;

/// Pieces that texts are put together from: tokens, broken tokens, and what may stand between.
const PIECES: &[&str] = &[
    "a",
    "b.c",
    "x",
    "_1",
    "1",
    "0x1F",
    "2u",
    "1.5",
    "1e3",
    ".5",
    "9223372036854775808",
    "1e999",
    "'s'",
    "\"é\"",
    "r'\\'",
    "b'\\xff'",
    "'''t\n'''",
    "'\\n'",
    "'\\q'",
    "'\\ud800'",
    "b'\\u0041'",
    "'",
    "\"\"\"",
    "`a/b`",
    "`",
    "true",
    "null",
    "in",
    "for",
    "and",
    "not",
    "&&",
    "||",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "=",
    "&",
    "|",
    "?",
    ":",
    ",",
    ".",
    ".?",
    "(",
    ")",
    "[",
    "[?",
    "]",
    "{",
    "{?",
    "}",
    "T{",
    "f(",
    ".all(x,",
    ".exists(i, v,",
    ".map(x,",
    ".filter(x,",
    ".optMap(x,",
    ".sortBy(x,",
    ".transformMap(k, v,",
    "has(",
    "a.b)",
    "__result__",
    "//c\n",
    "\\",
    "$",
    "é",
    "\u{a0}",
    "\u{1f600}",
    " ",
    "\n",
    "\r\n",
    "\t",
];

fn text_of_pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

/// Expressions that are right.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(
        &["a", "b.c", ".d", "1", "-2", "3u", "1.5", "'é'", "b'x'", "true", "null", "a.`b/c`"][..],
    );
    leaf.prop_map(str::to_owned).prop_recursive(6, 60, 4, |inner| {
        let many = prop::collection::vec(inner.clone(), 0..4).prop_map(|items| items.join(", "));
        let operator = prop::sample::select(&["&&", "||", "==", "<", "in", "+", "-", "*", "%"][..]);
        let call = prop::sample::select(
            &["all(x, ", "exists(i, v, ", "map(x, ", "filter(x, ", "optMap(x, ", "sortBy(x, ", "f("][..],
        );
        prop_oneof![
            (inner.clone(), operator, inner.clone())
                .prop_map(|(a, operator, b)| format!("({a}) {operator} ({b})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a}) ? ({b}) : {c}")),
            inner.clone().prop_map(|a| format!("!({a}).b")),
            (inner.clone(), call, inner.clone()).prop_map(|(a, call, b)| format!("[{a}].{call}{b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[?{b}].?c")),
            many.clone().prop_map(|items| format!("[{items}]")),
            many.prop_map(|items| format!("g({items})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{{{a}: {b}, ?'k': T{{f: {b}}}}}")),
        ]
    })
}

fn check(source: &str) -> Result<(), TestCaseError> {
    match parse(source) {
        Ok(ast) => check_tree(&ast, source),
        Err(issues) => {
            prop_assert!(!issues.0.is_empty());
            for issue in &issues.0 {
                check_span(issue.span, source)?;
                prop_assert!(!issue.message.is_empty());
            }
            prop_assert!(issues.to_string().starts_with("ERROR: <input>:"));
            Ok(())
        }
    }
}

fn check_tree(ast: &Ast, source: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!(ast.source(), source);
    let mut has_parent = vec![false; ast.nodes().len()];
    for (index, node) in ast.nodes().iter().enumerate() {
        check_span(node.span, source)?;
        prop_assert!(node.span.start < node.span.end, "a node stands for some text");
        prop_assert!(source.is_char_boundary(node.caret as usize) && (node.caret as usize) < source.len());
        for child in children(&node.expr) {
            let child = child.0 as usize;
            prop_assert!(child < index, "children come first");
            prop_assert!(!std::mem::replace(&mut has_parent[child], true), "one parent");
        }
    }
    let root = ast.root().0 as usize;
    prop_assert!(has_parent.iter().enumerate().all(|(index, has_parent)| *has_parent == (index != root)));
    Ok(())
}

fn check_span(span: Span, source: &str) -> Result<(), TestCaseError> {
    let (start, end) = (span.start as usize, span.end as usize);
    prop_assert!(
        start <= end && source.is_char_boundary(start) && source.is_char_boundary(end),
        "{:?}",
        span
    );
    Ok(())
}

fn children(expr: &Expr) -> Vec<ExprId> {
    match expr {
        Expr::Literal(_) | Expr::Ident(_) => Vec::new(),
        Expr::Select { operand, .. } => vec![*operand],
        Expr::Call { target, args, .. } => target.iter().chain(args).copied().collect(),
        Expr::List { elements, .. } => elements.clone(),
        Expr::Map { entries } => entries.iter().flat_map(|entry| [entry.key, entry.value]).collect(),
        Expr::Struct { fields, .. } => fields.iter().map(|field| field.value).collect(),
        Expr::Comprehension(fold) => {
            vec![fold.iter_range, fold.accu_init, fold.loop_condition, fold.loop_step, fold.result]
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_parsed_or_refused_with_places_in_it(source in "\\PC{0,60}") {
        check(&source)?;
    }

    #[test]
    fn any_bytes_are_parsed_or_refused_with_places_in_them(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn any_tokens_are_parsed_or_refused_with_places_in_them(source in text_of_pieces()) {
        check(&source)?;
    }

    #[test]
    fn right_expressions_are_parsed(source in expression()) {
        let ast = parse(&source).map_err(|issues| TestCaseError::fail(issues.to_string()))?;
        check_tree(&ast, &source)?;
    }

    #[test]
    fn what_is_cut_off_is_parsed_or_refused(source in expression(), at in any::<prop::sample::Index>()) {
        let mut end = at.index(source.len() + 1);
        while !source.is_char_boundary(end) {
            end -= 1;
        }
        check(&source[..end])?;
    }
}
