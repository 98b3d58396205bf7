use std::time::{Duration, Instant};

use rstest::rstest;

use crate::parse::{MAX_CODE_POINTS, parse};

/// The most of an expression that cel-go 0.29.2 accepts, tried with it: `n` times `before`, `inner`, `n` times `after`.
#[rstest]
#[case::parentheses("(", "a", ")", 249, NESTING)]
#[case::lists("[", "a", "]", 249, NESTING)]
#[case::maps("{a: ", "a", "}", 249, NESTING)]
#[case::messages("T{a: ", "a", "}", 249, NESTING)]
#[case::arguments("f(", "a", ")", 249, NESTING)]
#[case::member_arguments("a.f(", "a", ")", 249, NESTING)]
#[case::macros("a.map(x, ", "x", ")", 249, NESTING)]
#[case::logic("a && (b || ", "c", ")", 249, NESTING)]
#[case::sums("a + (", "b", ")", 124, NESTING)]
#[case::products_in_sums("a + b * (", "c", ")", 83, NESTING)]
#[case::comparisons("a == (", "b", ")", 124, NESTING)]
#[case::else_branches("a ? b : ", "c", "", 249, NESTING)]
#[case::sum_chain("a + ", "b", "", 250, HEIGHT)]
#[case::comparison_chain("a < ", "b", "", 250, HEIGHT)]
#[case::selections("", "a", ".a", 250, HEIGHT)]
#[case::calls("", "a", ".a()", 250, HEIGHT)]
#[case::indexes("", "a", "[0]", 250, HEIGHT)]
#[case::optional_selections("", "a", ".?a", 250, HEIGHT)]
fn nesting_is_limited_as_in_cel_go(
    #[case] before: &str,
    #[case] inner: &str,
    #[case] after: &str,
    #[case] most: usize,
    #[case] message: &str,
) {
    let text = |times: usize| format!("{}{inner}{}", before.repeat(times), after.repeat(times));
    assert!(parse(&text(most)).is_ok());
    let issues = parse(&text(most + 1)).expect_err("it is one too many");
    assert_eq!(issues.0.len(), 1);
    assert_eq!(issues.0[0].message, message);
}

const NESTING: &str = "expression recursion limit exceeded: 250";
const HEIGHT: &str = "max recursion depth exceeded";

#[test]
fn a_text_of_too_many_code_points_is_refused() {
    assert!(parse(&format!("'{}'", "é".repeat(MAX_CODE_POINTS - 2))).is_ok());
    let issues = parse(&" ".repeat(MAX_CODE_POINTS + 1)).expect_err("it is too long");
    assert_eq!(issues.0[0].message, "expression code point size exceeds limit: size: 100001, limit 100000");
}

#[test]
fn targets_are_copied_up_to_a_limit() {
    let chain = |length: usize| format!("a{}", ".optMap(x, x)".repeat(length));
    assert!(parse(&chain(12)).is_ok());
    let issues = parse(&chain(200)).expect_err("it doubles with every link");
    assert!(issues.0[0].message.starts_with("expression size exceeds limit"), "{issues}");
}

