use rstest::rstest;

use crate::ast::{Expr, ExprId};
use crate::parse::parse;

/// The texts of the nodes that the source itself names, children first.
fn texts(source: &str) -> Vec<String> {
    let ast = parse(source).expect("it parses");
    ast.nodes().iter().map(|node| node.span.text(source).to_owned()).collect()
}

#[rstest]
#[case::operators("a + b * c", &["a", "b", "c", "b * c", "a + b * c"])]
#[case::parentheses("(a + b) * c", &["a", "b", "a + b", "c", "(a + b) * c"])]
#[case::signs("!(a)", &["a", "!(a)"])]
#[case::negative("- 5", &["- 5"])]
#[case::members("a.b[0].c(d)", &["a", "a.b", "0", "a.b[0]", "d", "a.b[0].c(d)"])]
#[case::optional("a.?b", &["a", "b", "a.?b"])]
#[case::absolute(".a.b", &[".a", ".a.b"])]
#[case::call(".f(a)", &["a", ".f(a)"])]
#[case::conditional("a ? b : c", &["a", "b", "c", "a ? b : c"])]
#[case::brackets("[a, {b: c}]", &["a", "b", "c", "{b: c}", "[a, {b: c}]"])]
#[case::message(".a . T{ f: b }", &["b", ".a . T{ f: b }"])]
#[case::logic("a || b || c", &["a", "b", "c", "a || b", "a || b || c"])]
#[case::presence("has( a.b )", &["a", "has( a.b )"])]
fn spans_cover_the_sub_expression(#[case] source: &str, #[case] expected: &[&str]) {
    assert_eq!(texts(source), expected);
}

#[test]
fn a_macro_stands_where_its_call_stands_and_its_parts_where_its_name_stands() {
    let source = "a.all(x, x)";
    let ast = parse(source).expect("it parses");
    assert_eq!(ast.span(ast.root()).text(source), source);
    let Expr::Comprehension(fold) = ast.expr(ast.root()) else { panic!("a fold") };
    for id in [fold.accu_init, fold.loop_condition, fold.loop_step, fold.result] {
        assert_eq!(ast.span(id).text(source), "all");
    }
}

#[rstest]
#[case("a.map(x, y.filter(z, z in x)) + b.sortBy(c, c)")]
#[case("a.optMap(x, x).optFlatMap(y, [y].transformMap(k, v, k, v))")]
#[case("has(a.b) ? a.exists(i, v, i == v) : a.exists_one(x, has(x.c)) || a.transformMapEntry(k, v, {k: v})")]
#[case("a.existsOne(i, v, i == v) && T{f: [?a], ?g: {?b: c}}.h && (a || b || c) && d")]
fn every_node_but_the_root_has_one_parent_behind_it(#[case] source: &str) {
    let ast = parse(source).expect("it parses");
    let mut parents = vec![0; ast.nodes().len()];
    for (index, node) in ast.nodes().iter().enumerate() {
        for child in children(&node.expr) {
            assert!((child.0 as usize) < index, "children come first");
            parents[child.0 as usize] += 1;
        }
    }
    let root = ast.root().0 as usize;
    for (index, count) in parents.into_iter().enumerate() {
        assert_eq!(count, usize::from(index != root), "node {index}: {:?}", ast.nodes()[index]);
    }
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
