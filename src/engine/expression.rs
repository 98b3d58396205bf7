//! The seam to the CEL crate: a compiled expression of a rule.

use usher_cel::eval::{Activation, Arena, ErrorKind, EvalError, EvalResult, Meter, Trace};
use usher_cel::{Program, document};

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    program: Program,
}

impl Expression {
    pub fn new(program: Program) -> Self {
        Self { program }
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The text as written, without white space around it.
    pub fn source(&self) -> &str {
        self.program.source().trim()
    }

    pub(super) fn evaluate<'a>(
        &'a self,
        activation: &dyn Activation<'a>,
        arena: &'a Arena,
        meter: &mut Meter<'_>,
        trace: Option<&mut Trace>,
    ) -> EvalResult<'a> {
        match trace {
            None => self.program.evaluate(activation, arena, meter),
            Some(trace) => self.program.evaluate_traced(activation, arena, meter, trace),
        }
    }
}

/// An error of reading a document, as the error of the expression that wanted it.
pub(super) fn document_error(what: &str, error: &document::JsonError) -> Box<EvalError> {
    let kind = match error.kind {
        document::JsonErrorKind::Memory => ErrorKind::Memory,
        _ => ErrorKind::InvalidArgument,
    };
    EvalError::new(kind, format!("{what}: {error}"))
}
