//! Random expressions, answered by Usher and by the API server's own code.

mod generate;
mod kind;
mod macros;
mod oracle;
mod sizes;
mod tree;

use std::collections::BTreeMap;

use generate::Generator;
use oracle::{Oracle, Oracles};
use serde_json::{Value as Json, json};
use sizes::Stated;
use usher_cel::KubernetesVersion;

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
    let forced =
        std::env::var("ORACLE_VERSION").ok().map(|text| text.parse().expect("a version of Kubernetes"));
    let mut generator = Generator::new(seed);
    let mut oracles = Oracles::default();
    let mut kinds = BTreeMap::<&str, u64>::new();
    let mut misses = Vec::new();
    for _ in 0..cases {
        let (tree, object) = (generator.expression(), object(&mut generator));
        let expression = tree.text();
        // Before 1.37 a long range takes all memory and time that there is.
        let version = match forced.unwrap_or_else(|| version(&mut generator)) {
            _ if expression.contains("lists.range") => KubernetesVersion::NEWEST,
            version => version,
        };
        let oracle = oracles.of(version);
        let answer = oracle.ask(&expression, &object, version);
        *kinds.entry(kind_of(&answer)).or_default() += 1;
        if compare(&expression, &object, version, &answer).is_none()
            || differs(oracle, &expression, &object, version).is_none()
        {
            continue;
        }
        let smallest = tree.shrink(|tree| differs(oracle, &tree.text(), &object, version).is_some());
        let how = differs(oracle, &smallest.text(), &object, version).unwrap_or_default();
        let from = format!("from {expression} with {object}");
        misses.push(format!("{version}: {}\n    {how}\n    {from}", smallest.text()));
        if misses.len() >= SHOWN {
            break;
        }
    }
    println!("seed {seed}: {kinds:?}");
    assert!(misses.is_empty(), "seed {seed}, {} differ:\n{}", misses.len(), misses.join("\n"));
}

/// The newest half of the time, and each of the others as often as any.
fn version(generator: &mut Generator) -> KubernetesVersion {
    if generator.below(2) == 0 {
        return KubernetesVersion::NEWEST;
    }
    let all: Vec<KubernetesVersion> = KubernetesVersion::all().collect();
    *generator.pick(&all)
}

/// What differs from every answer that the oracle gives. It has several where the order of a map's keys decides, which in Go is another each
/// time.
fn differs(
    oracle: &mut Oracle,
    expression: &str,
    object: &Json,
    version: KubernetesVersion,
) -> Option<String> {
    let mut how = None;
    for _ in 0..ASKED_AGAIN {
        how = Some(compare(expression, object, version, &oracle.ask(expression, object, version))?);
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

fn compare(expression: &str, object: &Json, version: KubernetesVersion, answer: &Json) -> Option<String> {
    // What has no order has no place among sorted numbers; Usher puts it last.
    let sorts_nan = expression.contains(".sort") && answer.to_string().contains("NaN");
    if sorts_nan || is_deliberate(answer) {
        return None;
    }
    if version < KubernetesVersion::NEWEST && is_old_fault(expression, answer) {
        return None;
    }
    // The code of 1.36 has the selectors of the authorizer for every version, by a feature gate that 1.30 did not have.
    if version == KubernetesVersion::OLDEST && expression.contains("Selector(") {
        return None;
    }
    check_difference(expression, answer, version)
        .or_else(|| estimate_difference(expression, answer, &Stated, version))
        .or_else(|| difference(expression, answer, &object.to_string(), version))
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

/// Faults of Kubernetes up to 1.36 that Usher does not have whatever the version:
///
/// * an optional that comes out of a conditional or a variable is opened and made anew: one in another is lost, a value of one of Kubernetes' own
///   types becomes an error, a type its name;
/// * a negative depth makes `flatten` cost less than nothing, or more than there is;
/// * `size` takes a text for a list when `orValue` lets one through;
/// * `indexOf` and `lastIndexOf` of nothing give the start they were given, wherever that is.
fn is_old_fault(expression: &str, answer: &Json) -> bool {
    const OPTIONALS: &[&str] =
        &["optional.", "optMap", "optFlatMap", "[?", ".?", ".first(", ".last(", "format.named", ".validate("];
    let optionals: usize = OPTIONALS.iter().map(|text| expression.matches(text).count()).sum();
    let error = answer["error"].as_str().unwrap_or_default();
    answer["value"].to_string().contains(r#""t":"error""#)
        || error.starts_with("unsupported conversion to ref.Val: ")
        || optionals > 1
        || expression.contains(".flatten(")
        || expression.contains(".orValue(") && expression.contains("size(")
        || expression.contains(".indexOf(")
        || expression.contains(".lastIndexOf(")
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
