//! Answers CEL expressions, one JSON line each, in the form of `tests/cluster/oracle`: `{"id", "expr", "vars": {…}}` in; value as text, error with
//! its stage, and cost out. For holding this crate against the API server's own code.

use std::io::{BufRead, Write};

use serde_json::{Value as Json, json};
use usher_cel::document::{self, Options};
use usher_cel::eval::Activation;
use usher_cel::library::Ty;
use usher_cel::library::authorizer::Authorizer;
use usher_cel::library::opaque::OpaqueValue;
use usher_cel::{Arena, Env, EvalResult, Meter, Value};

/// Kubernetes' limit of one expression (`PerCallLimit`).
const COST_LIMIT: u64 = 1_000_000;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let row: Json = serde_json::from_str(&line?)?;
        writeln!(out, "{}", answer(&row))?;
    }
    Ok(())
}

fn answer(row: &Json) -> Json {
    let id = &row["id"];
    let arena = Arena::default();
    let authorizer = OpaqueValue::Authorizer(Authorizer::default());
    let mut env = Env::new();
    env.declare_typed("authorizer", Ty::Opaque("kubernetes.authorization.Authorizer"));
    let mut variables = vec![Value::Opaque(&authorizer)];
    let texts: Vec<(String, String)> = row["vars"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect();
    for (name, text) in &texts {
        env.declare(name);
        match document::parse(text, &arena, Options::default()) {
            Ok(value) => variables.push(value),
            Err(error) => return json!({"id": id, "stage": "input", "error": error.to_string()}),
        }
    }
    let program = match env.compile(row["expr"].as_str().unwrap_or_default()) {
        Ok(program) => program,
        Err(issues) => return json!({"id": id, "stage": "compile", "error": issues.to_string()}),
    };
    let mut meter = Meter::new(COST_LIMIT);
    match program.evaluate(&Variables(variables), &arena, &mut meter) {
        Ok(value) => json!({"id": id, "value": value.to_string(), "cost": meter.spent()}),
        Err(error) => json!({"id": id, "stage": "eval", "error": error.message, "cost": meter.spent()}),
    }
}

struct Variables<'a>(Vec<Value<'a>>);

impl<'a> Activation<'a> for Variables<'a> {
    fn variable(&self, slot: u32, _meter: &mut Meter<'_>) -> EvalResult<'a> {
        self.0
            .get(slot as usize)
            .copied()
            .ok_or_else(|| usher_cel::EvalError::no_such_key("unbound variable"))
    }
}
