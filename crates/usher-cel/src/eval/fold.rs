//! Comprehensions.
//!
//! The standard macros run without their accumulator but charge what cel-go's expansion costs: a look at the accumulator is one, a
//! call of `@not_strictly_false` or `!` is one, a list literal is ten.

use super::error::{ErrorKind, EvalError, EvalResult};
use super::evaluator::Evaluator;
use super::select::KeyText;
use super::value::{Entry, Map, Value};
use crate::compile::{Accumulator, Fold, FoldKind, NodeId};

/// `@not_strictly_false(@result)`.
const ALL_CONDITION: u64 = 2;
/// `@not_strictly_false(!@result)`.
const EXISTS_CONDITION: u64 = 3;
/// A look at `@result`.
const ACCUMULATOR: u64 = 1;
/// `@result + [x]` without `x`: look, list literal, concatenation.
const APPEND: u64 = 12;
/// The same of a constant: `[x]` is made before the evaluation.
const APPEND_CONSTANT: u64 = 2;
/// `@result + 1`.
const COUNT: u64 = 2;
/// `@result == 1`.
const COUNT_RESULT: u64 = 2;
/// `cel.@mapInsert(@result, k, v)` without `v`.
const INSERT: u64 = 3;

pub(super) fn fold<'a>(evaluator: &mut Evaluator<'_, '_, 'a>, fold: &'a Fold) -> EvalResult<'a> {
    let range = evaluator.eval(fold.range)?;
    let items = Items::of(range, fold.variable2.is_some())?;
    match &fold.kind {
        FoldKind::All(predicate) => quantify(evaluator, fold, items, *predicate, false),
        FoldKind::Exists(predicate) => quantify(evaluator, fold, items, *predicate, true),
        FoldKind::ExistsOne(predicate) => exists_one(evaluator, fold, items, *predicate),
        FoldKind::List { filter, body } => list(evaluator, fold, items, *filter, *body),
        FoldKind::Map { filter, value } => map(evaluator, fold, items, *filter, *value),
        FoldKind::MapEntry { filter, entries } => map_entries(evaluator, fold, items, *filter, *entries),
        FoldKind::General { accumulator, condition, step, result } => {
            general(evaluator, fold, items, accumulator, [*condition, *step, *result])
        }
    }
}

/// What a loop runs over.
#[derive(Clone, Copy)]
enum Items<'a> {
    List(&'a [Value<'a>]),
    Entries(&'a [Entry<'a>]),
}

impl<'a> Items<'a> {
    fn of(range: Value<'a>, two_variables: bool) -> Result<Self, Box<EvalError>> {
        match range {
            Value::List(list) => Ok(Self::List(list)),
            Value::Map(map) => Ok(Self::Entries(map.entries())),
            other => {
                let name = super::operand::go_type(&other);
                let message = if two_variables {
                    format!("unsupported comprehension range type: {name}")
                } else {
                    format!("got '{name}', expected iterable type")
                };
                Err(EvalError::new(ErrorKind::NoSuchOverload, message))
            }
        }
    }

    fn len(self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Entries(entries) => entries.len(),
        }
    }

    /// The key under which `transformMap` keeps what round `at` gives.
    fn key(self, at: usize) -> Value<'a> {
        match self {
            Self::List(_) => Value::Int(i64::try_from(at).unwrap_or(i64::MAX)),
            Self::Entries(entries) => entries[at].key,
        }
    }

    /// Sets the loop's variables for round `at`, and counts the round.
    #[inline]
    fn bind(
        self,
        evaluator: &mut Evaluator<'_, '_, 'a>,
        fold: &Fold,
        at: usize,
    ) -> Result<(), Box<EvalError>> {
        evaluator.meter.tick()?;
        match (self, fold.variable2) {
            (Self::List(list), None) => evaluator.set_local(fold.variable, list[at]),
            (Self::Entries(entries), None) => evaluator.set_local(fold.variable, entries[at].key),
            (Self::List(list), Some(second)) => {
                evaluator.set_local(fold.variable, self.key(at));
                evaluator.set_local(second, list[at]);
            }
            (Self::Entries(entries), Some(second)) => {
                evaluator.set_local(fold.variable, entries[at].key);
                evaluator.set_local(second, entries[at].value);
            }
        }
        Ok(())
    }
}

