//! What an expression may name.

use std::collections::HashMap;

use super::program::Program;
use crate::check::Type;
use crate::issue::Issues;
use crate::library::{self, Form, Overload, RegexBudget};
use crate::version::KubernetesVersion;

/// The declarations that an expression is compiled against.
#[derive(Clone, Debug, Default)]
pub struct Env {
    variables: HashMap<Box<str>, Variable>,
    next_slot: u32,
    container: Box<str>,
    mutation_types: bool,
    unchecked: bool,
    regexes: Option<RegexBudget>,
    version: KubernetesVersion,
}

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) slot: u32,
    pub(crate) ty: Type,
}

impl Env {
    /// The library and no variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a variable of unknown type and gives back its slot: the number by which [`crate::eval::Activation`] is asked for
    /// its value. Slots count from 0 in the order of declaration; a name declared again keeps its slot.
    ///
    /// A dotted name (`variables.images`, `request.object`) takes precedence over selecting fields of a shorter one.
    pub fn declare(&mut self, name: &str) -> u32 {
        self.declare_typed(name, Type::Dyn)
    }

    /// As [`Env::declare`], for a variable of which every value has this type.
    pub fn declare_typed(&mut self, name: &str, ty: impl Into<Type>) -> u32 {
        let ty = ty.into();
        if let Some(known) = self.variables.get_mut(name) {
            known.ty = ty;
            return known.slot;
        }
        let slot = self.next_slot;
        self.next_slot += 1;
        self.variables.insert(name.into(), Variable { slot, ty });
        slot
    }

    /// How many slots are declared.
    pub fn slots(&self) -> u32 {
        self.next_slot
    }

    /// Allows `Object{…}`, `Object.spec{…}` and `JSONPatch{…}`, the types of a MutatingAdmissionPolicy's expressions.
    #[must_use]
    pub fn with_mutation_types(mut self) -> Self {
        self.mutation_types = true;
        self
    }

    /// Resolves unqualified names first inside this namespace, as CEL's container does. Kubernetes uses none.
    #[must_use]
    pub fn with_container(mut self, container: &str) -> Self {
        self.container = container.into();
        self
    }

    /// Leaves mistakes of type to the evaluation, as CEL without its checker does. Kubernetes always checks.
    #[must_use]
    pub fn without_type_checks(mut self) -> Self {
        self.unchecked = true;
        self
    }

    /// Compiles the regular expressions of all expressions on one budget: those of a rule. Without this each expression has its own.
    #[must_use]
    pub fn with_regex_budget(mut self, budget: RegexBudget) -> Self {
        self.regexes = Some(budget);
        self
    }

    /// Compiles as one version of Kubernetes does; without this as the newest.
    #[must_use]
    pub fn for_version(mut self, version: KubernetesVersion) -> Self {
        self.version = version;
        self
    }

    /// The version of Kubernetes that expressions are compiled for.
    pub fn version(&self) -> KubernetesVersion {
        self.version
    }

    /// See [`super::compile`].
    ///
    /// # Errors
    /// See [`super::compile`].
    pub fn compile(&self, source: &str) -> Result<Program, Issues> {
        super::compile(source, self)
    }

    /// See [`library::find`].
    pub(crate) fn find(&self, name: &str, form: Form) -> Option<&'static [&'static Overload]> {
        library::find(name, form, self.version)
    }

    /// Whether there is a function of this name, in whatever form.
    pub(crate) fn knows_function(&self, name: &str) -> bool {
        self.find(name, Form::Global).is_some() || self.find(name, Form::Member).is_some()
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(AsRef::as_ref)
    }

    pub(crate) fn container(&self) -> &str {
        &self.container
    }

    pub(crate) fn checks_types(&self) -> bool {
        !self.unchecked
    }

    /// What the regular expressions of an expression may take.
    pub(crate) fn regex_budget(&self) -> RegexBudget {
        self.regexes.clone().unwrap_or_default()
    }

    pub(crate) fn has_mutation_types(&self) -> bool {
        self.mutation_types
    }

    /// The names that `name` may stand for, most specific first: in container `a.b`, `x` is `a.b.x`, `a.x` or `x`; `.x` is only `x`.
    pub(crate) fn candidates(&self, name: &str) -> impl Iterator<Item = String> {
        let (mut container, absolute) = match name.strip_prefix('.') {
            Some(name) => (None, name.to_owned()),
            None => {
                (Some(self.container.to_string()).filter(|container| !container.is_empty()), name.to_owned())
            }
        };
        let mut done = false;
        std::iter::from_fn(move || {
            if let Some(prefix) = container.take() {
                let candidate = format!("{prefix}.{absolute}");
                container = prefix.rfind('.').map(|dot| prefix[..dot].to_owned());
                return Some(candidate);
            }
            (!std::mem::replace(&mut done, true)).then(|| absolute.clone())
        })
    }
}
