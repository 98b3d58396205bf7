//! Syntax tree to [`Program`]: names become slots, constants are folded, overloads are chosen as far as types are known,
//! regular expressions are made ready, and the fields that an expression can read are written down.

mod aggregate;
mod calls;
mod comprehension;
mod constant;
mod env;
mod lower;
mod operator;
mod program;
mod reads;
mod suggest;

pub use env::Env;
pub use program::Program;
pub use reads::{Read, Reads};
pub use suggest::nearest;

pub(crate) use calls::literal_fault;
pub(crate) use program::{
    Accumulator, Arithmetic, Callee, Comparison, Element, Fold, FoldKind, MapElement, Node, NodeId,
    OptionalOr, Path, Step, StructElement,
};

use crate::ast::Ast;
use crate::check;
use crate::cost::{Estimate, Sizes};
use crate::issue::Issues;
use crate::parse::parse_for;

/// Parses and compiles an expression.
///
/// # Errors
/// Every syntax error; or, when there is none, all that [`check`](crate::check) finds; or, when that is nothing, every literal that can never
/// be what it is used as.
pub fn compile(source: &str, env: &Env) -> Result<Program, Issues> {
    compile_ast(&parse_for(source, env.version())?, env)
}

/// Compiles a parsed expression; see [`compile`].
///
/// # Errors
/// As [`compile`], without the syntax errors.
pub fn compile_ast(ast: &Ast, env: &Env) -> Result<Program, Issues> {
    let checked = if env.checks_types() { Some(check::check(ast, env)?) } else { None };
    lower::lower(ast, env, checked.as_ref())
}

/// As [`compile_ast`], and estimates what the expression costs with what `sizes` knows. Types are checked whatever the environment says.
///
/// # Errors
/// As [`compile_ast`].
pub fn compile_estimated(ast: &Ast, env: &Env, sizes: &dyn Sizes) -> Result<(Program, Estimate), Issues> {
    let checked = check::check(ast, env)?;
    let program = lower::lower(ast, env, Some(&checked))?;
    Ok((program, Estimate::of(ast, &checked, sizes)))
}
