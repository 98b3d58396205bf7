//! Syntax tree to program.

/// Placeholder until the compiler lands.
#[derive(Debug)]
pub struct Env;
#[derive(Debug)]
pub struct Program;
pub fn compile() {}
