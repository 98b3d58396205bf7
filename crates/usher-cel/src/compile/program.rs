//! The compiled form of an expression.

use std::fmt;
use std::sync::Arc;

use super::constant::{Constant, ConstantSet};
use super::reads::Reads;
use crate::ast::{Span, operators as op};
use crate::check::Type;
use crate::eval::{Activation, Arena, EvalResult, Evaluator, Meter, Trace};
use crate::library::{Overload, Prepared};

/// A compiled expression: immutable, shared between threads, evaluated any number of times.
pub struct Program {
    pub(crate) source: Arc<str>,
    pub(crate) nodes: Vec<Node>,
    /// The place of each node, by the same index.
    pub(crate) spans: Vec<Span>,
    pub(crate) root: NodeId,
    /// How many comprehension variables and intermediate results are alive at once.
    pub(crate) locals: usize,
    pub(crate) result: Type,
    pub(crate) reads: Reads,
}

impl Program {
    /// Evaluates the expression. Values in the result borrow from the program, the activation and the arena.
    ///
    /// # Errors
    /// The evaluation error, with its place in the source.
    pub fn evaluate<'a>(
        &'a self,
        activation: &dyn Activation<'a>,
        arena: &'a Arena,
        meter: &mut Meter<'_>,
    ) -> EvalResult<'a> {
        Evaluator::run(self, activation, arena, meter, None)
    }

    /// As [`Program::evaluate`], and writes down the value of each sub-expression.
    ///
    /// # Errors
    /// As [`Program::evaluate`].
    pub fn evaluate_traced<'a>(
        &'a self,
        activation: &dyn Activation<'a>,
        arena: &'a Arena,
        meter: &mut Meter<'_>,
        trace: &mut Trace,
    ) -> EvalResult<'a> {
        Evaluator::run(self, activation, arena, meter, Some(trace))
    }

    /// The text that was compiled.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The type of the result; [`Type::Dyn`] when types are not checked.
    pub fn result_type(&self) -> &Type {
        &self.result
    }

    /// Which variables the expression can read, and which of their fields.
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn span(&self, id: NodeId) -> Span {
        self.spans[id.0 as usize]
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("source", &self.source).finish_non_exhaustive()
    }
}

/// Index of a node in its [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(pub(crate) u32);

#[derive(Debug)]
pub(crate) enum Node {
    Constant(Constant),
    /// What a name or function that does not exist comes to when types are not checked.
    Fail(Box<str>),
    /// A declared variable, by slot.
    Variable(u32),
    /// A comprehension's variable, by its place among the locals.
    Local(u32),
    /// The accumulator of a [`FoldKind::General`].
    Accumulator(Box<Accumulator>),
    /// What [`Node::Chain`] has so far; no operation of the expression, so it costs nothing.
    Hole(u32),
    Path(Box<Path>),
    /// `has(path)`: the last step is tested, not taken.
    Has(Box<Path>),
    Not(NodeId),
    Negate(NodeId),
    And(Box<[NodeId]>),
    Or(Box<[NodeId]>),
    Conditional {
        condition: NodeId,
        then: NodeId,
        otherwise: NodeId,
    },
    Equal {
        left: NodeId,
        right: NodeId,
        negated: bool,
    },
    /// `flat_cost` as in [`Callee`].
    Compare {
        comparison: Comparison,
        left: NodeId,
        right: NodeId,
        flat_cost: bool,
    },
    /// `resolved`: the container is known to be a list, which makes the look through it cost its length.
    In {
        item: NodeId,
        container: NodeId,
        resolved: bool,
    },
    InConstant {
        item: NodeId,
        set: Box<ConstantSet>,
    },
    /// `flat_cost` as in [`Callee`].
    Arithmetic {
        operator: Arithmetic,
        left: NodeId,
        right: NodeId,
        flat_cost: bool,
    },
    OptionalOr(OptionalOr),
    NotStrictlyFalse(NodeId),
    Call(Box<Callee>),
    List(Box<[Element]>),
    Map(Box<[MapElement]>),
    Struct {
        type_name: Box<str>,
        fields: Box<[StructElement]>,
    },
    Fold(Box<Fold>),
    /// A long run of operations on one operand, cut into parts: each but the first reads what the one before gave as `Hole(slot)`. Keeps the
    /// evaluator's recursion bounded for `1 + 1 + 1 + …`.
    Chain {
        slot: u32,
        parts: Box<[NodeId]>,
    },
}

