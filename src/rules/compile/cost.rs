//! Expressions that can cost more than one evaluation may.
//!
//! Kubernetes refuses CustomResourceDefinitions by estimated costs, and no policy: nothing bounds the lists of an object but the size of a
//! request, with which every second loop could exceed its budget. So this is a warning, and one about objects that are met: see [`USUAL_SIZE`].
//! Of a cost that does not depend on sizes, as that of questions to the authorizer, it is the truth.

use usher_cel::ast::{Ast, Expr};
use usher_cel::cost::{AtMost, Estimate};

use crate::diagnostic::{Code, Diagnostic};
use crate::engine::PER_CALL;

/// Items of a list, entries of a map, characters of a text.
///
/// Of the 629 different expressions in the published policies of `../shared/corpus`, 361 can cost too much with sizes of 3 MiB, 127 with 1,024,
/// 34 with 128 and 12 with 64, most of those sound loops in loops over containers, what each has, and a short list; one with 32, a
/// search for patterns in three nested loops. None of the rules that ship is over with 64.
pub(super) const USUAL_SIZE: AtMost = AtMost(32);

/// Whether an estimate is worth its time: without loops and questions even the longest text costs little on objects of [`USUAL_SIZE`].
pub(super) fn can_be_high(ast: &Ast) -> bool {
    ast.nodes().iter().any(|node| match &node.expr {
        Expr::Comprehension(_) => true,
        Expr::Ident(name) => name.trim_start_matches('.') == "authorizer",
        _ => false,
    })
}

/// What is to be said about an expression in `field` that was estimated with [`USUAL_SIZE`].
pub(super) fn warning(ast: &Ast, estimate: &Estimate, field: &str) -> Option<Diagnostic> {
    let dearest = estimate.dearest(ast, PER_CALL)?;
    // What upstream calls the least is none: it counts rounds of loops that end early.
    let message = format!(
        "this can cost {} when no list, map or text is larger than {}; an evaluation may cost {PER_CALL}",
        estimate.cost().max,
        USUAL_SIZE.0
    );
    let help = if dearest.is_loop {
        "look things up with `in`, or compute what the inner loop gives once, in a variable"
    } else {
        "put parts of it into variables, each of which may cost as much again"
    };
    let span = dearest.span.start as usize..dearest.span.end as usize;
    let diagnostic = Diagnostic::warning(Code::CostlyExpression, message).at(field).help(help);
    Some(diagnostic.within(ast.source(), span))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use usher_cel::compile::compile_estimated;
    use usher_cel::parse::parse;

    use super::*;
    use crate::diagnostic::Severity;
    use crate::engine::slots;

    const CHECK: &str = "authorizer.path('/a').check('get').allowed()";
    const FOUR_LOOPS: &str =
        "object.a.all(a, object.b.all(b, object.c.all(c, object.d.all(d, a == b || c == d))))";

    fn warning_of(source: &str) -> Option<Diagnostic> {
        let ast = parse(source).expect("the expression is CEL");
        let env = slots::base_env();
        let (_, estimate) = compile_estimated(&ast, &env, &USUAL_SIZE).expect("the expression is sound");
        warning(&ast, &estimate, "spec")
    }

    #[rstest]
    #[case::a_loop("object.spec.containers.all(c, c.image.matches('^registry.example.com/[a-z]+:v[0-9]+$'))".to_owned())]
    #[case::three_loops(
        "object.spec.containers.all(c, c.env.all(e, request.userInfo.groups.exists(g, g == e.value)))".to_owned()
    )]
    #[case::indexes("lists.range(object.l.size()).all(i, object.l[i] != '')".to_owned())]
    #[case::two_questions(format!("{CHECK} || {CHECK}"))]
    fn what_is_within_its_budget_on_usual_objects_is_not_mentioned(#[case] source: String) {
        assert_eq!(warning_of(&source), None);
    }

    #[rstest]
    #[case::loops_in_loops(
        format!("has(object.a) && {FOUR_LOOPS}"),
        "this can cost 15897763 when no list, map or text is larger than 32; an evaluation may cost 1000000",
        "in a variable",
        "object.a.all(a, "
    )]
    #[case::three_questions(
        format!("{CHECK} || {CHECK} || {CHECK}"),
        "this can cost 1050009 when no list, map or text is larger than 32; an evaluation may cost 1000000",
        "into variables",
        "authorizer.path"
    )]
    fn what_can_cost_too_much_is_a_warning_at_its_dearest_part(
        #[case] source: String,
        #[case] message: &str,
        #[case] help: &str,
        #[case] part: &str,
    ) {
        let found = warning_of(&source).expect("a warning");
        assert_eq!((found.severity, found.code), (Severity::Warning, Code::CostlyExpression));
        assert_eq!(found.message, message);
        assert!(found.help.as_ref().is_some_and(|text| text.contains(help)), "{found:?}");
        let span = found.text.expect("a part of the expression").span;
        assert!(source[span.clone()].starts_with(part), "{}", &source[span]);
    }
}
