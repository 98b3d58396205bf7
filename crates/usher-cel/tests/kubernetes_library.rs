//! Kubernetes' own CEL libraries, compared with the recorded answers of the API server's code: value, error, estimated and actual cost.
//!
//! `kubernetes_library/expressions.txt` holds the expressions, `answers.jsonl` what `tests/cluster/oracle` says about them;
//! `language.jsonl` is the same for operators, macros and selections on the variable `object` of `object.json`; `checks.jsonl` holds what is
//! known before evaluation.

#[path = "kubernetes_library/random/mod.rs"]
mod random;

use base64::Engine as _;
use serde_json::Value as Json;
use usher_cel::cost::{self, Sizes, Unknown};
use usher_cel::document::{self, Options};
use usher_cel::eval::{Activation, ErrorKind, type_name};
use usher_cel::library::Ty;
use usher_cel::library::authorizer::{Authorize, Authorizer, Check, Decision};
use usher_cel::library::opaque::OpaqueValue;
use usher_cel::parse::parse_for;
use usher_cel::{Arena, Env, EvalResult, KubernetesVersion, Meter, Value};

#[test]
fn the_libraries_answer_as_the_api_server_does() {
    compare(include_str!("kubernetes_library/answers.jsonl"), 450);
}

#[test]
fn the_language_answers_and_costs_as_in_the_api_server() {
    compare(include_str!("kubernetes_library/language.jsonl"), 160);
}

/// `checks.jsonl` has the first line of the error, or the type of the result, as Kubernetes names it.
#[test]
fn types_and_errors_are_those_of_the_api_servers_checker() {
    let rows: Vec<Json> = include_str!("kubernetes_library/checks.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a check is JSON"))
        .collect();
    assert!(rows.len() > 500, "only {} checks", rows.len());
    let misses: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let expression = row["expr"].as_str().expect("an expression");
            let difference = check_difference(expression, row, KubernetesVersion::NEWEST)?;
            Some(format!("{expression}\n    {difference}"))
        })
        .collect();
    assert!(misses.is_empty(), "{} of {} differ:\n{}", misses.len(), rows.len(), misses.join("\n"));
}

/// The variables of the oracle.
fn env(version: KubernetesVersion) -> Env {
    let mut env = Env::new().for_version(version);
    env.declare_typed("authorizer", Ty::Opaque("kubernetes.authorization.Authorizer"));
    env.declare("object");
    env
}

/// What differs before evaluation: the type of the result, or the first line of the compile error.
fn check_difference(expression: &str, row: &Json, version: KubernetesVersion) -> Option<String> {
    let env = env(version);
    // An error of the evaluation says nothing about types.
    let error = row["error"].as_str().filter(|_| row["stage"] != "run");
    let expected = error.or(row["type"].as_str());
    let expected = expected.unwrap_or_default().lines().next().unwrap_or_default();
    let found = match env.compile(expression) {
        Ok(program) => program.result_type().to_string(),
        Err(issues) => issues.to_string().lines().next().unwrap_or_default().to_owned(),
    };
    // Where Kubernetes only says that a literal is invalid, the reason follows here.
    let explained = expected.contains("invalid") && found.starts_with(&format!("{expected}: "));
    // Kubernetes gives no place for what fails when constants are folded.
    let placed = expected
        .strip_prefix("program instantiation failed: ")
        .is_some_and(|cause| found.starts_with("ERROR: <input>:") && found.ends_with(cause));
    (found != expected && !explained && !placed).then(|| format!("{found}\n    want {expected}"))
}

/// What differs in the estimated cost of an expression that compiles.
fn estimate_difference(
    expression: &str,
    row: &Json,
    sizes: &dyn Sizes,
    version: KubernetesVersion,
) -> Option<String> {
    let expected = row["estimate"].as_array()?;
    let expected = (expected.first()?.as_u64()?, expected.get(1)?.as_u64()?);
    let env = env(version);
    let estimate = cost::estimate(&parse_for(expression, version).ok()?, &env, sizes).ok()?.cost();
    let found = (estimate.min, estimate.max);
    (found != expected).then(|| format!("estimated cost {found:?}\n    want {expected:?}"))
}

