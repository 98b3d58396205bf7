//! The seam to the CEL crate: a compiled expression of a rule.

use usher_cel::eval::{Activation, Arena, ErrorKind, EvalError, EvalResult, Meter, Value};
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
    ) -> EvalResult<'a> {
        self.program.evaluate(activation, arena, meter)
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

/// The name of a value's type, for messages.
pub(super) fn type_name<'a>(value: &Value<'a>) -> &'a str {
    match value {
        Value::Null => "null_type",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Uint(_) => "uint",
        Value::Double(_) => "double",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Optional(_) => "optional_type",
        Value::Type(_) => "type",
        Value::Object(object) => object.type_name,
        Value::Opaque(opaque) => opaque.type_name(),
    }
}
