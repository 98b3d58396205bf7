use rstest::rstest;

use super::*;
use crate::Env;
use crate::check::Type;
use crate::library::Ty;
use crate::parse::parse;

/// Variables of the types that Kubernetes gives them, as far as the expressions below go.
fn env() -> Env {
    let text = || Type::String;
    let user = Type::object(
        "kubernetes.UserInfo",
        [
            ("username", text()),
            ("groups", Type::list(text())),
            ("extra", Type::map(text(), Type::list(text()))),
        ],
    );
    let kind = Type::object("kubernetes.GroupVersionKind", [("group", text()), ("kind", text())]);
    let request = [("userInfo", user), ("kind", kind), ("namespace", text())];
    let mut env = Env::new();
    env.declare("object");
    env.declare_typed("request", Type::object("kubernetes.AdmissionRequest", request));
    env.declare_typed("authorizer", Ty::Opaque("kubernetes.authorization.Authorizer"));
    env.declare_typed("variables.names", Type::list(text()));
    env
}

fn estimated(expression: &str, sizes: &dyn Sizes) -> CostEstimate {
    let ast = parse(expression).expect("the expression is CEL");
    estimate(&ast, &env(), sizes).expect("the expression is sound").cost()
}

/// The answers of the API server's own code, in the environment of a policy.
#[rstest]
#[case::field_of_a_structure("request.userInfo.username == 'alice'", 4, 4)]
#[case::loop_without_bound("request.userInfo.groups.exists(g, g == 'system:masters')", 4, u64::MAX)]
#[case::test_of_a_field("has(request.namespace)", 1, 1)]
#[case::indexes("request.userInfo.extra['a'][0] == 'b'", 6, 6)]
#[case::joined_text("request.userInfo.groups.join(',')", 3, 1_844_674_407_370_955_267)]
#[case::right_side_may_not_run(
    "authorizer.group('').resource('pods').check('get').allowed() && authorizer.path('/').check('get').allowed()",
    350_004,
    700_007
)]
#[case::sum_of_texts("request.kind.kind + request.kind.group", 6, 1_844_674_407_370_955_270)]
#[case::dyn_is_free_to_select_from("object.spec.containers.all(c, c.image.startsWith('a'))", 2, u64::MAX)]
#[case::sizes_of_results("'abc'.replace('b', 'xyz').size() > 2", 3, 3)]
#[case::literals_are_known("[1, 2, 3].map(x, x * 2).exists(x, x > 4)", 76, 82)]
#[case::urls("url('https://a/b') == url('https://c')", 4, 4)]
#[case::addresses("ip('10.0.0.1') == ip('10.0.0.2')", 3, 3)]
#[case::sorting("request.userInfo.groups.sort() == ['a']", 25, u64::MAX)]
#[case::limited_split("'a,b'.split(',', 1).map(p, p + '!')", 12, 1_844_674_407_370_955_289)]
#[case::two_variables("{'a': 'bb'}.all(k, v, k != v)", 34, 37)]
#[case::a_let("optional.of('abc').optMap(v, v + 'd').orValue('')", 4, 1_844_674_407_370_955_281)]
#[case::inner_lists("[[1, 2], [3]].all(l, l.all(x, x > 0))", 37, 61)]
#[case::name_of_a_type(
    "google.protobuf.Timestamp == type(timestamp('2020-01-01T00:00:00Z'))",
    4,
    1_844_674_407_370_955_267
)]
fn an_estimate_is_the_api_servers(#[case] expression: &str, #[case] min: u64, #[case] max: u64) {
    assert_eq!(estimated(expression, &Unknown), CostEstimate { min, max });
}

/// Kubernetes knows `variables` as a structure, of which a name is a field.
#[rstest]
#[case("variables.names == []", 12)]
#[case("has(variables.names)", 1)]
fn a_name_with_a_dot_costs_as_the_selection_that_it_is(#[case] expression: &str, #[case] max: u64) {
    assert_eq!(estimated(expression, &AtMost(10)).max, max);
}

/// Where upstream takes the largest number, a bound on all sizes holds as well.
#[rstest]
#[case("lists.range(object.a).all(i, i == 0)", 10, 73)]
#[case("variables.names.slice(40, size(variables.names)).all(i, i == '')", 10, 67)]
fn a_bound_on_all_sizes_holds_for_lists_of_any_length(
    #[case] expression: &str,
    #[case] most: u64,
    #[case] max: u64,
) {
    assert_eq!(estimated(expression, &AtMost(most)).max, max);
    assert_eq!(estimated(expression, &Unknown).max, u64::MAX);
}

#[rstest]
#[case::once("variables.names.all(n, n != '')", 10, 43)]
#[case::squared("variables.names.all(n, variables.names.all(m, n != m))", 10, 663)]
#[case::cubed("variables.names.all(a, variables.names.all(b, variables.names.all(c, a == b)))", 10, 6_663)]
fn stated_sizes_bound_loops(#[case] expression: &str, #[case] most: u64, #[case] max: u64) {
    assert_eq!(estimated(expression, &AtMost(most)).max, max);
}

#[test]
fn sizes_are_asked_for_by_path() {
    struct Image;
    impl Sizes for Image {
        fn size(&self, path: Option<Path<'_>>, _ty: &Type) -> Option<SizeEstimate> {
            let known = ["object", "spec", "containers", "@items", "image"];
            (path?.segments() == known).then_some(SizeEstimate { min: 0, max: 100 })
        }
    }
    let unknown = "object.spec.containers.map(c, c.name.startsWith(c.image))[0]";
    let by_index = "object.spec.containers[0].image.startsWith(dyn('x'))";
    assert_eq!(estimated(unknown, &Image).max, u64::MAX);
    // An index into dyn may be one into a map.
    assert_eq!(estimated(by_index, &Image).max, 4);
    assert_eq!(estimated("['x'].all(x, object.spec.containers.all(c, c.image == x))", &Image).min, 14);
}

#[rstest]
#[case::nothing_is_over("request.namespace == 'a'", 40, None)]
#[case::the_loop_that_is_over(
    "has(object.a) && object.l.all(x, x == 1)",
    40,
    Some("object.l.all(x, x == 1)")
)]
#[case::a_loop_that_its_rounds_bring_over(
    "object.l.all(x, object.l.all(y, x != y)) || true",
    4_000,
    Some("object.l.all(x, object.l.all(y, x != y))")
)]
#[case::the_dearer_of_two(
    "object.a.matches('^[a-z]+$') || object.b.matches('^[a-z]+[a-z]+[a-z]+$')",
    20,
    Some("object.b.matches('^[a-z]+[a-z]+[a-z]+$')")
)]
fn the_dearest_part_is_the_smallest_that_is_over(
    #[case] expression: &str,
    #[case] limit: u64,
    #[case] part: Option<&str>,
) {
    let ast = parse(expression).expect("the expression is CEL");
    let found = estimate(&ast, &env(), &AtMost(100)).expect("the expression is sound").dearest(&ast, limit);
    assert_eq!(found.map(|found| found.span.text(expression)), part);
}

#[rstest]
#[case::alternatives("a".to_owned() + &" || a".repeat(19_000))]
#[case::elements(format!("[{}]", "a, ".repeat(30_000)))]
#[case::copied_targets("a".to_owned() + &".optMap(x, x)".repeat(12))]
fn long_expressions_are_estimated_in_time(#[case] expression: String) {
    let mut env = Env::new();
    env.declare("a");
    let ast = parse(&expression).expect("the expression is CEL");
    let found = estimate(&ast, &env, &Unknown).expect("the expression is sound");
    assert!(found.cost().min > 0);
}
