//! The seam to the CEL crate: a compiled expression of a rule.

use usher_cel::Program;

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
}
