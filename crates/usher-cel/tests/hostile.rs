//! Expressions that want to stop the process: each is refused, or stopped by a budget, and the process lives.

use std::cell::Cell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rstest::rstest;
use usher_cel::eval::{Activation, ErrorKind};
use usher_cel::{Arena, Env, EvalError, EvalResult, Meter, Value};

/// Kubernetes' limit of one expression (`PerCallLimit`).
const COST_LIMIT: u64 = 1_000_000;

/// What the engine gives the evaluation of one rule.
const MEMORY_LIMIT: usize = 16 << 20;

/// A stack as small as a thread of a runtime has it.
const STACK: usize = 2 << 20;

struct Nothing;

impl<'a> Activation<'a> for Nothing {
    fn variable(&self, _slot: u32, _meter: &mut Meter<'_>) -> EvalResult<'a> {
        Ok(Value::Null)
    }
}

fn kind(expression: &str, meter: &mut Meter<'_>) -> Result<String, ErrorKind> {
    let program = Env::new().compile(expression).expect("it compiles");
    let arena = Arena::with_limit(MEMORY_LIMIT);
    program.evaluate(&Nothing, &arena, meter).map(|value| value.to_string()).map_err(|error| error.kind)
}

/// `[0..9].all(a, [0..9].all(b, …))`: 10^9 rounds.
fn nested_loops(macro_name: &str, body: &str) -> String {
    let list = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    (0..9).fold(body.to_owned(), |body, depth| format!("{list}.{macro_name}(v{depth}, {body})"))
}

#[rstest]
#[case::all(&nested_loops("all", "true"))]
#[case::exists(&nested_loops("exists", "false"))]
#[case::map(&nested_loops("map", "1"))]
#[case::filter(&nested_loops("all", "[1].filter(x, x > 0).size() == 1"))]
fn nested_loops_end_at_the_cost_limit(#[case] expression: &str) {
    assert_eq!(kind(expression, &mut Meter::new(COST_LIMIT)), Err(ErrorKind::CostLimit));
}

#[rstest]
#[case("{} || true")]
#[case("true && {}")]
#[case("[1].exists(y, {}) || true")]
#[case("false ? false : {}")]
#[case("{} ? true : true")]
fn a_cost_error_is_not_absorbed(#[case] around: &str) {
    let expression = around.replace("{}", &format!("({})", nested_loops("all", "true")));
    assert_eq!(kind(&expression, &mut Meter::new(COST_LIMIT)), Err(ErrorKind::CostLimit));
}

#[test]
fn an_interrupt_stops_a_loop_and_is_not_absorbed() {
    let asked = Cell::new(0);
    let interrupt = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let expression = format!("({}) || true", nested_loops("all", "true"));
    let mut meter = Meter::with_interrupt(u64::MAX, &interrupt);
    assert_eq!(kind(&expression, &mut meter), Err(ErrorKind::Deadline));
    assert_eq!(asked.get(), 4, "asked once every hundred rounds");
}

#[rstest]
#[case("'x'.matches('[a-z]{50}' + string(i))")]
#[case("'x'.find('[a-z]{50}' + string(i)) == 'y'")]
#[case("'x'.findAll('[a-z]{50}' + string(i)).size() == 1")]
fn an_interrupt_is_asked_before_a_pattern_is_compiled(#[case] round: &str) {
    let asked = Cell::new(0);
    let interrupt = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let expression = format!("lists.range(50).exists(i, {round})");
    let mut meter = Meter::with_interrupt(u64::MAX, &interrupt);
    assert_eq!(kind(&expression, &mut meter), Err(ErrorKind::Deadline));
    assert_eq!(asked.get(), 4, "asked once a pattern");
}

#[rstest]
#[case::strings("['aaaaaaaa']", "s + s")]
#[case::lists("[[1, 2, 3, 4]]", "s + s")]
#[case::replacements("['aaaaaaaa']", "s.replace('', 'aaaa')")]
#[case::flattened_lists("[[1, 2, 3, 4]]", "[s, s].flatten()")]
fn doubling_ends_at_a_budget(#[case] start: &str, #[case] step: &str) {
    let expression = format!("{start}{}.size()", format!(".map(s, {step})").repeat(33));
    let program = Env::new().compile(&expression).expect("it compiles");
    let arena = Arena::with_limit(MEMORY_LIMIT);
    let error =
        program.evaluate(&Nothing, &arena, &mut Meter::new(COST_LIMIT)).expect_err("2^33 times the start");
    assert!(matches!(error.kind, ErrorKind::CostLimit | ErrorKind::Memory), "{error:?}");
    assert!(arena.allocated_bytes() <= MEMORY_LIMIT, "{} bytes", arena.allocated_bytes());
}

#[rstest]
#[case::equality("v == v")]
#[case::inequality("v != v")]
#[case::membership("v in dyn([v])")]
#[case::sets("sets.contains([v], [v])")]
#[case::intersection("sets.intersects([v], [v])")]
#[case::distinct("[v, v].distinct().size() == 1")]
#[case::index("[v].indexOf(v) == 0")]
#[case::last_index("[v].lastIndexOf(v) == 0")]
#[case::walk("[dyn(v)].isSorted()")]
#[case::flatten("v.flatten(100).size() == 0")]
#[case::many_pairs("[lists.range(20000)].exists(l, l.exists(i, 'a' in dyn(l)))")]
fn values_that_share_their_parts_are_not_compared_for_ever(#[case] body: &str) {
    let doubled = format!("[[]]{}", ".map(x, [x, x])".repeat(40));
    let expression = format!("{doubled}.exists(v, {body})");
    assert_eq!(kind(&expression, &mut Meter::new(COST_LIMIT)), Err(ErrorKind::CostLimit));
}

#[test]
fn a_key_that_is_inserted_twice_is_found_in_one_pass() {
    let expression = "lists.range(20000).transformMapEntry(i, v, {i == 19999 ? 19998 : i: v})";
    let start = processor_time();
    assert_eq!(kind(expression, &mut Meter::new(COST_LIMIT)), Err(ErrorKind::InvalidArgument));
    let taken = processor_time() - start;
    assert!(taken < Duration::from_millis(500), "{taken:?}");
}

#[rstest]
#[case::or(&vec!["x == 1"; 6_500].join(" || "))]
#[case::and(&vec!["x"; 16_000].join(" && "))]
#[case::plus(&vec!["1"; 16_000].join(" + "))]
#[case::not(&format!("{}x", "!".repeat(64_000)))]
#[case::minus(&format!("{}1", "-".repeat(64_000)))]
#[case::select(&format!("x{}", ".a".repeat(30_000)))]
#[case::index(&format!("x{}", "[0]".repeat(20_000)))]
#[case::member_calls(&format!("'a'{}", ".trim()".repeat(9_000)))]
#[case::ternary(&format!("{}1", "x ? 1 : ".repeat(8_000)))]
#[case::parentheses(&format!("{}1{}", "(".repeat(30_000), ")".repeat(30_000)))]
#[case::lists(&format!("{}1{}", "[".repeat(30_000), "]".repeat(30_000)))]
#[case::list(&format!("[{}]", vec!["1"; 30_000].join(",")))]
#[case::strings_in_a_list(&format!("x in [{}]", vec!["'a'"; 16_000].join(",")))]
#[case::map(&format!("{{{}}}", (0..6_000).map(|i| format!("{i}: 1")).collect::<Vec<_>>().join(",")))]
#[case::calls(&format!("[{}]", vec!["size('a')"; 6_000].join(",")))]
#[case::macros(&format!("[{}]", vec!["x.all(y, y)"; 5_000].join(",")))]
#[case::unknown_names(&vec!["nope"; 9_000].join(" + "))]
#[case::unknown_functions(&format!("[{}]", vec!["nope(1)"; 8_000].join(",")))]
#[case::regex("'a'.matches('(a{1000}){1000}')")]
#[case::many_large_patterns(&vec![r"x.matches(r'[\pL]{900}')"; 2_000].join(" || "))]
#[case::many_middling_patterns(&vec![r"x.matches(r'[\pL]{40}')"; 2_000].join(" || "))]
#[case::many_patterns_looked_for(&vec![r"x.find(r'[\pL]{40}') == ''"; 1_800].join(" || "))]
#[case::many_small_patterns(&vec!["x.matches('^[a-z]{1,63}$')"; 2_200].join(" || "))]
#[case::tiny_patterns(&vec!["x.matches('a')"; 3_600].join(" || "))]
#[case::patterns_on_the_wrong_side(&vec![r"r'[\pL]{900}'.matches('a')"; 2_000].join(" || "))]
#[case::one_pattern_of_many_classes(&format!("x.matches(r'{}')", r"\p{L}".repeat(9_000)))]
#[case::one_pattern_of_folded_ranges(&format!("x.matches(r'(?i){}')", r"[\x{0}-\x{10ffff}]".repeat(3_000)))]
#[case::one_pattern_of_folded_classes(&format!("x.matches(r'(?i){}')", r"[\PL]".repeat(10_000)))]
#[case::one_pattern_of_folded_negations(&format!("x.matches(r'(?i){}')", r"[\W]".repeat(10_000)))]
#[case::one_pattern_of_many_alternatives(&format!("x.matches('{}')", "a|".repeat(30_000)))]
#[case::one_pattern_of_many_groups(&format!("x.matches('{}')", "(a)".repeat(20_000)))]
#[case::one_pattern_of_deep_groups(&format!("x.matches('{}{}')", "(".repeat(30_000), ")".repeat(30_000)))]
#[case::one_long_class(&format!("x.matches('[{}]')", ('\u{4e00}'..).step_by(2).take(20_000).collect::<String>()))]
#[case::one_long_literal(&format!("x.matches('(?i){}')", "k".repeat(64_000)))]
#[case::lexical_errors_in_lines(&"@\n".repeat(32_000))]
#[case::lexical_errors(&"#".repeat(65_000))]
#[case::and_without_operands(&format!("{}a", "a&&".repeat(21_666)))]
#[case::unknown_members(&(0..3_000).map(|n| format!("zz{n}.foo(bar{n})")).collect::<Vec<_>>().join("||"))]
#[case::lists_of_lists(&format!("[{}] == []", vec![nested("[", "1", "]", 40); 700].join(",")))]
#[case::maps_of_maps(&format!("[{}] == []", vec![nested("{'a':", "1", "}", 40); 200].join(",")))]
#[case::deep_types(&format!("{} == []", nested("[", "1", "]", 240)))]
fn texts_of_64_kib_are_compiled_or_refused_at_once_on_a_small_stack(#[case] text: &str) {
    let text = text.to_owned();
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || {
            let mut env = Env::new();
            env.declare("x");
            // The best of three: what interrupts the thread is not the compiler's.
            let times = (0..3).map(|_| {
                let start = processor_time();
                let program = env.compile(&text);
                let taken = processor_time() - start;
                if let Ok(program) = program {
                    let arena = Arena::with_limit(MEMORY_LIMIT);
                    let _ = program.evaluate(&Nothing, &arena, &mut Meter::new(COST_LIMIT));
                }
                taken
            });
            let best = times.min().unwrap_or_default();
            let limit = Duration::from_millis(50);
            assert!(best < limit, "{best:?} for {} bytes", text.len());
        })
        .expect("a thread")
        .join()
        .expect("neither a panic nor a stack overflow");
}

