//! The type checker, as Kubernetes has it: names are resolved, each expression gets a type, each call as few overloads as the types
//! leave. cel-go `checker/checker.go`; settings as apiserver `pkg/cel/environment/base.go` makes them.
//!
//! Like the rest of the compiler it walks what grows to the left in a loop and recurses only as deep as the parser lets texts nest.

mod aggregate;
mod calls;
mod comprehension;
mod estimates;
mod format;
mod names;
mod operators;
mod select;
mod static_type;
mod substitution;
mod walk;

pub use static_type::{ObjectType, Type};

pub(crate) use estimates::OperatorOverload;
pub(crate) use names::{MAX_NAME_SEGMENTS, type_constant};

use crate::ast::{Ast, ExprId};
use crate::compile::Env;
use crate::compile::nearest;
use crate::issue::{Collector, Issues};
use crate::library::Overload;
use substitution::Substitution;

/// What the checker found out about a sound expression.
#[derive(Debug)]
pub(crate) struct Checked {
    choices: Vec<Choice>,
    overloads: Vec<&'static Overload>,
    result: Type,
    /// By node, with `found` still to be put in.
    types: Vec<Type>,
    found: Substitution,
}

/// Which overloads of a call can be meant.
#[derive(Clone, Copy, Debug, Default)]
enum Choice {
    /// Neither a call nor a declared name.
    #[default]
    None,
    /// A selection that is a declared name of so many segments, or the test of one.
    Name(u32),
    /// Of a library function, as a range of [`Checked::overloads`].
    Library { start: u32, count: u32 },
    /// Of an operator, as bits in the order of their declaration.
    Operator(u16),
}

/// Checks an expression.
///
/// # Errors
/// Everything that is wrong with it, in cel-go's words.
pub(crate) fn check(ast: &Ast, env: &Env) -> Result<Checked, Issues> {
    let count = ast.nodes().len();
    let mut checker = Checker {
        ast,
        env,
        found: Substitution::default(),
        types: vec![Type::Error; count],
        choices: vec![Choice::None; count],
        overloads: Vec::new(),
        scopes: Vec::new(),
        mixed_literals: 0,
        literals: Vec::new(),
        unwrapped: Vec::new(),
        formats: Vec::new(),
        with_literals: Vec::new(),
        issues: Collector::default(),
    };
    checker.check(ast.root());
    if checker.issues.is_empty() {
        checker.optional_parts();
    }
    if checker.issues.is_empty() {
        checker.homogeneous_literals();
        checker.format_clauses();
        checker.literal_arguments();
    }
    let result = checker.found.finish(checker.ty(ast.root()));
    match checker.issues.finish(ast.source()) {
        Some(issues) => Err(issues),
        None => Ok(Checked {
            choices: checker.choices,
            overloads: checker.overloads,
            result,
            types: checker.types,
            found: checker.found,
        }),
    }
}

impl Checked {
    /// The type of the whole expression.
    pub(crate) fn result(&self) -> &Type {
        &self.result
    }

    /// The overloads that a call of a library function can mean; at least one, for calls.
    pub(crate) fn overloads(&self, call: ExprId) -> &[&'static Overload] {
        match self.choices.get(call.0 as usize) {
            Some(Choice::Library { start, count }) => {
                let (start, count) = (*start as usize, *count as usize);
                self.overloads.get(start..start + count).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// Whether a sum is known to be one of strings, or of bytes.
    pub(crate) fn is_text_sum(&self, operator: ExprId) -> bool {
        matches!(self.choices.get(operator.0 as usize), Some(Choice::Operator(bits))
            if bits.count_ones() == 1 && bits & operators::TEXT_SUMS != 0)
    }

    /// Whether an order is known to be one of strings, or of bytes.
    pub(crate) fn is_text_comparison(&self, operator: ExprId) -> bool {
        matches!(self.choices.get(operator.0 as usize), Some(Choice::Operator(bits))
            if bits.count_ones() == 1 && bits & operators::TEXT_ORDERS != 0)
    }

    /// Whether an `in` can only look into a list.
    pub(crate) fn is_list_membership(&self, operator: ExprId) -> bool {
        matches!(self.choices.get(operator.0 as usize), Some(Choice::Operator(1)))
    }
}

struct Checker<'s> {
    ast: &'s Ast,
    env: &'s Env,
    found: Substitution,
    /// By node.
    types: Vec<Type>,
    choices: Vec<Choice>,
    overloads: Vec<&'static Overload>,
    /// Comprehension variables in scope, innermost last.
    scopes: Vec<(&'s str, Type)>,
    /// How many calls around the current node take literals of mixed types.
    mixed_literals: u32,
    /// Lists and maps outside of such calls.
    literals: Vec<ExprId>,
    /// Optional parts of literals that are of type dyn.
    unwrapped: Vec<ExprId>,
    /// Calls of `format`.
    formats: Vec<ExprId>,
    /// Calls of functions whose first argument is looked at when it is a literal, by name.
    with_literals: Vec<(ExprId, &'static str)>,
    issues: Collector,
}

/// Findings of one expression for which a near name is looked up.
const SUGGESTIONS: usize = 10;

impl Checker<'_> {
    fn ty(&self, id: ExprId) -> &Type {
        &self.types[id.0 as usize]
    }

    fn set(&mut self, id: ExprId, ty: Type) {
        self.types[id.0 as usize] = ty;
    }

    /// Reports something about a node, at the place that cel-go points at.
    fn report(&mut self, id: ExprId, message: String, help: Option<String>) {
        self.issues.report_at(self.ast.span(id), self.ast.caret(id), message, help);
    }

    /// Looks for a known name near a wrong one, unless so much is wrong that nobody reads on.
    fn did_you_mean<'n>(&self, wrong: &str, known: impl Iterator<Item = &'n str>) -> Option<String> {
        if self.issues.len() >= SUGGESTIONS {
            return None;
        }
        nearest(wrong, known).map(|near| format!("did you mean `{near}`?"))
    }

    fn mismatch(&mut self, id: ExprId, expected: &Type, found: &Type, help: &str) {
        let message =
            format!("expected type '{}' but found '{}'", expected.in_messages(), found.in_messages());
        self.report(id, message, Some(help.to_owned()));
    }
}

#[cfg(test)]
mod tests;