/// `all` (decided by false) and `exists` (decided by true); errors wait until no round decides.
fn quantify<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    fold: &Fold,
    items: Items<'a>,
    predicate: NodeId,
    decisive: bool,
) -> EvalResult<'a> {
    let condition = if decisive { EXISTS_CONDITION } else { ALL_CONDITION };
    let mut first_error = None;
    for at in 0..items.len() {
        items.bind(evaluator, fold, at)?;
        evaluator.meter.charge(condition + ACCUMULATOR)?;
        match evaluator.eval(predicate) {
            Ok(Value::Bool(value)) if value == decisive => {
                // The condition is looked at once more, and stops the loop, unless this was the last round.
                let again = if at + 1 < items.len() { condition } else { 0 };
                evaluator.meter.charge(again + ACCUMULATOR)?;
                return Ok(Value::Bool(decisive));
            }
            Ok(Value::Bool(_)) => {}
            Ok(_) => {
                let span = evaluator.program.span(predicate);
                first_error.get_or_insert_with(|| EvalError::no_such_overload().at(span));
            }
            Err(error) if !error.kind.is_absorbable() => return Err(error),
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    evaluator.meter.charge(ACCUMULATOR)?;
    first_error.map_or(Ok(Value::Bool(!decisive)), Err)
}

fn exists_one<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    fold: &Fold,
    items: Items<'a>,
    predicate: NodeId,
) -> EvalResult<'a> {
    let mut count = 0_u64;
    let failure = each_wanted(evaluator, fold, items, Some(predicate), |evaluator, _, _| {
        count += 1;
        evaluator.meter.charge(COUNT)
    })?;
    evaluator.meter.charge(COUNT_RESULT)?;
    failure.map_or(Ok(Value::Bool(count == 1)), Err)
}

fn list<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    fold: &Fold,
    items: Items<'a>,
    filter: Option<NodeId>,
    body: NodeId,
) -> EvalResult<'a> {
    let append = if evaluator.is_constant(body) { APPEND_CONSTANT } else { APPEND };
    let mut list = evaluator.arena.list(if filter.is_some() { 0 } else { items.len() })?;
    let failure = each_wanted(evaluator, fold, items, filter, |evaluator, _, failed| {
        let value = absorbable(evaluator.eval(body))?;
        evaluator.meter.charge(append)?;
        match value {
            Ok(_) if failed => Ok(()),
            Ok(value) => list.push(value),
            Err(error) => Err(error),
        }
    })?;
    evaluator.meter.charge(ACCUMULATOR)?;
    failure.map_or_else(|| Ok(Value::List(list.finish())), Err)
}

fn map<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    fold: &Fold,
    items: Items<'a>,
    filter: Option<NodeId>,
    body: NodeId,
) -> EvalResult<'a> {
    let mut entries = evaluator.arena.list(if filter.is_some() { 0 } else { items.len() })?;
    let failure = each_wanted(evaluator, fold, items, filter, |evaluator, at, failed| {
        if failed {
            // The first argument is an error: cel-go looks at no other.
            return evaluator.meter.charge(ACCUMULATOR);
        }
        let value = absorbable(evaluator.eval(body))?;
        evaluator.meter.charge(INSERT)?;
        entries.push(Entry { key: items.key(at), value: value? })
    })?;
    evaluator.meter.charge(ACCUMULATOR)?;
    if let Some(error) = failure {
        return Err(error);
    }
    Ok(Value::Map(Map::new(entries.finish(), evaluator.arena)?))
}

