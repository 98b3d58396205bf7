//! Errors of an evaluation: data with a place, not strings.

use std::fmt;

use super::value::Value;
use crate::ast::Span;

/// What an evaluation gives. The error is boxed: it is the rare case and should not widen the common one.
pub type EvalResult<'a> = Result<Value<'a>, Box<EvalError>>;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    pub kind: ErrorKind,
    /// Kubernetes' text, for example `no such key: image`.
    pub message: String,
    /// Where in the expression; set by the evaluator at the innermost node that failed.
    pub span: Option<Span>,
}

/// The classes of evaluation errors. Closed, so that they can be metric labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    NoSuchKey,
    NoSuchOverload,
    DivideByZero,
    Overflow,
    IndexOutOfRange,
    /// A value that cannot be what it is asked to be: a bad conversion, regular expression, quantity, address.
    InvalidArgument,
    /// A value of the wrong type where no overload is involved, for example the result of a predicate.
    WrongType,
    CostLimit,
    Deadline,
    Memory,
    /// A panic that was caught; never made here, only by the engine around an evaluation.
    Internal,
}

impl ErrorKind {
    /// Whether `&&`, `||`, `all`, `exists` may answer in spite of it. Exhausted budgets must not be hidden: an expression that
    /// ran out of time or money has no answer, whatever its other operand says.
    pub fn is_absorbable(self) -> bool {
        !matches!(self, Self::CostLimit | Self::Deadline | Self::Memory | Self::Internal)
    }

    /// The metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSuchKey => "no_such_key",
            Self::NoSuchOverload => "no_such_overload",
            Self::DivideByZero => "divide_by_zero",
            Self::Overflow => "overflow",
            Self::IndexOutOfRange => "index_out_of_range",
            Self::InvalidArgument => "invalid_argument",
            Self::WrongType => "wrong_type",
            Self::CostLimit => "cost_limit",
            Self::Deadline => "deadline",
            Self::Memory => "memory",
            Self::Internal => "internal",
        }
    }
}

impl EvalError {
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { kind, message: message.into(), span: None })
    }

    /// cel-go's text for an operation that has no overload for the values at hand.
    #[must_use]
    pub fn no_such_overload() -> Box<Self> {
        Self::new(ErrorKind::NoSuchOverload, "no such overload")
    }

    /// As [`EvalError::no_such_overload`], with the name of the function as cel-go writes it there.
    #[must_use]
    pub(crate) fn no_such_overload_of(function: impl fmt::Display) -> Box<Self> {
        Self::new(ErrorKind::NoSuchOverload, format!("no such overload: {function}"))
    }

    #[must_use]
    pub fn no_such_key(key: impl fmt::Display) -> Box<Self> {
        Self::new(ErrorKind::NoSuchKey, format!("no such key: {key}"))
    }

    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Box<Self> {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// Gives the error a place unless a deeper node has already done so.
    #[must_use]
    pub fn at(mut self: Box<Self>, span: Span) -> Box<Self> {
        self.span.get_or_insert(span);
        self
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EvalError {}