/// Texts that are long, deep or broken, all near the limits.
fn hostile() -> Vec<(&'static str, String)> {
    let fill = |piece: &str| piece.repeat(MAX_CODE_POINTS / piece.chars().count());
    let nested = |before: &str, after: &str| format!("{}a{}", before.repeat(249), after.repeat(249));
    vec![
        ("or", format!("{}a", "a||".repeat(33_000))),
        ("and, or", format!("{}a", "a&&b||".repeat(16_000))),
        ("sum", format!("{}a", "a+".repeat(49_000))),
        ("selections", format!("a{}", ".a".repeat(49_000))),
        ("calls", format!("a{}", ".f('','x')".repeat(4_000))),
        ("indexes", format!("a{}", "[0]".repeat(33_000))),
        ("nots", format!("{}a", "!".repeat(99_999))),
        ("minuses", format!("{}a", "-".repeat(99_999))),
        ("conditionals", format!("{}a", "a?b:".repeat(24_000))),
        ("list", format!("[{}]", "1,".repeat(49_000))),
        ("list of strings", format!("[{}]", "'a',".repeat(24_000))),
        ("map", format!("{{{}}}", "1:2,".repeat(24_000))),
        ("message", format!("T{{{}}}", "a:2,".repeat(24_000))),
        ("message name", format!("{}a{{}}", "a.".repeat(49_000))),
        ("arguments", format!("f({}1)", "1,".repeat(49_000))),
        ("macros", format!("[{}]", "a.all(x,x),".repeat(9_000))),
        ("optMap", format!("[{}]", "a.optMap(x,x),".repeat(7_000))),
        ("presence tests", format!("{}a", "has(a.b)&&".repeat(9_000))),
        ("string", format!("'{}'", "a".repeat(99_000))),
        ("escapes", format!("'{}'", "\\n".repeat(49_000))),
        ("bad escapes", format!("'{}'", "\\q".repeat(49_000))),
        ("digits", "9".repeat(100_000)),
        ("double", format!("0.{}", "9".repeat(99_000))),
        ("name", "a".repeat(100_000)),
        ("comments", fill("//a\n")),
        ("blanks", " ".repeat(100_000)),
        ("open parentheses", "(".repeat(100_000)),
        ("open lists", "[".repeat(100_000)),
        ("open maps", "{".repeat(100_000)),
        ("open calls", fill("f(")),
        ("open indexes", fill("a[")),
        ("closing", ")".repeat(100_000)),
        ("open strings", fill("'\n")),
        ("open long strings", fill("'''\\")),
        ("backquotes", fill("`a")),
        ("dots", ".".repeat(100_000)),
        ("commas", ",".repeat(100_000)),
        ("commas in a list", format!("[{}", ",".repeat(99_999))),
        ("questions", fill("a?")),
        ("colons", ":".repeat(100_000)),
        ("reserved", format!("[{}]", "for,".repeat(24_000))),
        ("unknown", "$".repeat(100_000)),
        ("wide", "é".repeat(100_000)),
        ("errors in a list", format!("[{}]", "a b,".repeat(24_000))),
        ("errors in parentheses", fill("(a b)+")),
        ("deep errors", format!("{}a b{}", "[(f(".repeat(80), ")))".repeat(80))),
        ("deep lists", nested("[", "]")),
        ("deep maps", nested("{a:", "}")),
        ("deep messages", nested("T{a:", "}")),
        ("deep parentheses", nested("!(", ")")),
        ("deep calls", nested("f(", ")")),
        ("deep indexes", nested("a[", "]")),
        ("deep member calls", nested("a.b(", ")")),
        ("deep conditionals", format!("{}a{}", "(a?b:".repeat(124), ")".repeat(124))),
        ("deep macros", nested("a.map(x,", ")")),
        ("deep filters", nested("a.map(x,x,", ")")),
        ("deep optMaps", nested("a.optMap(x,", ")")),
        ("optMap targets", format!("a{}", ".optMap(x,x)".repeat(249))),
        ("optMap in optMap targets", format!("{}a{}", "(".repeat(200), ".optMap(x,x))".repeat(200))),
        ("deep chains", format!("{}a{}", "(a||a||a||a||".repeat(249), ")".repeat(249))),
    ]
}

/// 50 ms for 64 KiB and in proportion above.
#[test]
fn hostile_texts_are_answered_within_50_ms() {
    for (name, source) in hostile() {
        // The best of some, since other processes share the machine and its caches.
        let took = (0..5).map(|_| processor_time(|| drop(parse(&source)))).min().unwrap_or(Duration::MAX);
        let allowed = Duration::from_millis(50).mul_f64((source.chars().count() as f64 / 65_536.0).max(1.0));
        eprintln!("{took:>12.1?} of {allowed:.0?}: {name}");
        assert!(took <= allowed, "{name}: {took:?}");
    }
}

/// How long the processor works on it, give or take a tick of 4 ms; where the system does not tell, how long it takes.
fn processor_time(work: impl FnOnce()) -> Duration {
    let spent = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().map(Duration::from_nanos).ok()
    };
    let (before, start) = (spent(), Instant::now());
    work();
    let elapsed = start.elapsed();
    before.zip(spent()).map_or(elapsed, |(before, after)| after - before)
}

#[test]
fn hostile_texts_need_little_stack() {
    // Half of what a thread of the standard library has.
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(|| {
        for (_, source) in hostile() {
            match parse(&source) {
                Ok(ast) => drop(ast),
                Err(issues) => drop(issues.to_string()),
            }
        }
    });
    thread.expect("a thread").join().expect("no panic");
}