fn map_entries<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    fold: &Fold,
    items: Items<'a>,
    filter: Option<NodeId>,
    body: NodeId,
) -> EvalResult<'a> {
    let mut entries = evaluator.arena.list::<Entry<'a>>(0)?;
    let failure = each_wanted(evaluator, fold, items, filter, |evaluator, _, failed| {
        let value = absorbable(evaluator.eval(body))?;
        evaluator.meter.charge(INSERT - 1)?;
        match value? {
            _ if failed => Ok(()),
            Value::Map(made) => entries.extend(made.entries()),
            other => {
                let name = super::value::type_name(&other);
                Err(EvalError::no_such_overload_of(format_args!("cel.@mapInsert(map, {name})")))
            }
        }
    })?;
    evaluator.meter.charge(ACCUMULATOR)?;
    let entries = entries.finish();
    let map = Map::new(entries, evaluator.arena)?;
    if map.len() < entries.len() {
        // cel-go refuses to insert a key twice. The map keeps first places, so the first entry out of step is the repeated one.
        let kept = map.entries();
        let repeated = (0..entries.len())
            .find(|at| kept.get(*at).is_none_or(|entry| !super::equal(&entry.key, &entries[*at].key)))
            .map_or(Value::Null, |at| entries[at].key);
        let repeated = KeyText(&repeated);
        return Err(EvalError::invalid(format!("insert failed: key {repeated} already exists")));
    }
    failure.map_or(Ok(Value::Map(map)), Err)
}

/// Takes the errors apart: those that end the evaluation, and those that a loop goes on with.
fn absorbable(result: EvalResult<'_>) -> Result<EvalResult<'_>, Box<EvalError>> {
    match result {
        Err(error) if !error.kind.is_absorbable() => Err(error),
        result => Ok(result),
    }
}

/// Any other fold, with an accumulator.
fn general<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    fold: &Fold,
    items: Items<'a>,
    accumulator: &Accumulator,
    [condition, step, result]: [NodeId; 3],
) -> EvalResult<'a> {
    evaluator.reset_accumulator(accumulator);
    for at in 0..items.len() {
        items.bind(evaluator, fold, at)?;
        match evaluator.eval(condition) {
            // As in cel-go an error does not stop the loop.
            Ok(Value::Bool(true)) | Err(_) => {}
            Ok(_) => break,
        }
        let value = evaluator.eval(step);
        if let Err(error) = &value
            && !error.kind.is_absorbable()
        {
            return value;
        }
        evaluator.set_accumulator(accumulator, value);
    }
    evaluator.eval(result)
}

/// Runs `each` in the rounds for which the filter holds. cel-go's step is `filter ? grown : @result`, of which the second costs nothing.
///
/// Gives back the error of the loop, if it has one: the accumulator is that error from then on, and the loop goes on, which costs. A later
/// error of the filter takes its place, one of `each` does not. `each` is told whether it is too late for values.
fn each_wanted<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    fold: &Fold,
    items: Items<'a>,
    filter: Option<NodeId>,
    mut each: impl FnMut(&mut Evaluator<'_, '_, 'a>, usize, bool) -> Result<(), Box<EvalError>>,
) -> Result<Option<Box<EvalError>>, Box<EvalError>> {
    let mut failure = None;
    for at in 0..items.len() {
        items.bind(evaluator, fold, at)?;
        let wanted = match filter.map(|filter| (filter, evaluator.eval(filter))) {
            None | Some((_, Ok(Value::Bool(true)))) => true,
            Some((_, Ok(Value::Bool(false)))) => false,
            Some((_, Err(error))) if !error.kind.is_absorbable() => return Err(error),
            Some((_, Err(error))) => {
                failure = Some(error);
                false
            }
            Some((filter, Ok(_))) => {
                failure = Some(EvalError::no_such_overload().at(evaluator.program.span(filter)));
                false
            }
        };
        if !wanted {
            continue;
        }
        match each(evaluator, at, failure.is_some()) {
            Ok(()) => {}
            Err(error) if !error.kind.is_absorbable() => return Err(error),
            Err(error) => {
                failure.get_or_insert(error);
            }
        }
    }
    Ok(failure)
}
