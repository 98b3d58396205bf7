//! Cases of one expression, and checks that are lists of expressions.

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::{Value as Json, json};
use usher_cel::compile::compile;
use usher_cel::document::{self, Options};
use usher_cel::eval::{Activation, Arena, EvalResult, Meter, Value};
use usher_cel::library::Ty;
use usher_cel::{Env, Program};

use crate::typed;

/// What one expression of a policy may cost.
const COST_LIMIT: u64 = 1_000_000;

/// An expression with typed bindings: the value, or the stage at which there is an error.
pub(crate) fn conformance(case: &Json) -> Result<Json> {
    let source = case["expr"].as_str().context("no expression")?;
    let arena = Arena::default();
    let mut env = Env::new();
    if let Some(container) = case["container"].as_str().filter(|container| !container.is_empty()) {
        env = env.with_container(container);
    }
    if case["disable_check"] == true {
        env = env.without_type_checks();
    }
    let mut values = Vec::new();
    let empty = serde_json::Map::new();
    for (name, value) in case["bindings"].as_object().unwrap_or(&empty) {
        env.declare(name);
        values.push(Some(typed::read(value, &arena)?));
    }
    for (name, ty) in case["type_env"].as_object().unwrap_or(&empty) {
        let slot = env.declare_typed(name, ty.as_str().map_or(Ty::Dyn, declared_type)) as usize;
        values.resize(values.len().max(slot + 1), None);
    }
    let program = match compile(source, &env) {
        Ok(program) => program,
        Err(issues) => return Ok(json!({"decision": "compile-error", "error": issues.to_string()})),
    };
    // Names of a type and without a value are there to be checked only.
    if case["check_only"] == true && values.iter().any(Option::is_none) {
        return Ok(json!({"decision": "value", "value": null}));
    }
    let result = program.evaluate(&Bindings { values }, &arena, &mut Meter::new(COST_LIMIT));
    Ok(match result {
        Ok(value) => json!({"decision": "value", "value": typed::write(&value)}),
        Err(error) => json!({"decision": "error", "error": error.message}),
    })
}

/// Values by slot; a declared name without a value is an error when it is read.
struct Bindings<'a> {
    values: Vec<Option<Value<'a>>>,
}

impl<'a> Activation<'a> for Bindings<'a> {
    fn variable(&self, slot: u32, _meter: &mut Meter<'_>) -> EvalResult<'a> {
        let value = self.values.get(slot as usize).copied().flatten();
        value.ok_or_else(|| usher_cel::EvalError::invalid("no such attribute"))
    }
}

/// A type of the corpus' declarations.
fn declared_type(name: &str) -> Ty {
    match name {
        "bool" => Ty::Bool,
        "int64" => Ty::Int,
        "uint64" => Ty::Uint,
        "double" => Ty::Double,
        "string" => Ty::String,
        "bytes" => Ty::Bytes,
        "null" => Ty::Null,
        "timestamp" => Ty::Timestamp,
        "duration" => Ty::Duration,
        _ if name.starts_with("list(") => Ty::List(&Ty::Dyn),
        _ if name.starts_with("map(") => Ty::Map(&Ty::Dyn, &Ty::Dyn),
        _ => Ty::Dyn,
    }
}

/// Expressions that must all be true over plain JSON and named variables.
pub(crate) fn checks(case: &Json) -> Result<Json> {
    let mut env = Env::new();
    let mut sources = Vec::new();
    for (name, value) in case["bindings"].as_object().context("no bindings")? {
        env.declare(name);
        sources.push(Source::Json(value.to_string()));
    }
    for name in ["object", "params", "podSpec", "podMeta", "allContainers", "apiVersions", "kubeVersion"] {
        if case["bindings"].get(name).is_none() {
            env.declare(name);
            sources.push(Source::Json("null".to_owned()));
        }
    }
    for variable in case["variables"].as_array().into_iter().flatten() {
        let (name, source) = (variable["name"].as_str(), variable["expression"].as_str());
        let (name, source) = (name.context("no name")?, source.context("no expression")?);
        match compile(source, &env) {
            Ok(program) => sources.push(Source::Expression(program)),
            Err(issues) => return Ok(json!({"decision": "error", "error": issues.to_string()})),
        }
        env.declare(&format!("variables.{name}"));
    }
    let mut programs = Vec::new();
    for source in case["expressions"].as_array().context("no expressions")? {
        match compile(source.as_str().context("no text")?, &env) {
            Ok(program) => programs.push(program),
            Err(issues) => return Ok(json!({"decision": "error", "error": issues.to_string()})),
        }
    }
    let arena = Arena::default();
    let scope = Scope { sources: &sources, arena: &arena, known: RefCell::default() };
    let mut verdict = json!({"decision": "pass"});
    for program in &programs {
        match program.evaluate(&scope, &arena, &mut Meter::new(COST_LIMIT)) {
            Ok(Value::Bool(true)) => {}
            Ok(_) => return Ok(json!({"decision": "fail"})),
            Err(error) => verdict = json!({"decision": "error", "error": error.message}),
        }
    }
    Ok(verdict)
}

enum Source {
    Json(String),
    Expression(Program),
}

/// Documents and lazily evaluated variables.
struct Scope<'a> {
    sources: &'a [Source],
    arena: &'a Arena,
    known: RefCell<BTreeMap<u32, EvalResult<'a>>>,
}

impl<'a> Activation<'a> for Scope<'a> {
    fn variable(&self, slot: u32, meter: &mut Meter<'_>) -> EvalResult<'a> {
        if let Some(known) = self.known.borrow().get(&slot) {
            return known.clone();
        }
        let value = match &self.sources[slot as usize] {
            Source::Json(json) => document::parse(json, self.arena, Options::default())
                .map_err(|error| usher_cel::EvalError::invalid(error.to_string())),
            Source::Expression(program) => program.evaluate(self, self.arena, meter),
        };
        self.known.borrow_mut().insert(slot, value.clone());
        value
    }
}
