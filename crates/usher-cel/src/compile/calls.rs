//! Calls of library functions.

use super::constant::Constant;
use super::lower::{Lower, constant_value};
use super::program::{Callee, Node, NodeId, OptionalOr};
use crate::ast::{Expr, ExprId, Literal};
use crate::eval::{Arena, EvalError, Meter, Value, type_name};
use crate::library::{self, Call, Form, Overload, RegexBudget};
use crate::version::KubernetesVersion;

/// Budget of folding one constant call; a conversion of the longest literal is far below it.
const FOLD_COST: u64 = 1_000_000;

/// Functions that cel-go evaluates while it plans a program when their argument is constant (`overloads.IsTypeConversionFunction`); an error
/// there is an error of the program.
const CONVERSIONS: &[&str] =
    &["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

impl Lower<'_> {
    /// Whether `target.function(…)` calls a function with a dotted name, as `sets.contains`.
    pub(super) fn is_namespaced(&self, target: ExprId, function: &str) -> bool {
        self.namespaced(target, function).is_some()
    }

    fn namespaced(&self, target: ExprId, function: &str) -> Option<String> {
        // Namespaces of functions have one segment, so that a look at the target is enough.
        let Expr::Ident(namespace) = self.ast.expr(target) else { return None };
        let name = format!("{}.{function}", namespace.trim_start_matches('.'));
        self.env.knows_function(&name).then_some(name)
    }

    /// `f(…)` and `namespace.f(…)`.
    pub(super) fn global_call(
        &mut self,
        id: ExprId,
        function: &str,
        target: Option<ExprId>,
        args: &[ExprId],
    ) -> NodeId {
        let name = target
            .and_then(|target| self.namespaced(target, function))
            .or_else(|| self.env.candidates(function).find(|candidate| self.env.knows_function(candidate)))
            .unwrap_or_else(|| function.to_owned());
        let lowered: Vec<NodeId> = args.iter().map(|arg| self.expr(*arg)).collect();
        self.call(id, &name, Form::Global, lowered)
    }

    /// `target.f(…)` with the target already lowered.
    pub(super) fn member_call(
        &mut self,
        id: ExprId,
        function: &str,
        target: NodeId,
        args: &[ExprId],
    ) -> NodeId {
        let mut all = vec![target];
        for arg in args {
            let arg = self.expr(*arg);
            all.push(arg);
        }
        if let ("or" | "orValue", [target, other]) = (function, &all[..]) {
            let (target, other, value) = (*target, *other, function == "orValue");
            let lenient = self.env.version().is_before_1_37();
            let or = OptionalOr { target, other, value, lenient };
            return self.push(Node::OptionalOr(or), self.ast.span(id));
        }
        self.call(id, function, Form::Member, all)
    }

    fn call(&mut self, id: ExprId, name: &str, form: Form, args: Vec<NodeId>) -> NodeId {
        let span = self.ast.span(id);
        let overloads: Vec<&'static Overload> = match self.checked {
            Some(checked) => checked.overloads(id).to_vec(),
            None => {
                let Some(known) = self.env.find(name, form) else { return self.undeclared(span, name) };
                known.iter().copied().filter(|overload| overload.params.len() == args.len()).collect()
            }
        };
        if overloads.is_empty() {
            return self.fail(span, format!("no such overload: {name}"));
        }
        if CONVERSIONS.contains(&name)
            && let [arg] = args[..]
            && let Some(constant) = self.constant(arg)
        {
            match fold(constant, &overloads) {
                Ok(Some(folded)) => return self.push(Node::Constant(folded), span),
                Ok(None) => {}
                Err(message) => return self.give_up(self.last_argument(id), message),
            }
        }
        let mut prepared = None;
        for prepare in overloads.iter().filter_map(|overload| overload.prepare) {
            let constants: Vec<Option<&str>> =
                args.iter().map(|arg| self.constant(*arg).and_then(Constant::as_str)).collect();
            match prepare(&constants, &self.regexes) {
                Ok(ready) => prepared = prepared.or(ready),
                Err(message) => return self.give_up(self.last_argument(id), message),
            }
        }
        let flat_cost = overloads.len() > 1 && self.checked.is_some() && cost_needs_overload(name);
        let guarded = !library::is_unguarded(name);
        let callee = Callee { overloads: overloads.into(), flat_cost, guarded, args: args.into(), prepared };
        self.push(Node::Call(Box::new(callee)), span)
    }

    /// Where errors of constant arguments point.
    fn last_argument(&self, call: ExprId) -> ExprId {
        match self.ast.expr(call) {
            Expr::Call { args, .. } => args.last().copied().unwrap_or(call),
            _ => call,
        }
    }
}

/// What is wrong with a literal as the argument of `duration`, `timestamp` or `matches`, which Kubernetes looks at before it plans a program
/// (cel-go `cel/validator.go`).
pub(crate) fn literal_fault(function: &str, literal: &Literal, regexes: &RegexBudget) -> Option<String> {
    let cause = match (function, literal) {
        ("duration" | "timestamp", literal) => {
            let overloads =
                library::find(function, Form::Global, KubernetesVersion::NEWEST).unwrap_or_default();
            fold(&Constant::from(literal), overloads).err()?
        }
        ("matches", Literal::String(pattern)) => library::check_pattern(pattern, regexes).err()?,
        _ => return None,
    };
    Some(format!("invalid {function} argument: {cause}"))
}

/// Calls a conversion on a constant. `None` when the result only lives in an arena.
fn fold(constant: &Constant, overloads: &[&'static Overload]) -> Result<Option<Constant>, String> {
    let arena = Arena::default();
    let Some(value) = constant_value(constant, &arena) else { return Ok(None) };
    let args: [Value<'_>; 1] = [value];
    let Some(overload) = overloads.iter().find(|overload| overload.admits(&args)) else {
        let name = overloads.first().map_or("", |overload| overload.name);
        return Err(EvalError::no_such_overload_of(format_args!("{name}({})", type_name(&value))).message);
    };
    let mut meter = Meter::new(FOLD_COST);
    let mut call = Call { arena: &arena, meter: &mut meter, prepared: None, authorizer: None };
    match (overload.call)(&mut call, &args) {
        Ok(value) => Ok(Constant::of(&value)),
        Err(error) => Err(error.message),
    }
}

/// Functions of which the cost is found by the overload; Kubernetes' own libraries name theirs by the function (apiserver `CallCost`), which
/// is known in any case.
fn cost_needs_overload(name: &str) -> bool {
    matches!(name, "sort" | "@sortByAssociatedKeys" | "bytes" | "string" | "containsIP" | "containsCIDR")
}
