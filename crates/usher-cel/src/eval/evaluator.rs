//! The evaluator: a walk over a [`Program`].
//!
//! Recursion is bounded by the nesting of the expression, never by data: the parser limits nesting, the compiler cuts long chains.
//! Costs are cel-go's (`interpreter/runtimecost.go`): one for a name, one for a selection, nothing for `&&`, `||`, `?:` and constants; functions
//! charge their own.

use super::arena::Arena;
use super::compare::order;
use super::equal::equal_within;
use super::error::{ErrorKind, EvalError, EvalResult};
use super::meter::Meter;
use super::size::actual_size;
use super::trace::Trace;
use super::value::Value;
use super::{Activation, arithmetic, call, fold, literal, operand, optional, select};
use crate::ast::operators as op;
use crate::compile::{Accumulator, Arithmetic, Comparison, Node, NodeId, Program};
use crate::cost::terms::traversal;

/// Comprehension variables that need no memory of the arena.
const INLINE_LOCALS: usize = 8;

/// What an operator with an operand that is an error costs; an error has size 1.
#[derive(Clone, Copy, Debug)]
enum CostOfErrors {
    Flat,
    /// By the smaller operand.
    Smaller,
    /// By both.
    Sum,
    /// The size of the right operand.
    Container,
}

pub(crate) struct Evaluator<'e, 'm, 'a> {
    pub(super) program: &'a Program,
    pub(super) activation: &'e dyn Activation<'a>,
    pub(super) arena: &'a Arena,
    pub(super) meter: &'e mut Meter<'m>,
    locals: &'e mut [Value<'a>],
    /// Of accumulators that could not be computed, by their local.
    failures: Vec<(u32, Box<EvalError>)>,
    trace: Option<&'e mut Trace>,
}