fn compare(answers: &str, least: usize) {
    let rows: Vec<Json> =
        answers.lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect();
    assert!(rows.len() > least, "only {} answers", rows.len());
    let misses: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let expression = row["id"].as_str().expect("an expression");
            // Rows without either were recorded before the oracle told the type.
            let is_checked = row["type"].is_string() || row["stage"] == "compile";
            let version = KubernetesVersion::NEWEST;
            let difference = if is_checked { check_difference(expression, row, version) } else { None }
                .or_else(|| estimate_difference(expression, row, &Unknown, version))
                .or_else(|| {
                    difference(expression, row, include_str!("kubernetes_library/object.json"), version)
                })?;
            Some(format!("{expression}\n    {difference}"))
        })
        .collect();
    assert!(misses.is_empty(), "{} of {} differ:\n{}", misses.len(), rows.len(), misses.join("\n"));
}

/// What differs from the recorded answer; `None` when nothing does.
fn difference(expression: &str, row: &Json, object: &str, version: KubernetesVersion) -> Option<String> {
    let arena = Arena::default();
    let authorizer = OpaqueValue::Authorizer(Authorizer::default());
    let env = env(version);
    let object = document::parse(object, &arena, Options::default()).expect("the object is JSON");
    let program = match env.compile(expression) {
        Ok(program) => program,
        Err(_) if row["stage"] == "compile" => return None,
        Err(issues) => return Some(format!("does not compile: {issues}\n    want {row}")),
    };
    let mut meter = Meter::new(1_000_000);
    let answer = program.evaluate(&Variables { authorizer: &authorizer, object }, &arena, &mut meter);
    match (answer, row["error"].as_str()) {
        (Err(_), Some(_)) if row["stage"] == "compile" => return None,
        (Err(error), Some(expected)) if error.message == expected => {
            // How far beyond the limit an expression came is nobody's business.
            if error.kind == ErrorKind::CostLimit {
                return None;
            }
        }
        (Err(error), Some(expected)) => {
            return Some(format!("error {:?}\n    want  {expected:?}", error.message));
        }
        (Err(error), None) => return Some(format!("error {:?}\n    want {}", error.message, row["value"])),
        (Ok(value), Some(expected)) => return Some(format!("{value}\n    want error {expected:?}")),
        (Ok(value), None) if !is_recorded(&value, &row["value"]) => {
            return Some(format!("{value:?}\n    want {}", row["value"]));
        }
        (Ok(_), None) => {}
    }
    (meter.spent() != row["cost"].as_u64()?).then(|| format!("cost {}, want {}", meter.spent(), row["cost"]))
}

struct Variables<'a> {
    authorizer: &'a OpaqueValue<'a>,
    object: Value<'a>,
}

impl<'a> Activation<'a> for Variables<'a> {
    fn variable(&self, slot: u32, _meter: &mut Meter<'_>) -> EvalResult<'a> {
        Ok(if slot == 0 { Value::Opaque(self.authorizer) } else { self.object })
    }

    fn authorizer(&self) -> Option<&dyn Authorize> {
        Some(&FixedAuthorizer)
    }
}

/// The same answers as the oracle's authorizer.
struct FixedAuthorizer;

impl Authorize for FixedAuthorizer {
    fn check(&self, check: &Check<'_>) -> Decision {
        match check.verb {
            "get" => Decision { allowed: true, reason: "everybody may get".into(), error: None },
            "fail" => Decision { error: Some("the authorizer failed".into()), ..Decision::default() },
            _ => Decision::default(),
        }
    }
}

