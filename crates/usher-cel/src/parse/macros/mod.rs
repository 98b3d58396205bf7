//! Macros: calls that stand for other expressions. Names, arities, expansions and errors are cel-go's (`parser/macro.go`,
//! `cel/library.go`, `ext/comprehensions.go`, `ext/lists.go`), as far as Kubernetes enables them; it has no `cel.bind`.
//!
//! A call with another number of arguments is no macro and stays a call.

mod optional;
mod quantifier;
mod sort;
mod transform;

use super::builder::{Builder, Place};
use super::parser::Operand;
use crate::ast::{Comprehension, Expr, ExprId, Literal, Span, operators};
use crate::version::KubernetesVersion;

/// A call that may be a macro.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) function: &'a str,
    /// Where the function's name stands.
    pub(super) name: Span,
    pub(super) place: Place,
    pub(super) target: Option<Operand>,
    pub(super) args: &'a [Operand],
}

/// Why a macro call is refused.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) span: Span,
    /// cel-go's text.
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// The iteration variable of a fold over nothing, which only gives a name to its accumulator.
const UNUSED: &str = "#unused";

type Expanded = Result<ExprId, Refusal>;

/// The minor version of Kubernetes with which a member macro with so many arguments came; `None` for those that are older than all versions
/// that expressions can be compiled for.
pub(crate) fn since(function: &str, args: usize) -> Option<u8> {
    match (function, args) {
        ("all" | "exists" | "exists_one" | "existsOne", 3)
        | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) => Some(32),
        ("sortBy", 2) => Some(34),
        _ => None,
    }
}

/// Makes the nodes that the call stands for; `None` when it is no macro, or none yet.
pub(super) fn expand(builder: &mut Builder, call: &Call<'_>, version: KubernetesVersion) -> Option<Expanded> {
    if since(call.function, call.args.len()).is_some_and(|since| !version.has(since)) {
        return None;
    }
    // cel-go points at the bracket of the call for all of them.
    let inner = Place { span: call.name, caret: call.place.caret };
    let mut expansion = Expansion { builder, place: call.place, inner };
    let Some(target) = call.target else {
        return match (call.function, call.args) {
            ("has", &[field]) => Some(expansion.has(field)),
            _ => None,
        };
    };
    Some(match (call.function, call.args) {
        ("all", &[var, predicate]) => expansion.all(target, var, None, predicate),
        ("all", &[var, var2, predicate]) => expansion.all(target, var, Some(var2), predicate),
        ("exists", &[var, predicate]) => expansion.exists(target, var, None, predicate),
        ("exists", &[var, var2, predicate]) => expansion.exists(target, var, Some(var2), predicate),
        // Kubernetes' environment has no `existsOne` of one variable.
        ("exists_one", &[var, predicate]) => expansion.exists_one(target, var, None, predicate),
        ("exists_one" | "existsOne", &[var, var2, predicate]) => {
            expansion.exists_one(target, var, Some(var2), predicate)
        }
        ("map", &[var, value]) => expansion.map(target.id, var, None, value),
        ("map", &[var, filter, value]) => expansion.map(target.id, var, Some(filter), value),
        ("filter", &[var, filter]) => expansion.filter(target, var, filter),
        ("transformList", &[var, var2, value]) => expansion.transform_list(target, [var, var2], None, value),
        ("transformList", &[var, var2, filter, value]) => {
            expansion.transform_list(target, [var, var2], Some(filter), value)
        }
        ("transformMap", &[var, var2, value]) => expansion.transform_map(target, [var, var2], None, value),
        ("transformMap", &[var, var2, filter, value]) => {
            expansion.transform_map(target, [var, var2], Some(filter), value)
        }
        ("transformMapEntry", &[var, var2, value]) => {
            expansion.transform_map_entry(target, [var, var2], None, value)
        }
        ("transformMapEntry", &[var, var2, filter, value]) => {
            expansion.transform_map_entry(target, [var, var2], Some(filter), value)
        }
        ("optMap", &[var, value]) => expansion.opt_map(target, var, value),
        ("optFlatMap", &[var, value]) => expansion.opt_flat_map(target, var, value),
        ("sortBy", &[var, key]) => expansion.sort_by(target, var, key),
        _ => return None,
    })
}

