//! Calls of operators and functions.

use super::operators::{self, Signature};
use super::static_type::Type;
use super::substitution::Substitution;
use super::{Checker, Choice};
use crate::ast::{Expr, ExprId, operators as op};
use crate::compile::literal_fault;
use crate::library::{self, Form, Overload, Ty};
use crate::parse::macro_since;

impl Checker<'_> {
    /// The function with a dotted name that `target.function(…)` calls, as `sets.contains`.
    pub(super) fn namespaced(&self, target: ExprId, function: &str) -> Option<String> {
        // Namespaces of functions have one segment, so that a look at the target is enough.
        let Expr::Ident(namespace) = self.ast.expr(target) else { return None };
        let name = format!("{}.{function}", namespace.trim_start_matches('.'));
        self.env.knows_function(&name).then_some(name)
    }

    /// An operator; the operands are checked.
    pub(super) fn operator(&mut self, id: ExprId, function: &str, args: &[ExprId]) {
        if function == op::LOGICAL_AND || function == op::LOGICAL_OR {
            return self.logical(id, args);
        }
        let types: Vec<Type> = args.iter().map(|arg| self.ty(*arg).clone()).collect();
        let mut bits = 0_u16;
        let mut result = None;
        for (index, Signature { params, result: declared }) in
            operators::find(function).unwrap_or_default().iter().enumerate()
        {
            if let Some(ty) = self.attempt(&types, params, *declared) {
                bits |= 1 << index;
                result = Some(merged(result, ty));
            }
        }
        match result {
            Some(ty) => {
                self.choices[id.0 as usize] = Choice::Operator(bits);
                self.set(id, ty);
            }
            None => self.no_overload(id, function, &types, false, None),
        }
    }

    fn logical(&mut self, id: ExprId, args: &[ExprId]) {
        let mut fits = true;
        for arg in args {
            let ty = self.ty(*arg).clone();
            if !self.found.assignable(&ty, &Type::Bool) {
                self.mismatch(*arg, &Type::Bool, &ty, "compare it with something");
                fits = false;
            }
        }
        self.set(id, if fits { Type::Bool } else { Type::Error });
    }

    /// `f(…)` and `namespace.f(…)`; the arguments are checked.
    pub(super) fn global_call(
        &mut self,
        id: ExprId,
        function: &str,
        target: Option<ExprId>,
        args: &[ExprId],
    ) {
        let namespaced = target.and_then(|target| self.namespaced(target, function));
        let name = namespaced
            .or_else(|| self.env.candidates(function).find(|candidate| self.env.knows_function(candidate)))
            .unwrap_or_else(|| function.to_owned());
        let types = args.iter().map(|arg| self.ty(*arg).clone()).collect();
        self.call(id, &name, Form::Global, types);
    }

    /// `target.f(…)`; the target and the arguments are checked.
    pub(super) fn member_call(&mut self, id: ExprId, function: &str, target: ExprId, args: &[ExprId]) {
        if function == "format" {
            self.formats.push(id);
        }
        let types = std::iter::once(&target).chain(args).map(|arg| self.ty(*arg).clone()).collect();
        self.call(id, function, Form::Member, types);
    }

    fn call(&mut self, id: ExprId, name: &str, form: Form, types: Vec<Type>) {
        let Some(overloads) = self.env.find(name, form) else {
            let other = other_form(form);
            if self.env.find(name, other).is_some() {
                let help = match other {
                    Form::Member => format!("`{name}` is a member function: write `x.{name}(…)`"),
                    Form::Global => format!("`{name}` is no member function: write `{name}(x)`"),
                };
                return self.no_overload(id, name, &types, form == Form::Member, Some(help));
            }
            let args = types.len() - usize::from(form == Form::Member);
            let help = self.too_new(id, name, form, args).or_else(|| {
                let version = self.env.version();
                let known = library::overloads().filter(|known| known.form == form && known.is_in(version));
                self.did_you_mean(name, known.map(|overload| overload.name))
            });
            self.undeclared(id, name, help);
            return self.set(id, Type::Error);
        };
        if let Some(function) = ["duration", "timestamp", "matches"].into_iter().find(|known| *known == name)
        {
            self.with_literals.push((id, function));
        }
        let start = self.overloads.len();
        let mut result = None;
        for overload in overloads.iter().copied() {
            if let Some(ty) = self.attempt(&types, overload.params, overload.result) {
                self.overloads.push(overload);
                result = Some(merged(result, named_by(overload, &types).unwrap_or(ty)));
            }
        }
        let Some(ty) = result else {
            return self.no_overload(id, name, &types, form == Form::Member, None);
        };
        let count = self.overloads.len() - start;
        self.choices[id.0 as usize] = Choice::Library {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            count: u32::try_from(count).unwrap_or(u32::MAX),
        };
        let ty = self.found.apply(&ty);
        self.set(id, ty);
    }

    /// Which version of Kubernetes brings a function or macro that is not there yet.
    fn too_new(&self, call: ExprId, name: &str, form: Form, args: usize) -> Option<String> {
        let namespaced = match self.ast.expr(call) {
            Expr::Call { target: Some(target), .. } => match self.ast.expr(*target) {
                Expr::Ident(namespace) => Some(format!("{}.{name}", namespace.trim_start_matches('.'))),
                _ => None,
            },
            _ => None,
        };
        let of_macro = (form == Form::Member).then(|| macro_since(name, args)).flatten();
        let (name, since) = match of_macro.or_else(|| first_version(name, form)) {
            Some(since) => (name, since),
            None => {
                let name = namespaced.as_deref()?;
                (name, first_version(name, Form::Global)?)
            }
        };
        let version = self.env.version();
        (!version.has(since)).then(|| {
            format!("`{name}` comes with Kubernetes 1.{since}, and rules are compiled for {version}")
        })
    }

    /// Literals that can never be what they are used as. Of `matches(text, pattern)` the API server takes the text for the pattern here.
    pub(super) fn literal_arguments(&mut self) {
        let regexes = self.env.regex_budget();
        for (call, function) in std::mem::take(&mut self.with_literals) {
            let Expr::Call { args, .. } = self.ast.expr(call) else { continue };
            let Some(first) = args.first().copied() else { continue };
            let Expr::Literal(literal) = self.ast.expr(first) else { continue };
            if let Some(fault) = literal_fault(function, literal, &regexes) {
                self.report(first, fault, None);
            }
        }
    }

    /// The result of an overload, if the arguments fit it.
    fn attempt(&mut self, types: &[Type], params: &[Ty], result: Ty) -> Option<Type> {
        let mut names = Vec::new();
        for param in params {
            collect_names(*param, &mut names);
        }
        collect_names(result, &mut names);
        // Even where the count of arguments decides: messages show the numbers of unknown types.
        let first = self.found.reserve(names.len());
        if types.len() != params.len() {
            return None;
        }
        if !self.found.fits(types, params, &names, first) {
            return None;
        }
        Some(self.found.apply(&Substitution::instantiate(result, &names, first)))
    }

    fn no_overload(&mut self, id: ExprId, name: &str, types: &[Type], member: bool, help: Option<String>) {
        let mut names = types.iter().map(|ty| self.found.finish(ty).in_messages());
        let target =
            if member { names.next().map(|name| name + ".").unwrap_or_default() } else { String::new() };
        let args = names.collect::<Vec<_>>().join(", ");
        let message = format!("found no matching overload for '{name}' applied to '{target}({args})'");
        self.report(id, message, help);
        self.set(id, Type::Error);
    }
}

/// The minor version of Kubernetes that brought a function in one form.
fn first_version(name: &str, form: Form) -> Option<u8> {
    library::overloads()
        .filter(|known| known.name == name && known.form == form)
        .map(|overload| overload.since)
        .min()
}

/// The result of a call of which several overloads are left.
fn merged(before: Option<Type>, next: Type) -> Type {
    match before {
        Some(before) if !before.is_dyn() && before != next => Type::Dyn,
        Some(before) => before,
        None => next,
    }
}

/// `type(x)`: the only function whose result names the type of its argument.
fn named_by(overload: &Overload, types: &[Type]) -> Option<Type> {
    (overload.name == "type").then(|| types.first().cloned().map(Type::type_of)).flatten()
}

fn collect_names(ty: Ty, names: &mut Vec<&'static str>) {
    match ty {
        Ty::Param(name) if !names.contains(&name) => names.push(name),
        Ty::List(part) | Ty::Optional(part) => collect_names(*part, names),
        Ty::Map(key, value) => {
            collect_names(*key, names);
            collect_names(*value, names);
        }
        _ => {}
    }
}

fn other_form(form: Form) -> Form {
    match form {
        Form::Global => Form::Member,
        Form::Member => Form::Global,
    }
}
