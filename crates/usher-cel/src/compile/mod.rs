//! Syntax tree to [`Program`]: names become slots, constants are folded, overloads are chosen as far as types are known,
//! regular expressions are made ready, and the fields that an expression can read are written down.

mod aggregate;
mod calls;
mod comprehension;
mod constant;
mod env;
mod kind;
mod lower;
mod operator;
mod program;
mod reads;
mod suggest;

pub use env::Env;
pub use program::Program;
pub use reads::{Read, Reads};
pub use suggest::nearest;

pub(crate) use program::{
    Arithmetic, Callee, Comparison, Element, Fold, FoldKind, MapElement, Node, NodeId, Path, Step,
    StructElement,
};

use crate::ast::Ast;
use crate::issue::Issues;
use crate::parse::parse;

/// Parses and compiles an expression.
///
/// # Errors
/// Every syntax error; or, when there is none, every unknown name, unknown function, wrong argument count, call that can never
/// have an overload, and literal that can never be what it is used as.
pub fn compile(source: &str, env: &Env) -> Result<Program, Issues> {
    compile_ast(&parse(source)?, env)
}

/// Compiles a parsed expression; see [`compile`].
///
/// # Errors
/// As [`compile`], without the syntax errors.
pub fn compile_ast(ast: &Ast, env: &Env) -> Result<Program, Issues> {
    lower::lower(ast, env)
}
