//! The conformance tests of the CEL specification, as far as Kubernetes' environment answers them the same, from the corpus
//! beside the repository.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use usher_cel::eval::{Activation, Entry, Map};
use usher_cel::{Arena, Env, EvalError, EvalResult, Meter, Value};

#[test]
fn every_specification_row_that_kubernetes_answers_the_same_is_answered_the_same() {
    let Some(rows) = rows("celspec.jsonl") else { return };
    let mut misses = Vec::new();
    let mut answered = 0;
    for row in rows.iter().filter(|row| row["k8s_env"] == "same" && !needs_protobuf(row)) {
        answered += 1;
        if let Err(got) = judge(row) {
            misses.push(format!("{}: {} want {} got {got}", row["id"], row["expr"], row["expected"]));
        }
    }
    assert!(answered > 800, "only {answered} rows were found");
    assert!(misses.is_empty(), "{} of {answered} rows differ:\n{}", misses.len(), misses.join("\n"));
}

/// Finds a corpus file by looking for `shared/corpus` beside the repository; without it there is nothing to compare with.
fn rows(file: &str) -> Option<Vec<Json>> {
    let path: Option<PathBuf> = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("shared/corpus").join(file))
        .find(|path| path.exists());
    let Some(path) = path else {
        eprintln!("no shared/corpus beside the repository: {file} is not compared");
        return None;
    };
    let text = std::fs::read_to_string(path).expect("the corpus is readable");
    Some(text.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect())
}

fn needs_protobuf(row: &Json) -> bool {
    row["needs"].as_array().is_some_and(|needs| needs.iter().any(|need| need == "proto"))
}

fn judge(row: &Json) -> Result<(), String> {
    let expr = row["expr"].as_str().expect("an expression");
    let mut env = Env::new().with_container(row["container"].as_str().unwrap_or(""));
    if row["disable_check"] == true {
        env = env.without_type_checks();
    }
    let mut bindings = Vec::new();
    let arena = Arena::default();
    for (name, value) in row["bindings"].as_object().into_iter().flatten() {
        env.declare(name);
        bindings.push(decode(value, &arena));
    }
    for name in row["type_env"].as_object().into_iter().flatten().map(|(name, _)| name) {
        env.declare(name);
    }
    let expected = &row["expected"];
    let program = match env.compile(expr) {
        Ok(program) => program,
        Err(_) if expected.get("error").is_some() => return Ok(()),
        Err(issues) => return Err(issues.to_string()),
    };
    let mut meter = Meter::new(10_000_000);
    match program.evaluate(&Bindings(bindings), &arena, &mut meter) {
        Err(_) if expected.get("error").is_some() => Ok(()),
        Err(error) => Err(format!("error: {error}")),
        Ok(_) if expected.get("type_only").is_some() || expected.get("any_value").is_some() => Ok(()),
        Ok(value) => {
            let Some(wanted) = expected.get("value") else { return Err(value.to_string()) };
            let wanted = decode(wanted, &arena);
            if identical(&wanted, &value) { Ok(()) } else { Err(value.to_string()) }
        }
    }
}

struct Bindings<'a>(Vec<Value<'a>>);

impl<'a> Activation<'a> for Bindings<'a> {
    fn variable(&self, slot: u32, _meter: &mut Meter<'_>) -> EvalResult<'a> {
        self.0.get(slot as usize).copied().ok_or_else(|| EvalError::no_such_key("unbound variable"))
    }
}

/// The corpus' typed values.
fn decode<'a>(json: &Json, arena: &'a Arena) -> Value<'a> {
    let text = json["v"].as_str().unwrap_or_default();
    match json["t"].as_str().expect("a type") {
        "null" => Value::Null,
        "bool" => Value::Bool(json["v"].as_bool().expect("a bool")),
        "int" => Value::Int(text.parse().expect("an int")),
        "uint" => Value::Uint(text.parse().expect("a uint")),
        "double" => Value::Double(match text {
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            "NaN" => f64::NAN,
            text => text.parse().expect("a double"),
        }),
        "string" => Value::String(arena.alloc_str(text).expect("memory")),
        "bytes" => Value::Bytes(arena.alloc_slice(&STANDARD.decode(text).expect("base64")).expect("memory")),
        "type" => Value::Type(arena.alloc_str(text).expect("memory")),
        "list" => {
            let items = json["v"].as_array().expect("a list");
            let items: Vec<Value<'a>> = items.iter().map(|item| decode(item, arena)).collect();
            Value::List(arena.alloc_slice(&items).expect("memory"))
        }
        "map" => {
            let pairs = json["v"].as_array().expect("a map");
            let entries: Vec<Entry<'a>> = pairs
                .iter()
                .map(|pair| Entry { key: decode(&pair[0], arena), value: decode(&pair[1], arena) })
                .collect();
            Value::Map(Map::new(arena.alloc_slice(&entries).expect("memory"), arena).expect("memory"))
        }
        kind @ ("timestamp" | "duration") => evaluated(&format!("{kind}('{text}')")),
        other => panic!("unknown type {other}"),
    }
}

fn evaluated<'a>(expression: &str) -> Value<'a> {
    let program = Env::new().compile(expression).expect("it compiles");
    let arena = Arena::default();
    match program.evaluate(&Bindings(Vec::new()), &arena, &mut Meter::new(1_000)).expect("it has a value") {
        Value::Timestamp(timestamp) => Value::Timestamp(timestamp),
        Value::Duration(duration) => Value::Duration(duration),
        other => panic!("neither a timestamp nor a duration: {other}"),
    }
}

/// Equal in value and in type, all the way down; NaN is identical to itself.
fn identical(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => a == b || a.is_nan() && b.is_nan(),
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(*b).all(|(a, b)| identical(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            let found = |key: &Value<'_>| b.entries().iter().find(|other| identical(key, &other.key));
            a.len() == b.len()
                && a.entries()
                    .iter()
                    .all(|entry| found(&entry.key).is_some_and(|other| identical(&entry.value, &other.value)))
        }
        _ => std::mem::discriminant(a) == std::mem::discriminant(b) && usher_cel::eval::equal(a, b),
    }
}
