//! The syntax tree: what the parser makes and the compiler reads.
//!
//! Nodes live in one vector and point at each other by [`ExprId`]; a tree of any depth is dropped without recursion.
//! The shapes are those of the CEL protocol (`cel.expr.Expr`): operators are calls with the names of [`operators`],
//! macros are already expanded to [`Comprehension`]s.

use std::sync::Arc;

/// Index of a node in its [`Ast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// A range of bytes of the source text, end exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        // The parser refuses texts of more than 100,000 code points, so offsets fit.
        Self { start: u32::try_from(start).unwrap_or(u32::MAX), end: u32::try_from(end).unwrap_or(u32::MAX) }
    }

    /// The smallest span that holds both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The text that the span covers; empty when the span does not fit the text.
    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// Line and column of a byte offset, as Kubernetes prints them: lines from 1, columns in code points from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

impl Position {
    /// The position of byte `offset` in `source`; past the end means the end.
    pub fn of(source: &str, offset: u32) -> Self {
        let mut end = (offset as usize).min(source.len());
        while !source.is_char_boundary(end) {
            end -= 1;
        }
        let before = &source[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        Self {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}

/// A parsed expression with its source.
#[derive(Clone, Debug)]
pub struct Ast {
    pub(crate) source: Arc<str>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: ExprId,
}

/// One node: what it is and where it stands. The node that replaces a macro call has the span of the whole call; the nodes
/// that the macro adds inside have the span of the call's function name.
#[derive(Clone, Debug)]
pub struct Node {
    pub expr: Expr,
    /// The whole sub-expression, without parentheses around it.
    pub span: Span,
    /// The byte at which cel-go points in messages about this node: the operator, the dot of a selection, the bracket of a call,
    /// an index, a list or a map.
    pub caret: u32,
}

impl Ast {
    pub fn source(&self) -> &str {
        &self.source
    }

    pub fn root(&self) -> ExprId {
        self.root
    }

    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.nodes[id.0 as usize].expr
    }

    pub fn span(&self, id: ExprId) -> Span {
        self.nodes[id.0 as usize].span
    }

    /// Where messages about the node point, as cel-go does; see [`Node::caret`].
    pub fn caret(&self, id: ExprId) -> u32 {
        self.nodes[id.0 as usize].caret
    }

    /// Every node, children before parents; each is part of the tree and has one parent.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Literal(Literal),
    /// A name; a leading dot (absolute name) is kept: `.a` is `Ident(".a")`.
    Ident(Box<str>),
    /// `operand.field`, or `has(operand.field)` when `test_only`.
    Select {
        operand: ExprId,
        field: Box<str>,
        test_only: bool,
    },
    /// A function or operator; `target` is the receiver of a member call.
    Call {
        function: Box<str>,
        target: Option<ExprId>,
        args: Vec<ExprId>,
    },
    /// `[a, ?b]`; `optional` holds the indexes of elements marked with `?`.
    List {
        elements: Vec<ExprId>,
        optional: Vec<u32>,
    },
    /// `{k: v, ?k: v}`.
    Map {
        entries: Vec<MapEntry>,
    },
    /// `Type.name{field: v, ?field: v}`.
    Struct {
        type_name: Box<str>,
        fields: Vec<StructField>,
    },
    Comprehension(Box<Comprehension>),
}

impl Expr {
    /// Calls `each` with every node directly below, in no promised order.
    pub(crate) fn for_each_child(&self, mut each: impl FnMut(ExprId)) {
        match self {
            Self::Literal(_) | Self::Ident(_) => {}
            Self::Select { operand, .. } => each(*operand),
            Self::Call { target, args, .. } => target.iter().chain(args).copied().for_each(each),
            Self::List { elements, .. } => elements.iter().copied().for_each(each),
            Self::Map { entries } => entries.iter().flat_map(|entry| [entry.key, entry.value]).for_each(each),
            Self::Struct { fields, .. } => fields.iter().map(|field| field.value).for_each(each),
            Self::Comprehension(fold) => {
                [fold.iter_range, fold.accu_init, fold.loop_condition, fold.loop_step, fold.result]
                    .into_iter()
                    .for_each(each);
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Box<str>),
    Bytes(Box<[u8]>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct MapEntry {
    pub key: ExprId,
    pub value: ExprId,
    pub optional: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StructField {
    pub name: Box<str>,
    pub value: ExprId,
    pub optional: bool,
    /// Where the field's name stands.
    pub span: Span,
}

/// A fold over a list or map: `accu = accu_init; for iter_var in iter_range { if !loop_condition {break};
/// accu = loop_step }; result`. All macros but `has`, `optMap` and `optFlatMap`'s test are written with it; `optMap` uses one
/// over an empty range as a `let`.
#[derive(Clone, Debug, PartialEq)]
pub struct Comprehension {
    pub iter_range: ExprId,
    /// The element of a list or the key of a map; with a second variable the index or the key.
    pub iter_var: Box<str>,
    /// The element or the value in a two-variable comprehension.
    pub iter_var2: Option<Box<str>>,
    pub accu_var: Box<str>,
    pub accu_init: ExprId,
    pub loop_condition: ExprId,
    pub loop_step: ExprId,
    pub result: ExprId,
}

/// Names of operators in [`Expr::Call`], as in cel-go's `common/operators`.
pub mod operators {
    pub const CONDITIONAL: &str = "_?_:_";
    pub const LOGICAL_AND: &str = "_&&_";
    pub const LOGICAL_OR: &str = "_||_";
    pub const LOGICAL_NOT: &str = "!_";
    pub const EQUALS: &str = "_==_";
    pub const NOT_EQUALS: &str = "_!=_";
    pub const LESS: &str = "_<_";
    pub const LESS_EQUALS: &str = "_<=_";
    pub const GREATER: &str = "_>_";
    pub const GREATER_EQUALS: &str = "_>=_";
    pub const ADD: &str = "_+_";
    pub const SUBTRACT: &str = "_-_";
    pub const MULTIPLY: &str = "_*_";
    pub const DIVIDE: &str = "_/_";
    pub const MODULO: &str = "_%_";
    pub const NEGATE: &str = "-_";
    pub const INDEX: &str = "_[_]";
    pub const OPT_INDEX: &str = "_[?_]";
    pub const OPT_SELECT: &str = "_?._";
    pub const IN: &str = "@in";
    pub const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
    /// Name of the accumulator that macros declare.
    pub const ACCUMULATOR: &str = "@result";
}