#[test]
fn a_look_into_a_long_constant_list_is_quick() {
    // Free in Kubernetes, whatever the length: so it must not take the time of the length.
    let list = (0..12_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let expression = format!(
        "lists.range(100000).all(n, !((0 - n - 1) in [{list}])) && 7.0 in [1.5, 7.0] && !(7 in [6, 8])"
    );
    let start = processor_time();
    assert_eq!(kind(&expression, &mut Meter::new(10 * COST_LIMIT)), Ok("true".to_owned()));
    assert!(processor_time() - start < Duration::from_secs(2), "{:?}", processor_time() - start);
}

#[test]
fn programs_that_nest_without_end_are_an_error() {
    struct Itself<'p>(&'p usher_cel::Program, &'p Arena);
    impl<'a> Activation<'a> for Itself<'a> {
        fn variable(&self, _slot: u32, meter: &mut Meter<'_>) -> EvalResult<'a> {
            self.0.evaluate(&Itself(self.0, self.1), self.1, meter)
        }
    }
    let mut env = Env::new();
    env.declare("variables.a");
    let program = env.compile("variables.a + 1").expect("it compiles");
    let arena = Arena::with_limit(MEMORY_LIMIT);
    let error: Box<EvalError> = program
        .evaluate(&Itself(&program, &arena), &arena, &mut Meter::new(COST_LIMIT))
        .expect_err("it never ends");
    assert!(!error.kind.is_absorbable(), "{error:?}");
}

fn nested(open: &str, inside: &str, close: &str, depth: usize) -> String {
    format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))
}

/// Time that this thread has had a processor; the time of day where the system does not tell.
fn processor_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(
        || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        Duration::from_nanos,
    )
}
