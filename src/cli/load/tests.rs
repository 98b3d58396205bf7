use std::fmt::Write as _;
use std::time::Duration;

use rstest::rstest;

use super::*;

/// A rule whose only predicate is the text, as JSON, which is YAML too.
fn rule(predicate: &str) -> String {
    document(&format!(
        r#""routes":[{{"name":"r","predicate":{},"warn":{{"message":"m"}}}}]"#,
        json(predicate)
    ))
}

fn document(spec: &str) -> String {
    format!(
        r#"{{"apiVersion":"usher.dev/v1alpha1","kind":"RoutingRule","metadata":{{"name":"hostile"}},"spec":{{{spec}}}}}"#
    )
}

fn json(text: &str) -> String {
    serde_json::to_string(text).expect("text is JSON")
}

fn nested(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

fn many_variables() -> String {
    let variables: Vec<_> = (0..1_400).map(|n| format!(r#"{{"name":"v{n}","expression":"1"}}"#)).collect();
    let routes = r#""routes":[{"name":"r","predicate":"true","warn":{"message":"m"}}]"#;
    document(&format!(r#""variables":[{}],{routes}"#, variables.join(",")))
}

fn many_routes_with_patterns() -> String {
    let mut routes = String::new();
    for n in 0..600 {
        let pattern = json(&format!(r"object.x.matches('[\\pL]{{{}}}')", 300 + n));
        let comma = if n > 0 { "," } else { "" };
        let _ = write!(routes, r#"{comma}{{"name":"r{n}","predicate":{pattern},"pass":{{}}}}"#);
    }
    document(&format!(r#""routes":[{routes}]"#))
}

fn folded_over_many_lines() -> String {
    let text = "a &&\n\n".repeat(6_000);
    let text = text.trim_end_matches('\n').replace('\n', "\n  ");
    format!(
        "apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {{name: hostile}}\nspec:\n  routes:\n    - name: r\n      predicate: \"{text}\"\n      pass: {{}}\n"
    )
}

fn empty_lines_in_quotes() -> String {
    rule("1 + \n").replace("\\n", &"\n".repeat(60_000))
}

#[rstest]
#[case::errors_in_lines(&rule(&"@\n".repeat(21_000)))]
#[case::errors_in_one_line(&rule(&"#".repeat(65_000)))]
#[case::missing_operands(&rule(&format!("{}a", "a&&".repeat(21_600))))]
#[case::unknown_functions(&rule(&(0..3_000).map(|n| format!("zz{n}.foo(bar{n})")).collect::<Vec<_>>().join("||")))]
#[case::unknown_fields(&rule(&vec!["request.nope"; 4_000].join(" == ")))]
#[case::unknown_variables(&rule(&(0..3_500).map(|n| format!("variables.a{n}")).collect::<Vec<_>>().join(" + ")))]
#[case::large_types(&rule(&format!("{} == []", nested(240))))]
#[case::many_large_types(&rule(&format!("[{}] == []", vec![nested(40); 700].join(","))))]
#[case::mixed_types(&rule(&format!("[{}] == 1", vec!["{'a': [1]}.b + 'x'"; 3_000].join(","))))]
#[case::patterns(&rule(&vec![r"object.x.matches('[\\pL]{900}')"; 1_800].join("||")))]
#[case::many_routes_with_patterns(&many_routes_with_patterns())]
#[case::many_variables(&many_variables())]
#[case::many_lines(&folded_over_many_lines())]
#[case::empty_lines(&empty_lines_in_quotes())]
#[case::brackets_of_yaml(&"[".repeat(65_000))]
#[case::keys(&document(&(0..5_000).map(|n| format!(r#""k{n}":1"#)).collect::<Vec<_>>().join(",")))]
#[case::equal_routes(&document(&format!(r#""routes":[{}]"#, vec![r#"{"name":"r","predicate":"x"}"#; 2_000].join(","))))]
fn texts_of_64_kib_are_loaded_or_refused_at_once(#[case] text: &str) {
    assert!((30_000..70_000).contains(&text.len()) || text.len() < 5_000, "{}", text.len());
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("rule.yaml");
    std::fs::write(&path, text).expect("a file");
    // The best of three: what interrupts the thread is not the compiler's.
    let times = (0..3).map(|_| {
        let start = processor_time();
        let loaded = load(std::slice::from_ref(&path), None, Protected::default(), KubernetesVersion::NEWEST)
            .expect("there is something in it");
        assert!(!loaded.diagnostics.is_empty());
        processor_time() - start
    });
    let best = times.min().unwrap_or_default();
    // Without optimisation reading YAML alone takes as long as compiling may.
    let limit = Duration::from_millis(if cfg!(debug_assertions) { 100 } else { 50 });
    assert!(best < limit, "{best:?} for {} bytes", text.len());
}

/// Time that this thread has had a processor.
fn processor_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the system tells");
    let nanoseconds = told.split(' ').next().and_then(|text| text.parse().ok()).expect("a number");
    Duration::from_nanos(nanoseconds)
}