impl<'e, 'm, 'a> Evaluator<'e, 'm, 'a> {
    pub(crate) fn run(
        program: &'a Program,
        activation: &'e dyn Activation<'a>,
        arena: &'a Arena,
        meter: &'e mut Meter<'m>,
        trace: Option<&'e mut Trace>,
    ) -> EvalResult<'a> {
        meter.enter()?;
        let mut inline = [Value::Null; INLINE_LOCALS];
        let mut spilled;
        let locals: &mut [Value<'a>] = if program.locals <= INLINE_LOCALS {
            &mut inline
        } else {
            spilled = vec![Value::Null; program.locals];
            &mut spilled
        };
        let mut evaluator =
            Evaluator { program, activation, arena, meter, locals, failures: Vec::new(), trace };
        let result = evaluator.eval(program.root);
        evaluator.meter.leave();
        result
    }

    /// The value of a node; an error is given the node's place unless it has one.
    #[inline]
    pub(super) fn eval(&mut self, id: NodeId) -> EvalResult<'a> {
        // In place, so that the value is written once, where the caller wants it.
        let mut result = self.eval_node(id);
        if let Err(error) = &mut result
            && error.span.is_none()
        {
            error.span = Some(self.program.span(id));
        }
        if self.trace.is_some() {
            self.record(id, &result);
        }
        result
    }

    fn eval_node(&mut self, id: NodeId) -> EvalResult<'a> {
        let program = self.program;
        match program.node(id) {
            Node::Constant(constant) => constant.value(self.arena),
            Node::Fail(message) => Err(EvalError::new(ErrorKind::NoSuchOverload, &**message)),
            Node::Variable(slot) => {
                self.meter.charge(1)?;
                self.activation.variable(*slot, self.meter)
            }
            Node::Local(local) => {
                self.meter.charge(1)?;
                Ok(self.locals[*local as usize])
            }
            Node::Accumulator(accumulator) => self.accumulator(accumulator),
            Node::Hole(local) => Ok(self.locals[*local as usize]),
            Node::Path(path) => select::path(self, path),
            Node::Has(path) => select::has(self, path),
            Node::Not(operand) => {
                let value = self.only(*operand)?;
                match value {
                    Value::Bool(value) => Ok(Value::Bool(!value)),
                    _ => Err(EvalError::no_such_overload()),
                }
            }
            Node::Negate(operand) => {
                let value = self.only(*operand)?;
                arithmetic::negate(&value).map_err(|error| operand::refusal(error, op::NEGATE, &value))
            }
            Node::And(terms) => self.logical(terms, false),
            Node::Or(terms) => self.logical(terms, true),
            Node::Conditional { condition, then, otherwise } => match self.eval(*condition)? {
                Value::Bool(true) => self.eval_attribute(*then),
                Value::Bool(false) => self.eval_attribute(*otherwise),
                _ => Err(EvalError::no_such_overload()),
            },
            Node::Equal { left, right, negated } => {
                let (left, right) = self.both(*left, *right, CostOfErrors::Smaller)?;
                Ok(Value::Bool(self.equal(&left, &right)? != *negated))
            }
            Node::Compare { comparison, left, right, flat_cost } => {
                self.compare(*comparison, *left, *right, *flat_cost)
            }
            Node::In { item, container, resolved } => self.membership(*item, *container, *resolved),
            Node::InConstant { item, set } => {
                let item = self.eval(*item)?;
                Ok(Value::Bool(set.contains(&item)))
            }
            Node::Arithmetic { operator, left, right, flat_cost } => {
                self.arithmetic(*operator, *left, *right, *flat_cost)
            }
            Node::OptionalOr(or) => optional::or(self, or),
            Node::NotStrictlyFalse(operand) => {
                let result = self.eval(*operand);
                self.meter.charge(1)?;
                match result {
                    Ok(Value::Bool(false)) => Ok(Value::Bool(false)),
                    Err(error) if !error.kind.is_absorbable() => Err(error),
                    _ => Ok(Value::Bool(true)),
                }
            }
            Node::Call(callee) => call::call(self, callee),
            Node::List(elements) => literal::list(self, elements),
            Node::Map(entries) => literal::map(self, entries),
            Node::Struct { type_name, fields } => literal::structure(self, type_name, fields),
            Node::Fold(fold) => fold::fold(self, fold),
            Node::Chain { slot, parts } => {
                let mut value = Value::Null;
                for part in parts {
                    value = self.eval(*part)?;
                    self.set_local(*slot, value);
                }
                Ok(value)
            }
        }
    }

    /// The base of a path, without the detour through the general case for the two kinds of names.
    #[inline]
    pub(super) fn eval_base(&mut self, id: NodeId) -> EvalResult<'a> {
        match self.program.node(id) {
            Node::Local(local) if self.trace.is_none() => {
                self.meter.charge(1)?;
                Ok(self.locals[*local as usize])
            }
            Node::Variable(slot) if self.trace.is_none() => {
                self.meter.charge(1)?;
                self.activation.variable(*slot, self.meter)
            }
            // Selecting from anything but a name makes an attribute of its own in cel-go, which costs one.
            Node::Local(_) | Node::Variable(_) | Node::Accumulator(_) => self.eval(id),
            // Its branches take the selections over and pay for them.
            Node::Conditional { .. } => self.eval(id),
            _ => {
                self.meter.charge(1)?;
                self.eval(id)
            }
        }
    }

    /// A branch of `?:` or an index. One that is a name, or starts with one, is part of a larger attribute in cel-go and does not cost
    /// one by itself.
    #[inline]
    pub(super) fn eval_attribute(&mut self, id: NodeId) -> EvalResult<'a> {
        let value = self.eval(id);
        let part = match self.program.node(id) {
            Node::Variable(_) | Node::Local(_) | Node::Accumulator(_) => true,
            // As a part it loses the refund that a test on a conditional has by itself.
            Node::Has(path) if matches!(self.program.node(path.base), Node::Conditional { .. }) => {
                self.meter.charge(1)?;
                false
            }
            // A selection from a conditional has no charge of its own.
            Node::Path(path) => !matches!(self.program.node(path.base), Node::Conditional { .. }),
            _ => false,
        };
        if part {
            self.meter.refund(1);
        }
        value
    }

    /// The operand of a unary operator; the call costs its one even if the operand is an error.
    #[inline]
    fn only(&mut self, operand: NodeId) -> EvalResult<'a> {
        let value = self.eval(operand);
        match value {
            Err(error) if !error.kind.is_absorbable() => Err(error),
            value => {
                self.meter.charge(1)?;
                value
            }
        }
    }

    #[inline(never)]
    fn accumulator(&mut self, accumulator: &Accumulator) -> EvalResult<'a> {
        self.meter.charge(1)?;
        match self.locals[accumulator.state as usize] {
            Value::Bool(true) => Ok(self.locals[accumulator.local as usize]),
            Value::Bool(false) => {
                let failed = self.failures.iter().rev().find(|(local, _)| *local == accumulator.local);
                Err(failed.map_or_else(EvalError::no_such_overload, |(_, error)| error.clone()))
            }
            _ => {
                let value = self.eval(accumulator.init);
                self.set_accumulator(accumulator, value.clone());
                value
            }
        }
    }

    /// Lets the accumulator be computed anew when it is looked at.
    pub(super) fn reset_accumulator(&mut self, accumulator: &Accumulator) {
        self.set_local(accumulator.state, Value::Null);
    }

    pub(super) fn set_accumulator(&mut self, accumulator: &Accumulator, value: EvalResult<'a>) {
        self.set_local(accumulator.state, Value::Bool(value.is_ok()));
        match value {
            Ok(value) => self.set_local(accumulator.local, value),
            Err(error) => self.failures.push((accumulator.local, error)),
        }
    }

    /// Both operands of a strict operator. cel-go evaluates the second even when the first is an error, and charges the call.
    #[inline]
    fn both(
        &mut self,
        left: NodeId,
        right: NodeId,
        cost: CostOfErrors,
    ) -> Result<(Value<'a>, Value<'a>), Box<EvalError>> {
        let left = self.eval(left);
        match left {
            Ok(left) => match self.eval(right) {
                Ok(right) => Ok((left, right)),
                Err(error) => Err(self.failed_operand(error, Some(left), None, cost)),
            },
            Err(error) if !error.kind.is_absorbable() => Err(error),
            Err(error) => match self.eval(right) {
                Err(other) if !other.kind.is_absorbable() => Err(other),
                right => Err(self.failed_operand(error, None, right.ok(), cost)),
            },
        }
    }

    #[cold]
    fn failed_operand(
        &mut self,
        error: Box<EvalError>,
        left: Option<Value<'a>>,
        right: Option<Value<'a>>,
        cost: CostOfErrors,
    ) -> Box<EvalError> {
        if !error.kind.is_absorbable() {
            return error;
        }
        let size = |value: &Option<Value<'a>>| value.as_ref().map_or(1, actual_size);
        let units = match (cost, left, right) {
            (CostOfErrors::Flat, ..) => 1,
            (CostOfErrors::Smaller, left, right) => traversal(size(&left).min(size(&right))),
            (CostOfErrors::Sum, left, right) => traversal(size(&left) + size(&right)),
            (CostOfErrors::Container, _, container) => size(&container),
        };
        self.meter.charge(units).err().unwrap_or(error)
    }

    #[inline]
    fn equal(&mut self, left: &Value<'a>, right: &Value<'a>) -> Result<bool, Box<EvalError>> {
        // What most comparisons are with, and the size of a long text would be counted in vain.
        match (left, right) {
            (Value::Bool(left), Value::Bool(right)) => {
                self.meter.charge(1)?;
                return Ok(left == right);
            }
            (Value::String(text), Value::Null) | (Value::Null, Value::String(text)) => {
                self.meter.charge(u64::from(!text.is_empty()))?;
                return Ok(false);
            }
            (Value::Opaque(_), _) => {
                self.meter.charge(1)?;
                return equal_within(left, right, self.meter);
            }
            _ => {}
        }
        self.meter.charge(traversal(actual_size(left).min(actual_size(right))))?;
        equal_within(left, right, self.meter)
    }

    #[inline]
    pub(super) fn set_local(&mut self, local: u32, value: Value<'a>) {
        self.locals[local as usize] = value;
    }

    pub(super) fn is_constant(&self, node: NodeId) -> bool {
        matches!(self.program.node(node), Node::Constant(_))
    }

    /// `&&` and `||`: a term that decides beats an error in any other, whichever comes first.
    fn logical(&mut self, terms: &[NodeId], decisive: bool) -> EvalResult<'a> {
        let mut first_error = None;
        for term in terms {
            match self.eval(*term) {
                Ok(Value::Bool(value)) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => {
                    let span = self.program.span(*term);
                    first_error.get_or_insert_with(|| EvalError::no_such_overload().at(span));
                }
                Err(error) if !error.kind.is_absorbable() => return Err(error),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        first_error.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    #[inline(never)]
    fn compare(
        &mut self,
        comparison: Comparison,
        left: NodeId,
        right: NodeId,
        flat_cost: bool,
    ) -> EvalResult<'a> {
        let on_error = if flat_cost { CostOfErrors::Flat } else { CostOfErrors::Smaller };
        let (left, right) = self.both(left, right, on_error)?;
        let cost = match (&left, &right) {
            _ if flat_cost => 1,
            (Value::String(a), Value::String(b)) => {
                traversal(a.chars().count().min(b.chars().count()) as u64)
            }
            (Value::Bytes(a), Value::Bytes(b)) => traversal(a.len().min(b.len()) as u64),
            (left, right) => traversal(actual_size(left).min(actual_size(right))),
        };
        self.meter.charge(cost)?;
        let order =
            order(&left, &right).map_err(|error| operand::refusal(error, comparison.name(), &left))?;
        Ok(Value::Bool(match comparison {
            Comparison::Less => order.is_lt(),
            Comparison::LessEquals => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterEquals => order.is_ge(),
        }))
    }

    #[inline(never)]
    fn membership(&mut self, item: NodeId, container: NodeId, resolved: bool) -> EvalResult<'a> {
        let on_error = if resolved { CostOfErrors::Container } else { CostOfErrors::Flat };
        let (item, container) = self.both(item, container, on_error)?;
        match container {
            Value::List(list) => {
                self.meter.charge(if resolved { list.len() as u64 } else { 1 })?;
                for other in list {
                    if equal_within(other, &item, self.meter)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            Value::Map(map) => {
                self.meter.charge(1)?;
                Ok(Value::Bool(map.get(&item).is_some()))
            }
            other => {
                self.meter.charge(if resolved { actual_size(&other) } else { 1 })?;
                Err(EvalError::no_such_overload())
            }
        }
    }

    #[inline(never)]
    fn arithmetic(
        &mut self,
        operator: Arithmetic,
        left: NodeId,
        right: NodeId,
        flat_cost: bool,
    ) -> EvalResult<'a> {
        let sum = matches!(operator, Arithmetic::Add) && !flat_cost;
        let on_error = if sum { CostOfErrors::Sum } else { CostOfErrors::Flat };
        let (left, right) = self.both(left, right, on_error)?;
        if let Arithmetic::Add = operator {
            if flat_cost {
                let arena = self.arena;
                let sum = match (&left, &right) {
                    (Value::String(_) | Value::Bytes(_), _) => {
                        self.meter.flat(1, |meter| arithmetic::add(&left, &right, arena, meter))
                    }
                    _ => arithmetic::add(&left, &right, arena, self.meter),
                };
                return sum.map_err(|error| operand::refusal(error, op::ADD, &left));
            }
            // Concatenation charges by length.
            return match arithmetic::add(&left, &right, self.arena, self.meter) {
                Err(error) => Err(self.refused_sum(error, &left, &right)),
                sum => sum,
            };
        }
        self.meter.charge(1)?;
        match operator {
            Arithmetic::Add | Arithmetic::Subtract => arithmetic::subtract(&left, &right),
            Arithmetic::Multiply => arithmetic::multiply(&left, &right),
            Arithmetic::Divide => arithmetic::divide(&left, &right),
            Arithmetic::Modulo => arithmetic::modulo(&left, &right),
        }
        .map_err(|error| operand::refusal(error, operator.name(), &left))
    }

    /// A sum that is known to be one of strings or bytes costs by their length even if one is none.
    #[cold]
    fn refused_sum(&mut self, error: Box<EvalError>, left: &Value<'a>, right: &Value<'a>) -> Box<EvalError> {
        if error.kind == ErrorKind::NoSuchOverload {
            // What it has been charged as a sum of anything else.
            self.meter.refund(1);
            let cost = traversal(actual_size(left) + actual_size(right));
            if let Err(spent) = self.meter.charge(cost) {
                return spent;
            }
        }
        operand::refusal(error, op::ADD, left)
    }

    #[inline(never)]
    #[cold]
    fn record(&mut self, id: NodeId, result: &EvalResult<'a>) {
        if matches!(self.program.node(id), Node::Constant(_) | Node::Hole(_)) {
            return;
        }
        if let Some(trace) = self.trace.as_deref_mut() {
            trace.record(self.program.span(id), result);
        }
    }
}
