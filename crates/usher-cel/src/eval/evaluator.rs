//! The evaluator: a walk over a [`Program`].
//!
//! Recursion is bounded by the nesting of the expression, never by data: the parser limits nesting, the compiler cuts long chains.
//! Costs are cel-go's (`interpreter/runtimecost.go`): one for a name, one for a selection, nothing for `&&`, `||`, `?:` and constants; functions
//! charge their own.

use super::arena::Arena;
use super::arithmetic;
use super::compare::order;
use super::equal::equal_within;
use super::error::{ErrorKind, EvalError, EvalResult};
use super::meter::Meter;
use super::size::{actual_size, traversal_cost};
use super::trace::Trace;
use super::value::{Entry, Map, Object, Value};
use super::{Activation, fold, select};
use crate::compile::{
    Arithmetic, Callee, Comparison, Element, MapElement, Node, NodeId, Program, StructElement,
};
use crate::library::Call;

/// Costs of literals, cel-go `common/cost.go`.
const LIST_COST: u64 = 10;
const MAP_COST: u64 = 30;
const STRUCT_COST: u64 = 40;

/// Comprehension variables that need no memory of the arena.
const INLINE_LOCALS: usize = 8;

/// Arguments of a call that need no memory of the arena.
const INLINE_ARGS: usize = 4;

