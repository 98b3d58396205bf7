use std::collections::HashMap;

use rstest::rstest;
use usher_cel::parse::parse;

use super::{Effects, Guard, Necessary, guards, necessary};

fn read(source: &str) -> Necessary {
    necessary(&parse(source).expect("valid"), &HashMap::new())
}

fn routes(predicates: &[&str]) -> Effects {
    let routes = predicates.iter().map(|predicate| Some((read(predicate), true))).collect();
    Effects { routes, ..Effects::default() }
}

/// `Namespace[a b]?`, with a `?` where an absent fact will do as well.
fn print(mut guards: Vec<Guard>) -> String {
    guards.sort_by_key(|guard| guard.fact as u8);
    let print = |guard: &Guard| {
        let absent = if guard.or_absent { "?" } else { "" };
        format!("{:?}[{}]{absent}", guard.fact, guard.values.join(" "))
    };
    guards.iter().map(print).collect::<Vec<_>>().join(" ")
}

#[rstest]
#[case::equality("request.namespace == 'a' && object.x", "Namespace[a]?")]
#[case::equality_the_other_way_round("'a' == request.namespace", "Namespace[a]?")]
#[case::a_list("request.namespace in ['b', 'a']", "Namespace[a b]?")]
#[case::presence_excludes_absence("has(request.namespace) && request.namespace == 'a'", "Namespace[a]")]
#[case::presence_alone_is_no_key("has(request.namespace)", "")]
#[case::a_default("request.?namespace.orValue('') == 'a'", "Namespace[a]")]
#[case::a_default_that_is_wanted("request.?subResource.orValue('') == ''", "SubResource[]?")]
#[case::has_value("request.?name.hasValue() && request.name == 'a'", "Name[a]")]
#[case::an_index("request['namespace'] == 'a'", "Namespace[a]?")]
#[case::user("request.userInfo.username == 'alice'", "UserName[alice]?")]
#[case::kind_and_operation(
    "request.kind.kind == 'Pod' && request.operation in ['CREATE', 'UPDATE']",
    "Kind[Pod]? Operation[CREATE UPDATE]?"
)]
#[case::both_sides_of_or("request.namespace == 'a' || request.namespace == 'b'", "Namespace[a b]?")]
#[case::one_side_of_or("request.namespace == 'a' || object.x", "")]
#[case::different_facts_of_or("request.namespace == 'a' || request.name == 'b'", "")]
#[case::what_both_sides_need(
    "request.namespace == 'a' && object.x || request.namespace == 'a' && object.y",
    "Namespace[a]?"
)]
#[case::contradiction("request.namespace == 'a' && request.namespace == 'b'", "Namespace[]?")]
#[case::not("!(request.namespace != 'a')", "Namespace[a]?")]
#[case::not_equal_is_no_key("request.namespace != 'a'", "")]
#[case::de_morgan("!(request.namespace != 'a' || object.x)", "Namespace[a]?")]
#[case::conditional("request.namespace == 'a' ? object.x : false", "Namespace[a]?")]
#[case::other_conditional("object.x ? request.namespace == 'a' : false", "")]
#[case::after_a_light_term("object.kind == 'Pod' && request.namespace == 'a'", "Namespace[a]?")]
#[case::after_a_costly_term("object.spec.containers.all(c, c.x) && request.namespace == 'a'", "")]
#[case::before_a_costly_term(
    "request.namespace == 'a' && object.spec.containers.all(c, c.x)",
    "Namespace[a]?"
)]
#[case::inside_a_comprehension("object.x.all(request, request.namespace == 'a')", "")]
#[case::not_a_literal("request.namespace == object.x", "")]
#[case::not_a_string("request.namespace in ['a', object.x]", "")]
#[case::other_fields("request.userInfo.uid == 'a' || request.namespace.x == 'a'", "")]
fn guards_are_read_off_predicates(#[case] predicate: &str, #[case] expected: &str) {
    assert_eq!(print(guards(routes(&[predicate]))), expected);
}

#[rstest]
#[case::the_same_in_all(&["request.namespace == 'a' && object.x", "request.namespace == 'b'"], "Namespace[a b]?")]
#[case::missing_in_one(&["request.namespace == 'a'", "object.x"], "")]
fn a_rule_needs_what_each_of_its_routes_needs(#[case] predicates: &[&str], #[case] expected: &str) {
    assert_eq!(print(guards(routes(predicates))), expected);
}

#[test]
fn a_route_without_predicate_needs_nothing() {
    let mut effects = routes(&["request.namespace == 'a'"]);
    effects.routes.push(None);
    assert_eq!(print(guards(effects)), "");
}

#[test]
fn a_validation_acts_when_it_is_false() {
    let validation = (read("request.namespace != 'a' || object.x"), false);
    let effects = Effects { routes: vec![Some(validation)], ..Effects::default() };
    assert_eq!(print(guards(effects)), "Namespace[a]?");
}

#[rstest]
#[case::any_of_them(&["object.kind == 'x'", "request.namespace == 'a'"], "Namespace[a]?")]
#[case::not_behind_a_costly_one(&["object.x.all(c, c)", "request.namespace == 'a'"], "")]
fn one_condition_is_enough(#[case] conditions: &[&str], #[case] expected: &str) {
    let conditions = conditions.iter().map(|condition| read(condition)).collect();
    assert_eq!(print(guards(Effects { conditions, ..routes(&["true"]) })), expected);
}

#[rstest]
#[case::that_may_fail("object.x", "")]
#[case::that_cannot_fail("request.operation == 'CREATE'", "Namespace[a]? Operation[CREATE]?")]
fn routes_are_guarded_behind_a_condition(#[case] condition: &str, #[case] expected: &str) {
    let effects = Effects { conditions: vec![read(condition)], ..routes(&["request.namespace == 'a'"]) };
    assert_eq!(print(guards(effects)), expected);
}

#[test]
fn a_rule_that_always_annotates_is_guarded_by_its_conditions_only() {
    let mut effects = Effects { annotates: true, ..routes(&["request.namespace == 'a'"]) };
    effects.conditions.push(read("request.operation == 'CREATE'"));
    assert_eq!(print(guards(effects)), "Operation[CREATE]?");
}

#[test]
fn a_rule_whose_parameters_may_be_missing_is_not_guarded() {
    let effects = Effects { params_may_fail: true, ..routes(&["request.namespace == 'a'"]) };
    assert_eq!(print(guards(effects)), "");
}

#[test]
fn a_variable_stands_for_its_expression() {
    let variables = HashMap::from([(Box::from("mine"), read("request.namespace == 'a'"))]);
    let predicate = necessary(&parse("variables.mine && object.x").expect("valid"), &variables);
    let effects = Effects { routes: vec![Some((predicate, true))], ..Effects::default() };
    assert_eq!(print(guards(effects)), "Namespace[a]?");
}

#[test]
fn a_list_of_very_many_values_is_no_key() {
    let values: Vec<String> = (0..1_001).map(|n| format!("'n{n}'")).collect();
    let predicate = format!("request.namespace in [{}]", values.join(","));
    assert_eq!(print(guards(routes(&[&predicate]))), "");
}

#[test]
fn a_chain_of_alternatives_is_read_without_recursion() {
    let terms: Vec<String> = (0..3_000).map(|n| format!("request.namespace == 'n{}'", n % 7)).collect();
    let predicate = terms.join(" || ");
    assert_eq!(print(guards(routes(&[&predicate]))), "Namespace[n0 n1 n2 n3 n4 n5 n6]?");
}