struct Expansion<'b> {
    builder: &'b mut Builder,
    /// Where the whole call stands: the place of the node that replaces it.
    place: Place,
    /// The place of the nodes that are added inside.
    inner: Place,
}

impl Expansion<'_> {
    /// `has(a.b)`: the selection itself becomes the test. As in cel-go `has(has(a.b))` is the same.
    fn has(&mut self, field: Operand) -> Expanded {
        let Expr::Select { operand, field: name, .. } = &self.builder.node(field.id).expr else {
            return Err(Refusal {
                span: field.span,
                message: "invalid argument to has() macro".to_owned(),
                help: "has() takes the selection of a field, has(a.b); for an index use `'b' in a`",
            });
        };
        let test = Expr::Select { operand: *operand, field: name.clone(), test_only: true };
        Ok(self.builder.replace(field.id, self.place, test))
    }

    /// The name of a variable that the macro declares.
    fn variable(&self, arg: Operand, refusal: &str) -> Result<Box<str>, Refusal> {
        match &self.builder.node(arg.id).expr {
            Expr::Ident(name) => Ok(name.clone()),
            _ => Err(Refusal {
                span: arg.span,
                message: refusal.to_owned(),
                help: "the variable of a macro is a plain name, as `c` in containers.all(c, c.image != '')",
            }),
        }
    }

    /// The name of a variable that must not hide the accumulator, by its old name.
    fn loop_variable(&self, arg: Operand, refusal: &str) -> Result<Box<str>, Refusal> {
        let name = self.variable(arg, refusal)?;
        check_accumulator(arg, &name)?;
        Ok(name)
    }

    /// The names of the two variables of a two-variable macro.
    fn loop_variables(&self, [var, var2]: [Operand; 2]) -> Result<(Box<str>, Box<str>), Refusal> {
        const REFUSAL: &str = "argument must be a simple name";
        let (name, name2) = (self.variable(var, REFUSAL)?, self.variable(var2, REFUSAL)?);
        if name == name2 {
            return Err(Refusal {
                span: var2.span,
                message: format!("duplicate variable name: {name}"),
                help: "the variables for the key (or index) and for the value need two names",
            });
        }
        check_accumulator(var, &name)?;
        check_accumulator(var2, &name2)?;
        Ok((name, name2))
    }

    /// A leaf in the place of a variable's name, which is no expression of its own.
    fn instead_of(&mut self, variable: Operand, leaf: Expr) -> ExprId {
        self.builder.replace(variable.id, self.inner, leaf)
    }

    fn accumulator(&mut self) -> ExprId {
        self.builder.ident(self.inner, operators::ACCUMULATOR)
    }

    fn bool(&mut self, value: bool) -> ExprId {
        self.builder.literal(self.inner, Literal::Bool(value))
    }

    fn int(&mut self, value: i64) -> ExprId {
        self.builder.literal(self.inner, Literal::Int(value))
    }

    fn call(&mut self, function: &str, args: Vec<ExprId>) -> ExprId {
        self.builder.call(self.inner, function, args)
    }

    fn list(&mut self, elements: Vec<ExprId>) -> ExprId {
        self.builder.list(self.inner, elements)
    }

    /// The node that replaces the call.
    fn fold(&mut self, fold: Comprehension) -> ExprId {
        self.builder.add(self.place, Expr::Comprehension(Box::new(fold)))
    }
}

fn check_accumulator(variable: Operand, name: &str) -> Result<(), Refusal> {
    if name == operators::ACCUMULATOR || name == "__result__" {
        return Err(Refusal {
            span: variable.span,
            message: "iteration variable overwrites accumulator variable".to_owned(),
            help: "choose another name: `__result__` is kept for macros",
        });
    }
    Ok(())
}

fn empty_list() -> Expr {
    Expr::List { elements: Vec::new(), optional: Vec::new() }
}

fn accumulator() -> Expr {
    Expr::Ident(operators::ACCUMULATOR.into())
}
