//! Calls of library functions without an expression around them, for the tables of tests.

use std::cell::Cell;

use super::authorizer::Authorize;
use super::{Call, Form, Prepared, find};
use crate::KubernetesVersion;
use crate::eval::{Arena, EvalError, EvalResult, Meter, Timestamp, Value, equal, type_name};

/// An arena, an authorizer and the cost so far.
#[derive(Default)]
pub(super) struct Library<'p> {
    arena: Arena,
    spent: Cell<u64>,
    authorizer: Option<&'p dyn Authorize>,
}

impl<'p> Library<'p> {
    pub(super) fn with_authorizer(authorizer: &'p dyn Authorize) -> Self {
        Self { authorizer: Some(authorizer), ..Self::default() }
    }

    pub(super) fn global<'a>(&'a self, name: &str, args: &[Value<'a>]) -> EvalResult<'a> {
        self.call(name, Form::Global, args, None)
    }

    pub(super) fn member<'a>(&'a self, name: &str, args: &[Value<'a>]) -> EvalResult<'a> {
        self.call(name, Form::Member, args, None)
    }

    pub(super) fn call<'a>(
        &'a self,
        name: &str,
        form: Form,
        args: &[Value<'a>],
        prepared: Option<&'a Prepared>,
    ) -> EvalResult<'a> {
        let overload = find(name, form, KubernetesVersion::NEWEST)
            .and_then(|overloads| overloads.iter().find(|overload| overload.admits(args)))
            .ok_or_else(EvalError::no_such_overload)?;
        let mut meter = Meter::new(u64::MAX);
        let mut call = Call { arena: &self.arena, meter: &mut meter, prepared, authorizer: self.authorizer };
        let answer = (overload.call)(&mut call, args);
        self.spent.set(self.spent.get() + meter.spent());
        answer
    }

    pub(super) fn spent(&self) -> u64 {
        self.spent.get()
    }
}

pub(super) fn string(text: &str) -> Value<'_> {
    Value::String(text)
}

/// A value as CEL text, an error as its message.
pub(super) fn show(answer: EvalResult<'_>) -> String {
    match answer {
        Ok(value) => show_value(&value),
        Err(error) => error.message,
    }
}

fn show_value(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(bool) => bool.to_string(),
        Value::Int(int) => int.to_string(),
        Value::Double(double) => format!("{double:?}"),
        Value::String(text) => format!("{text:?}"),
        Value::List(items) => format!("[{}]", items.iter().map(show_value).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let entries: Vec<_> = map
                .entries()
                .iter()
                .map(|e| format!("{}: {}", show_value(&e.key), show_value(&e.value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Optional(None) => "none".into(),
        Value::Optional(Some(value)) => format!("optional({})", show_value(value)),
        other => format!("{other:?}"),
    }
}

/// Calls a function and compares the value (its type too) or the error's text; for a value the cost as well.
#[track_caller]
pub(super) fn check(
    name: &str,
    form: Form,
    args: &[Value<'static>],
    expected: Result<Value<'static>, &str>,
    cost: u64,
) {
    let library = Library::default();
    match (library.call(name, form, args, None), expected) {
        (Ok(value), Ok(expected)) => {
            let same = equal(&value, &expected) && type_names(&value) == type_names(&expected);
            assert!(same, "{name}: {value:?} is not {expected:?}");
            assert_eq!(library.spent(), cost, "cost of {name}");
        }
        (Err(error), Err(expected)) => assert_eq!(error.message, expected, "error of {name}"),
        (answer, expected) => panic!("{name}: {answer:?} is not {expected:?}"),
    }
}

/// The type of a value and of what it holds: `1 == 1.0` must not pass for the same answer.
fn type_names(value: &Value<'_>) -> Vec<String> {
    let mut names = vec![type_name(value).to_owned()];
    match value {
        Value::List(items) => names.extend(items.iter().flat_map(type_names)),
        Value::Optional(Some(inner)) => names.extend(type_names(inner)),
        _ => {}
    }
    names
}

pub(super) fn time(seconds: i64, nanoseconds: u32) -> Value<'static> {
    Value::Timestamp(Timestamp::from_unix(seconds, nanoseconds).unwrap())
}
