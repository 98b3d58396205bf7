//! Random expressions, answered by Usher and by the API server's own code.

mod generate;
mod kind;
mod macros;
mod oracle;
mod sizes;
mod tree;

use std::collections::BTreeMap;

use generate::Generator;
use oracle::Oracle;
use serde_json::{Value as Json, json};
use sizes::Stated;

use super::{check_difference, difference, estimate_difference};

/// Drawn where `ORACLE_CASES` and `ORACLE_SEED` do not say otherwise: as many as a test among others may take time for.
const CASES: u64 = 5_000;
const SEED: u64 = 4;
/// How often a question is asked again whose answer differs: one order of two keys in 65,000 rounds is never drawn.
const ASKED_AGAIN: usize = 16;
/// Differences shown at most.
const SHOWN: usize = 40;

#[test]
fn random_expressions_are_what_the_api_server_says() {
    let setting =
        |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let (cases, seed) = (setting("ORACLE_CASES", CASES), setting("ORACLE_SEED", SEED));
    let mut generator = Generator::new(seed);
    let mut oracle = Oracle::start();
    let mut kinds = BTreeMap::<&str, u64>::new();
    let mut misses = Vec::new();
    for _ in 0..cases {
        let (tree, object) = (generator.expression(), object(&mut generator));
        let expression = tree.text();
        let answer = oracle.ask(&expression, &object);
        *kinds.entry(kind_of(&answer)).or_default() += 1;
        if compare(&expression, &object, &answer).is_none()
            || differs(&mut oracle, &expression, &object).is_none()
        {
            continue;
        }
        let smallest = tree.shrink(|tree| differs(&mut oracle, &tree.text(), &object).is_some());
        let how = differs(&mut oracle, &smallest.text(), &object).unwrap_or_default();
        misses.push(format!("{}\n    {how}\n    from {expression} with {object}", smallest.text()));
        if misses.len() >= SHOWN {
            break;
        }
    }
    println!("seed {seed}: {kinds:?}");
    assert!(misses.is_empty(), "seed {seed}, {} differ:\n{}", misses.len(), misses.join("\n"));
}

/// What differs from every answer that the oracle gives. It has several where the order of a map's keys decides, which in Go is another each
/// time.
fn differs(oracle: &mut Oracle, expression: &str, object: &Json) -> Option<String> {
    let mut how = None;
    for _ in 0..ASKED_AGAIN {
        how = Some(compare(expression, object, &oracle.ask(expression, object))?);
    }
    how
}

fn kind_of(answer: &Json) -> &'static str {
    match answer["stage"].as_str() {
        Some("compile") => "compile error",
        Some("panic") => "crash of the API server",
        Some(_) => "evaluation error",
        None => "value",
    }
}

fn compare(expression: &str, object: &Json, answer: &Json) -> Option<String> {
    // What has no order has no place among sorted numbers; Usher puts it last.
    let sorts_nan = expression.contains(".sort") && answer.to_string().contains("NaN");
    if sorts_nan || is_deliberate(answer) {
        return None;
    }
    check_difference(expression, answer)
        .or_else(|| estimate_difference(expression, answer, &Stated))
        .or_else(|| difference(expression, answer, &object.to_string()))
}

/// Differences that are meant to be:
///
/// * what crashes the API server's compiler, such as a map literal with bytes as a key, cannot be answered in the same way;
/// * where the API server fails inside (sorting what fails to evaluate, `flatten('a')` on dyn, bytes as a key), its text is one of Go; Usher
///   gives the error itself;
/// * what is no name of a time zone makes the API server look for a file; where the system refuses that, its text is the system's.
/// * the text of a list or map within a message, and the name of the Go type behind a list that was joined;
/// * a list or map as a key of a map is to Go the same key only if it is the same object, which a constant is in every round of a loop.
fn is_deliberate(answer: &Json) -> bool {
    let error = answer["error"].as_str().unwrap_or_default();
    answer["stage"] == "panic"
        || error.starts_with("internal error: interface conversion: ")
        || error.starts_with("internal error: runtime error: hash of unhashable type ")
        || error.starts_with("internal error: hash of unhashable type: ")
        || error.starts_with("cannot initialize optional ") && error.ends_with([']', '}'])
        || error.starts_with("insert failed: key [")
        || error.starts_with("insert failed: key {")
        || error.starts_with("value ") && error.ends_with(" is not optional") && error.contains(['[', '{'])
        || error == "invalid qualifier type: *types.concatList"
        || ["is a directory", "not a directory", "file name too long"].contains(&error)
}

fn object(generator: &mut Generator) -> Json {
    let ints = [0, 1, -1, 5, i64::MAX, i64::MIN];
    let strings = ["", "a", "b", "é", "1Gi", "10.0.0.1"];
    let scalars = [json!(1), json!(2.5), json!("a"), json!(true), json!(null), json!([1]), json!({"a": 1})];
    let list: Vec<Json> = (0..generator.below(4)).map(|_| generator.pick(&scalars).clone()).collect();
    json!({
        "i": generator.pick(&ints), "s": generator.pick(&strings), "d": 1.5, "b": generator.below(2) == 0,
        "n": null, "l": list, "m": {"a": generator.pick(&scalars), "b": generator.pick(&scalars)},
    })
}