/// Whether a value is what was recorded. Values of a library's own type are compared by making one from the recorded text.
fn is_recorded(value: &Value<'_>, recorded: &Json) -> bool {
    let text = &recorded["v"];
    match (value, recorded["t"].as_str().unwrap_or_default()) {
        (Value::Bool(bool), "bool") => text == *bool,
        (Value::Int(int), "int") => text.as_str() == Some(&int.to_string()),
        (Value::Null, "null") => true,
        (Value::Uint(uint), "uint") => text.as_str() == Some(&uint.to_string()),
        (Value::Bytes(bytes), "bytes") => {
            text.as_str() == Some(&base64::engine::general_purpose::STANDARD.encode(bytes))
        }
        (Value::Double(double), "double") => {
            let recorded = text.as_str().and_then(parse_double);
            recorded.is_some_and(|recorded| recorded == *double || recorded.is_nan() && double.is_nan())
        }
        (Value::String(string), "string") => text == *string,
        (Value::Type(name), "type") => text == *name,
        (Value::Timestamp(time), "timestamp") => text.as_str() == Some(&time.to_string()),
        (Value::Duration(nanoseconds), "duration") => {
            let made = made_by(&format!("duration('{}')", text.as_str().unwrap_or_default()));
            made == Some(*nanoseconds)
        }
        (Value::Optional(None), "optional") => text.is_null(),
        (Value::Optional(Some(value)), "optional") => !text.is_null() && is_recorded(value, text),
        (Value::List(items), "list") => {
            let recorded = text.as_array().map(Vec::as_slice).unwrap_or_default();
            items.len() == recorded.len()
                && items.iter().zip(recorded).all(|(item, recorded)| is_recorded(item, recorded))
        }
        (Value::Map(map), "map") => {
            let recorded = text.as_array().map(Vec::as_slice).unwrap_or_default();
            map.len() == recorded.len()
                && recorded.iter().all(|recorded| {
                    map.entries().iter().any(|entry| {
                        is_recorded(&entry.key, &recorded[0]) && is_recorded(&entry.value, &recorded[1])
                    })
                })
        }
        (Value::Opaque(_), name) => {
            type_name(value) == name && text.as_str().is_none_or(|text| is_made_from(value, name, text))
        }
        _ => false,
    }
}

/// The nanoseconds that a constant expression gives.
fn made_by(expression: &str) -> Option<i64> {
    let arena = Arena::default();
    let authorizer = OpaqueValue::Authorizer(Authorizer::default());
    let program = Env::new().compile(expression).ok()?;
    let variables = Variables { authorizer: &authorizer, object: Value::Null };
    match program.evaluate(&variables, &arena, &mut Meter::new(1_000)) {
        Ok(Value::Duration(nanoseconds)) => Some(nanoseconds),
        _ => None,
    }
}

fn is_made_from(value: &Value<'_>, type_name: &str, text: &str) -> bool {
    let function = match type_name {
        "kubernetes.Quantity" => "quantity",
        "kubernetes.URL" => "url",
        "kubernetes.Semver" => "semver",
        "net.IP" => "ip",
        "net.CIDR" => "cidr",
        // Formats have no text that makes them.
        _ => return true,
    };
    let expression = format!("{function}({text:?})");
    let program = Env::new().compile(&expression).expect("the recorded text can be read");
    let arena = Arena::default();
    let authorizer = OpaqueValue::Authorizer(Authorizer::default());
    let made = program.evaluate(
        &Variables { authorizer: &authorizer, object: Value::Null },
        &arena,
        &mut Meter::new(1000),
    );
    let is_made = |expression: &str| {
        let Ok(program) = Env::new().compile(expression) else { return false };
        let variables = Variables { authorizer: &authorizer, object: Value::Null };
        let limit = program.evaluate(&variables, &arena, &mut Meter::new(1000));
        matches!((&made, limit), (Ok(made), Ok(limit)) if usher_cel::eval::equal(made, &limit))
    };
    // What is too large for an int64 is cut there when it is read, so that the text of a sum says too little.
    let is_cut = type_name == "kubernetes.Quantity"
        && (is_made("quantity('9223372036854775807')") || is_made("quantity('-9223372036854775807')"));
    is_cut || made.as_ref().is_ok_and(|made| usher_cel::eval::equal(value, made))
}

fn parse_double(text: &str) -> Option<f64> {
    text.replace("Infinity", "inf").parse().ok()
}
