//! Answers the cases of a corpus of outside tests, one JSON line a case, for a scorer that knows what is right.
//!
//! `cargo run --release --example corpus -- --answers OUT FILE…`
//!
//! Each FILE has one case a line; what kind of case it is shows in its fields, so files of any name and mixture will do. A case that cannot be
//! read, or on which the code under test panics, gets no answer, is named on stderr, and makes the exit status 1.

mod admission;
mod expressions;
mod patches;
mod pods;
mod request;
mod typed;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::Value;

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(unanswered) => {
            eprintln!("{unanswered} cases without an answer");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// How many cases got no answer.
fn run(arguments: Vec<String>) -> Result<usize> {
    let [flag, out, files @ ..] = &arguments[..] else { bail!("usage: corpus --answers OUT FILE…") };
    if flag != "--answers" || files.is_empty() {
        bail!("usage: corpus --answers OUT FILE…");
    }
    let mut answers = BufWriter::new(File::create(out).with_context(|| format!("cannot write {out}"))?);
    let mut unanswered = 0;
    for file in files {
        let lines = BufReader::new(File::open(file).with_context(|| format!("cannot read {file}"))?).lines();
        let mut answered = 0;
        for (number, line) in lines.enumerate() {
            let place = || format!("{file}:{}", number + 1);
            let line = line.with_context(place)?;
            if line.trim().is_empty() {
                continue;
            }
            match answer_line(&line) {
                Ok(answer) => {
                    writeln!(answers, "{answer}").with_context(|| format!("cannot write {out}"))?;
                    answered += 1;
                }
                Err(error) => {
                    eprintln!("{}: {error:#}", place());
                    unanswered += 1;
                }
            }
        }
        eprintln!("{file}: {answered} answers");
    }
    answers.flush().with_context(|| format!("cannot write {out}"))?;
    Ok(unanswered)
}

fn answer_line(line: &str) -> Result<Value> {
    let case: Value = serde_json::from_str(line).context("no JSON")?;
    let id = case.get("id").and_then(Value::as_str).context("a case without id")?;
    let answer = catch_unwind(AssertUnwindSafe(|| answer(&case)));
    let mut answer = match answer {
        Ok(answer) => answer.with_context(|| id.to_owned())?,
        Err(_) => bail!("{id}: panic"),
    };
    answer["id"] = id.into();
    Ok(answer)
}

fn answer(case: &Value) -> Result<Value> {
    let has = |field: &str| case.get(field).is_some();
    if has("expr") {
        expressions::conformance(case)
    } else if has("expressions") {
        expressions::checks(case)
    } else if has("policy") && has("request") {
        admission::decision(case)
    } else if has("policy") {
        admission::compiles(case)
    } else if has("review") {
        admission::review(case)
    } else if has("level") {
        pods::verdict(case)
    } else if has("doc") {
        patches::apply(case)
    } else if has("after") {
        patches::difference(case)
    } else {
        bail!("a case of no known kind")
    }
}