pub(crate) struct Evaluator<'e, 'm, 'a> {
    pub(super) program: &'a Program,
    activation: &'e dyn Activation<'a>,
    pub(super) arena: &'a Arena,
    pub(super) meter: &'e mut Meter<'m>,
    locals: &'e mut [Value<'a>],
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
        let mut evaluator = Evaluator { program, activation, arena, meter, locals, trace };
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
            Node::Hole(local) => Ok(self.locals[*local as usize]),
            Node::Path(path) => select::path(self, path),
            Node::Has(path) => select::has(self, path),
            Node::Not(operand) => {
                let value = self.eval(*operand)?;
                self.meter.charge(1)?;
                match value {
                    Value::Bool(value) => Ok(Value::Bool(!value)),
                    _ => Err(EvalError::no_such_overload()),
                }
            }
            Node::Negate(operand) => {
                let value = self.eval(*operand)?;
                self.meter.charge(1)?;
                arithmetic::negate(&value)
            }
            Node::And(terms) => self.logical(terms, false),
            Node::Or(terms) => self.logical(terms, true),
            Node::Conditional { condition, then, otherwise } => match self.eval(*condition)? {
                Value::Bool(true) => self.eval_attribute(*then),
                Value::Bool(false) => self.eval_attribute(*otherwise),
                _ => Err(EvalError::no_such_overload()),
            },
            Node::Equal { left, right, negated } => {
                let (left, right) = self.both(*left, *right)?;
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
            Node::OptionalOr { target, other, value } => self.optional_or(*target, *other, *value),
            Node::NotStrictlyFalse(operand) => {
                let result = self.eval(*operand);
                self.meter.charge(1)?;
                match result {
                    Ok(Value::Bool(false)) => Ok(Value::Bool(false)),
                    Err(error) if !error.kind.is_absorbable() => Err(error),
                    _ => Ok(Value::Bool(true)),
                }
            }
            Node::Call(callee) => self.call(callee),
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => self.map(entries),
            Node::Struct { type_name, fields } => self.structure(type_name, fields),
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
            Node::Local(_) | Node::Variable(_) => self.eval(id),
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
        if matches!(self.program.node(id), Node::Variable(_) | Node::Local(_) | Node::Path(_)) {
            self.meter.refund(1);
        }
        value
    }

    /// Both operands of a strict operator. cel-go evaluates the second even when the first is an error, and charges the call.
    #[inline]
    fn both(&mut self, left: NodeId, right: NodeId) -> Result<(Value<'a>, Value<'a>), Box<EvalError>> {
        let left = self.eval(left);
        match left {
            Ok(left) => match self.eval(right) {
                Ok(right) => Ok((left, right)),
                Err(error) => Err(self.failed_operand(error)),
            },
            Err(error) if !error.kind.is_absorbable() => Err(error),
            Err(error) => match self.eval(right) {
                Err(other) if !other.kind.is_absorbable() => Err(other),
                _ => Err(self.failed_operand(error)),
            },
        }
    }

    #[cold]
    fn failed_operand(&mut self, error: Box<EvalError>) -> Box<EvalError> {
        self.meter.charge(1).err().unwrap_or(error)
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
            _ => {}
        }
        self.meter.charge(traversal_cost(actual_size(left).min(actual_size(right))))?;
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
        let (left, right) = self.both(left, right)?;
        let cost = match (&left, &right) {
            _ if flat_cost => 1,
            (Value::String(a), Value::String(b)) => {
                traversal_cost(a.chars().count().min(b.chars().count()) as u64)
            }
            (Value::Bytes(a), Value::Bytes(b)) => traversal_cost(a.len().min(b.len()) as u64),
            _ => 1,
        };
        self.meter.charge(cost)?;
        if is_nan(&left) || is_nan(&right) {
            // Still an error when the other side is no number at all.
            order(&Value::Double(0.0), if is_nan(&left) { &right } else { &left }).or_else(|error| {
                if is_nan(&left) && is_nan(&right) { Ok(std::cmp::Ordering::Equal) } else { Err(error) }
            })?;
            return Ok(Value::Bool(false));
        }
        let order = order(&left, &right)?;
        Ok(Value::Bool(match comparison {
            Comparison::Less => order.is_lt(),
            Comparison::LessEquals => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterEquals => order.is_ge(),
        }))
    }

    #[inline(never)]
    fn membership(&mut self, item: NodeId, container: NodeId, resolved: bool) -> EvalResult<'a> {
        let (item, container) = self.both(item, container)?;
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
            _ => Err(EvalError::no_such_overload()),
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
        let (left, right) = self.both(left, right)?;
        if let Arithmetic::Add = operator {
            if flat_cost {
                let arena = self.arena;
                return self.meter.flat(1, |meter| arithmetic::add(&left, &right, arena, meter));
            }
            // Concatenation charges by length.
            return arithmetic::add(&left, &right, self.arena, self.meter);
        }
        self.meter.charge(1)?;
        match operator {
            Arithmetic::Add | Arithmetic::Subtract => arithmetic::subtract(&left, &right),
            Arithmetic::Multiply => arithmetic::multiply(&left, &right),
            Arithmetic::Divide => arithmetic::divide(&left, &right),
            Arithmetic::Modulo => arithmetic::modulo(&left, &right),
        }
    }

    #[inline(never)]
    fn optional_or(&mut self, target: NodeId, other: NodeId, value: bool) -> EvalResult<'a> {
        let optional = self.eval(target)?;
        let Value::Optional(held) = optional else { return Err(EvalError::no_such_overload()) };
        match held {
            Some(held) if value => Ok(*held),
            Some(_) => Ok(optional),
            None => {
                let other = self.eval(other)?;
                if !value && !matches!(other, Value::Optional(_)) {
                    return Err(EvalError::no_such_overload());
                }
                Ok(other)
            }
        }
    }

    #[inline(never)]
    fn call(&mut self, callee: &'a Callee) -> EvalResult<'a> {
        let count = callee.args.len();
        let mut inline = [Value::Null; INLINE_ARGS];
        let mut spilled;
        let args: &mut [Value<'a>] = if count <= INLINE_ARGS {
            &mut inline[..count]
        } else {
            spilled = vec![Value::Null; count];
            &mut spilled
        };
        for (value, arg) in args.iter_mut().zip(&callee.args) {
            *value = self.eval(*arg)?;
        }
        let Some(overload) = callee.overloads.iter().find(|overload| overload.admits(args)) else {
            self.meter.charge(1)?;
            return Err(EvalError::no_such_overload());
        };
        let (arena, prepared) = (self.arena, callee.prepared.as_ref());
        let authorizer = self.activation.authorizer();
        if callee.flat_cost {
            return self
                .meter
                .flat(1, |meter| (overload.call)(&mut Call { arena, meter, prepared, authorizer }, args));
        }
        (overload.call)(&mut Call { arena, meter: self.meter, prepared, authorizer }, args)
    }

    #[inline(never)]
    fn list(&mut self, elements: &[Element]) -> EvalResult<'a> {
        let mut list = self.arena.list(elements.len())?;
        for element in elements {
            let value = self.eval(element.value)?;
            match (element.optional, value) {
                (false, value) => list.push(value)?,
                (true, Value::Optional(Some(value))) => list.push(*value)?,
                (true, Value::Optional(None)) => {}
                (true, _) => return Err(not_optional(self.program, element.value)),
            }
        }
        self.meter.charge(LIST_COST)?;
        Ok(Value::List(list.finish()))
    }

    #[inline(never)]
    fn map(&mut self, elements: &[MapElement]) -> EvalResult<'a> {
        let mut entries = self.arena.list(elements.len())?;
        for element in elements {
            let key = self.eval(element.key)?;
            let value = self.eval(element.value)?;
            if !is_key(&key) {
                return Err(EvalError::new(ErrorKind::WrongType, "unsupported key type")
                    .at(self.program.span(element.key)));
            }
            match (element.optional, value) {
                (false, value) => entries.push(Entry { key, value })?,
                (true, Value::Optional(Some(value))) => entries.push(Entry { key, value: *value })?,
                (true, Value::Optional(None)) => {}
                (true, _) => return Err(not_optional(self.program, element.value)),
            }
        }
        self.meter.charge(MAP_COST)?;
        Ok(Value::Map(Map::new(entries.finish(), self.arena)?))
    }

    #[inline(never)]
    fn structure(&mut self, type_name: &'a str, elements: &'a [StructElement]) -> EvalResult<'a> {
        let mut fields = self.arena.list::<(&'a str, Value<'a>)>(elements.len())?;
        for element in elements {
            let value = self.eval(element.value)?;
            match (element.optional, value) {
                (false, value) => fields.push((&*element.name, value))?,
                (true, Value::Optional(Some(value))) => fields.push((&*element.name, *value))?,
                (true, Value::Optional(None)) => {}
                (true, _) => return Err(not_optional(self.program, element.value)),
            }
        }
        self.meter.charge(STRUCT_COST)?;
        Ok(Value::Object(self.arena.alloc(Object { type_name, fields: fields.finish() })?))
    }

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

fn is_nan(value: &Value<'_>) -> bool {
    matches!(value, Value::Double(double) if double.is_nan())
}

pub(super) fn is_key(value: &Value<'_>) -> bool {
    matches!(value, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::String(_))
}

fn not_optional(program: &Program, id: NodeId) -> Box<EvalError> {
    EvalError::new(ErrorKind::WrongType, "cannot initialize optional entry from non-optional value")
        .at(program.span(id))
}
