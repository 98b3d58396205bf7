//! Comprehensions.
//!
//! The standard macros run without their accumulator but charge what cel-go's expansion costs: a look at the accumulator is one, a
//! call of `@not_strictly_false` or `!` is one, a list literal is ten.

use super::error::{ErrorKind, EvalError, EvalResult};
use super::evaluator::Evaluator;
use super::value::{Entry, Map, Value};
use crate::compile::{Fold, FoldKind, NodeId};

/// `@not_strictly_false(@result)`.
const ALL_CONDITION: u64 = 2;
/// `@not_strictly_false(!@result)`.
const EXISTS_CONDITION: u64 = 3;
/// A look at `@result`.
const ACCUMULATOR: u64 = 1;
/// `@result + [x]` without `x`: look, list literal, concatenation.
const APPEND: u64 = 12;
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
        FoldKind::General { accumulator, init, condition, step, result } => {
            general(evaluator, fold, items, [*init, *condition, *step, *result], *accumulator)
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
                let name = super::value::type_name(&other);
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
    each_wanted(evaluator, fold, items, Some(predicate), |evaluator, _| {
        count += 1;
        evaluator.meter.charge(COUNT)
    })?;
    evaluator.meter.charge(COUNT_RESULT)?;
    Ok(Value::Bool(count == 1))
}

fn list<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    fold: &Fold,
    items: Items<'a>,
    filter: Option<NodeId>,
    body: NodeId,
) -> EvalResult<'a> {
    let mut list = evaluator.arena.list(if filter.is_some() { 0 } else { items.len() })?;
    each_wanted(evaluator, fold, items, filter, |evaluator, _| {
        let value = evaluator.eval(body)?;
        evaluator.meter.charge(APPEND)?;
        list.push(value)
    })?;
    evaluator.meter.charge(ACCUMULATOR)?;
    Ok(Value::List(list.finish()))
}

fn map<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    fold: &Fold,
    items: Items<'a>,
    filter: Option<NodeId>,
    body: NodeId,
) -> EvalResult<'a> {
    let mut entries = evaluator.arena.list(if filter.is_some() { 0 } else { items.len() })?;
    each_wanted(evaluator, fold, items, filter, |evaluator, at| {
        let value = evaluator.eval(body)?;
        evaluator.meter.charge(INSERT)?;
        entries.push(Entry { key: items.key(at), value })
    })?;
    evaluator.meter.charge(ACCUMULATOR)?;
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
    each_wanted(evaluator, fold, items, filter, |evaluator, _| {
        let Value::Map(made) = evaluator.eval(body)? else { return Err(EvalError::no_such_overload()) };
        evaluator.meter.charge(INSERT - 1)?;
        entries.extend(made.entries())
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
        return Err(EvalError::invalid(format!("insert failed: key {repeated} already exists")));
    }
    Ok(Value::Map(map))
}

/// Any other fold, with an accumulator.
fn general<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    fold: &Fold,
    items: Items<'a>,
    [init, condition, step, result]: [NodeId; 4],
    accumulator: u32,
) -> EvalResult<'a> {
    let value = evaluator.eval(init)?;
    evaluator.set_local(accumulator, value);
    for at in 0..items.len() {
        items.bind(evaluator, fold, at)?;
        match evaluator.eval(condition)? {
            Value::Bool(true) => {}
            _ => break,
        }
        let value = evaluator.eval(step)?;
        evaluator.set_local(accumulator, value);
    }
    evaluator.eval(result)
}

/// Runs `each` in the rounds for which the filter holds. cel-go's step is `filter ? grown : @result`, of which the second costs nothing.
fn each_wanted<'a>(
    evaluator: &mut Evaluator<'_, '_, 'a>,
    fold: &Fold,
    items: Items<'a>,
    filter: Option<NodeId>,
    mut each: impl FnMut(&mut Evaluator<'_, '_, 'a>, usize) -> Result<(), Box<EvalError>>,
) -> Result<(), Box<EvalError>> {
    for at in 0..items.len() {
        items.bind(evaluator, fold, at)?;
        let wanted = match filter.map(|filter| (filter, evaluator.eval(filter))) {
            None | Some((_, Ok(Value::Bool(true)))) => true,
            Some((_, Ok(Value::Bool(false)))) => false,
            Some((_, Err(error))) => return Err(error),
            Some((filter, Ok(_))) => {
                return Err(EvalError::no_such_overload().at(evaluator.program.span(filter)));
            }
        };
        if wanted {
            each(evaluator, at)?;
        }
    }
    Ok(())
}
