//! Calls of library functions.

use super::constant::Constant;
use super::kind;
use super::lower::{Lower, constant_value};
use super::program::{Callee, Node, NodeId};
use crate::ast::{Expr, ExprId, Span};
use crate::eval::{Arena, Meter, Value};
use crate::library::{self, Call, Form, Overload, Ty};

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
        if self.scopes.iter().any(|(scoped, _)| scoped == namespace) {
            return None;
        }
        let name = format!("{}.{function}", namespace.trim_start_matches('.'));
        library::find(&name, Form::Global).map(|_| name)
    }

    /// `f(…)` and `namespace.f(…)`.
    pub(super) fn global_call(
        &mut self,
        id: ExprId,
        function: &str,
        target: Option<ExprId>,
        args: &[ExprId],
        span: Span,
    ) -> NodeId {
        let namespaced = target.and_then(|target| self.namespaced(target, function));
        let found = match &namespaced {
            Some(name) => library::find(name, Form::Global).map(|overloads| (name.clone(), overloads)),
            None => self
                .env
                .candidates(function)
                .find_map(|name| library::find(&name, Form::Global).map(|overloads| (name, overloads))),
        };
        let args: Vec<NodeId> = args.iter().map(|arg| self.expr(*arg)).collect();
        match found {
            Some((name, overloads)) => self.call(&name, overloads, args, span),
            None => self.unknown_function(id, function, Form::Global),
        }
    }

    /// `target.f(…)` with the target already lowered.
    pub(super) fn member_call(
        &mut self,
        id: ExprId,
        function: &str,
        target: NodeId,
        args: &[ExprId],
        span: Span,
    ) -> NodeId {
        let mut all = vec![target];
        // What is formatted may be of any types (cel-go's `HomogeneousAggregateLiteralExemptFunctions`).
        let formats = u32::from(function == "format");
        self.mixed_literals += formats;
        for arg in args {
            let arg = self.expr(*arg);
            all.push(arg);
        }
        self.mixed_literals -= formats;
        if let ("or" | "orValue", [target, other]) = (function, &all[..])
            && kind::assignable(self.ty(*target), Ty::Optional(&Ty::Dyn))
        {
            let value = function == "orValue";
            let ty = if value { Ty::Dyn } else { Ty::Optional(&Ty::Dyn) };
            return self.push(Node::OptionalOr { target: *target, other: *other, value }, span, ty);
        }
        match library::find(function, Form::Member) {
            Some(overloads) => self.call(function, overloads, all, span),
            None => self.unknown_function(id, function, Form::Member),
        }
    }

    fn call(&mut self, name: &str, overloads: &[&'static Overload], args: Vec<NodeId>, span: Span) -> NodeId {
        let types: Vec<Ty> = args.iter().map(|arg| self.ty(*arg)).collect();
        let fitting: Vec<&'static Overload> = overloads
            .iter()
            .copied()
            .filter(|overload| {
                overload.params.len() == types.len()
                    && overload.params.iter().zip(&types).all(|(param, ty)| kind::assignable(*ty, *param))
            })
            .collect();
        if fitting.is_empty() {
            self.no_overload(span, name, &types);
            return self.push(Node::Constant(Constant::Null), span, Ty::Dyn);
        }
        let mut prepared = None;
        for prepare in fitting.iter().filter_map(|overload| overload.prepare) {
            let constants: Vec<Option<&str>> =
                args.iter().map(|arg| self.constant(*arg).and_then(Constant::as_str)).collect();
            match prepare(&constants) {
                Ok(ready) => prepared = prepared.or(ready),
                Err(message) => return self.fail(span, message, None),
            }
        }
        if CONVERSIONS.contains(&name)
            && let [arg] = args[..]
            && let Some(constant) = self.constant(arg)
        {
            match fold(constant, &fitting) {
                Ok(Some(folded)) => return self.push(Node::Constant(folded), span, kind::result(&fitting)),
                Ok(None) => {}
                Err(message) => return self.fail(span, message, None),
            }
        }
        let ty = kind::result(&fitting);
        let callee = Callee { overloads: fitting.into(), args: args.into(), prepared };
        self.push(Node::Call(Box::new(callee)), span, ty)
    }

    fn unknown_function(&mut self, id: ExprId, name: &str, form: Form) -> NodeId {
        let span = self.name_span(id, name);
        let message = format!(
            "undeclared reference to '{}' (in container '{}')",
            name.trim_start_matches('.'),
            self.env.container()
        );
        let other = match form {
            Form::Global => Form::Member,
            Form::Member => Form::Global,
        };
        let help = if library::find(name, other).is_some() {
            Some(match other {
                Form::Member => format!("`{name}` is a member function: write `x.{name}(…)`"),
                Form::Global => format!("`{name}` is no member function: write `{name}(x)`"),
            })
        } else if !self.suggests() {
            None
        } else {
            let known =
                library::overloads().filter(|overload| overload.form == form).map(|overload| overload.name);
            super::suggest::nearest(name, known).map(|near| format!("did you mean `{near}`?"))
        };
        self.fail(span, message, help)
    }

    /// Where the function's name stands in its call: between the receiver and the arguments.
    fn name_span(&self, call: ExprId, name: &str) -> Span {
        let whole = self.ast.span(call);
        let Expr::Call { target, args, .. } = self.ast.expr(call) else { return whole };
        let start = target.map_or(whole.start, |target| self.ast.span(target).end);
        let end = args.first().map_or(whole.end, |arg| self.ast.span(*arg).start);
        let name = name.trim_start_matches('.');
        match (Span { start, end }).text(self.ast.source()).find(name) {
            Some(at) => Span::new(start as usize + at, start as usize + at + name.len()),
            None => whole,
        }
    }
}

/// Calls a conversion on a constant. `None` when the result only lives in an arena.
fn fold(constant: &Constant, overloads: &[&'static Overload]) -> Result<Option<Constant>, String> {
    let arena = Arena::default();
    let Some(value) = constant_value(constant, &arena) else { return Ok(None) };
    let args: [Value<'_>; 1] = [value];
    let Some(overload) = overloads.iter().find(|overload| overload.admits(&args)) else { return Ok(None) };
    let mut meter = Meter::new(FOLD_COST);
    let mut call = Call { arena: &arena, meter: &mut meter, prepared: None, authorizer: None };
    match (overload.call)(&mut call, &args) {
        Ok(value) => Ok(Constant::of(&value)),
        Err(error) => Err(error.message),
    }
}