/// `target.or(other)` and, with `value`, `target.orValue(other)`: `other` is evaluated only when it is needed.
#[derive(Debug)]
pub(crate) struct OptionalOr {
    pub(crate) target: NodeId,
    pub(crate) other: NodeId,
    pub(crate) value: bool,
    /// Whether a target that is no optional is itself the result, as up to Kubernetes 1.36.
    pub(crate) lenient: bool,
}

/// `base.a.b[c]`.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) base: NodeId,
    pub(crate) steps: Box<[Step]>,
}

#[derive(Debug)]
pub(crate) enum Step {
    Field {
        name: Box<str>,
        optional: bool,
        span: Span,
    },
    /// An index that is a constant string: finds what [`Step::Field`] finds, and says other things about what has no such index.
    Key {
        name: Box<str>,
        optional: bool,
        span: Span,
    },
    Index {
        index: NodeId,
        optional: bool,
        span: Span,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Comparison {
    Less,
    LessEquals,
    Greater,
    GreaterEquals,
}

impl Comparison {
    /// The operator's name in the syntax tree.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Less => op::LESS,
            Self::LessEquals => op::LESS_EQUALS,
            Self::Greater => op::GREATER,
            Self::GreaterEquals => op::GREATER_EQUALS,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Arithmetic {
    /// The operator's name in the syntax tree.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Add => op::ADD,
            Self::Subtract => op::SUBTRACT,
            Self::Multiply => op::MULTIPLY,
            Self::Divide => op::DIVIDE,
            Self::Modulo => op::MODULO,
        }
    }
}

/// A function call; overloads are tried in order.
#[derive(Debug)]
pub(crate) struct Callee {
    pub(crate) overloads: Box<[&'static Overload]>,
    /// Whether the cost of the call is 1, whatever the overload: cel-go finds most costs by the overload, and before evaluation it does not
    /// know which of several it is.
    pub(crate) flat_cost: bool,
    /// Whether the types of the arguments are asked for, see [`crate::library::is_unguarded`].
    pub(crate) guarded: bool,
    pub(crate) args: Box<[NodeId]>,
    pub(crate) prepared: Option<Prepared>,
}

#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) value: NodeId,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) struct MapElement {
    pub(crate) key: NodeId,
    pub(crate) value: NodeId,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) struct StructElement {
    pub(crate) name: Box<str>,
    pub(crate) value: NodeId,
    pub(crate) optional: bool,
}

/// A comprehension.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: NodeId,
    /// Local of the element, or with a second variable of the index or key.
    pub(crate) variable: u32,
    pub(crate) variable2: Option<u32>,
    pub(crate) kind: FoldKind,
}

/// The standard macros are known by the shape of their expansion and run without an accumulator.
#[derive(Debug)]
pub(crate) enum FoldKind {
    All(NodeId),
    Exists(NodeId),
    ExistsOne(NodeId),
    /// `map`, `filter`, `transformList`: the values of `body` where `filter` is true.
    List {
        filter: Option<NodeId>,
        body: NodeId,
    },
    /// `transformMap`: key and `value`.
    Map {
        filter: Option<NodeId>,
        value: NodeId,
    },
    /// `transformMapEntry`: the entries of the maps that `entries` gives.
    MapEntry {
        filter: Option<NodeId>,
        entries: NodeId,
    },
    /// Anything else.
    General {
        accumulator: Accumulator,
        condition: NodeId,
        step: NodeId,
        result: NodeId,
    },
}

/// An accumulator is computed when it is first looked at, if ever (cel-go's `folder.ResolveName`): `optional.of(x).optMap(y, 1)` never takes the
/// value out of the optional.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accumulator {
    pub(crate) local: u32,
    /// The local that says whether `local` holds a value: null before, true after, false when there was an error instead.
    pub(crate) state: u32,
    pub(crate) init: NodeId,
}
