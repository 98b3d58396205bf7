//! What a library function is: a declared signature and an implementation.

use std::fmt;

use super::authorizer::Authorize;
use super::re2::{Regex, RegexBudget};
use crate::KubernetesVersion;
use crate::eval::{Arena, EvalError, EvalResult, Meter, Value};

/// One overload of a function, with cel-go's or Kubernetes' declared types.
pub struct Overload {
    /// Name as called; namespaced functions carry their namespace: `sets.contains`, `ip.isCanonical`.
    pub name: &'static str,
    pub form: Form,
    /// Types of the arguments; a member's receiver comes first.
    pub params: &'static [Ty],
    pub result: Ty,
    /// The minor version of Kubernetes 1.x that first offers it to new expressions.
    pub since: u8,
    /// The last minor version that has it in this form; [`u8::MAX`] while it lasts.
    pub until: u8,
    pub call: Implementation,
    /// Given the constant arguments (`None` where an argument is no string constant), does once what would be repeated in every call,
    /// for example compiles a regular expression. An error is a compile error of the expression.
    pub prepare: Option<Prepare>,
}

pub type Prepare = fn(&[Option<&str>], &RegexBudget) -> Result<Option<Prepared>, String>;

/// `f(x)` or `x.f()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    Global,
    Member,
}

/// The code of an overload.
///
/// It is called only with as many arguments as `params`, each admitted by its [`Ty`]. It charges its whole Kubernetes run-time
/// cost to the meter itself (1 where `k8s-semantics` 3.3 and cel-go's `CallCost` name nothing else), **before** it allocates what the cost
/// stands for, and puts all that it makes into the arena. Loops over user data call [`Meter::tick`].
pub type Implementation = for<'a> fn(&mut Call<'_, '_, 'a>, &[Value<'a>]) -> EvalResult<'a>;

/// What an implementation may use.
pub struct Call<'c, 'm, 'a> {
    pub arena: &'a Arena,
    pub meter: &'c mut Meter<'m>,
    pub prepared: Option<&'a Prepared>,
    pub authorizer: Option<&'c dyn Authorize>,
}

impl Call<'_, '_, '_> {
    /// See [`Meter::charge`].
    ///
    /// # Errors
    /// When the budget is spent.
    pub fn charge(&mut self, units: u64) -> Result<(), Box<EvalError>> {
        self.meter.charge(units)
    }
}

/// The result of [`Overload::prepare`].
#[derive(Debug)]
pub enum Prepared {
    Regex(Regex),
}

/// A declared type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    Type,
    /// A type parameter; the same name means the same type within one overload.
    Param(&'static str),
    List(&'static Self),
    Map(&'static Self, &'static Self),
    Optional(&'static Self),
    /// A library's own type by name: `kubernetes.Quantity`.
    Opaque(&'static str),
}

impl Ty {
    /// Whether a value may stand for an argument of this type. As in cel-go (`Type.IsAssignableRuntimeType`) the first item of a list and the
    /// first entry of a map speak for the rest.
    #[inline]
    pub fn admits(self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::List(item), Value::List(items)) => items.first().is_none_or(|first| item.admits(first)),
            (Self::Map(key, of), Value::Map(map)) => {
                map.entries().first().is_none_or(|first| key.admits(&first.key) && of.admits(&first.value))
            }
            _ => self.is_outer_type_of(value),
        }
    }

    /// As [`Ty::admits`], without a look into lists and maps.
    #[inline]
    fn is_outer_type_of(self, value: &Value<'_>) -> bool {
        match self {
            Self::Dyn | Self::Param(_) => true,
            Self::Null => matches!(value, Value::Null),
            Self::Bool => matches!(value, Value::Bool(_)),
            Self::Int => matches!(value, Value::Int(_)),
            Self::Uint => matches!(value, Value::Uint(_)),
            Self::Double => matches!(value, Value::Double(_)),
            Self::String => matches!(value, Value::String(_)),
            Self::Bytes => matches!(value, Value::Bytes(_)),
            Self::Timestamp => matches!(value, Value::Timestamp(_)),
            Self::Duration => matches!(value, Value::Duration(_)),
            Self::Type => matches!(value, Value::Type(_)),
            Self::List(_) => matches!(value, Value::List(_)),
            Self::Map(..) => matches!(value, Value::Map(_)),
            Self::Optional(_) => matches!(value, Value::Optional(_)),
            Self::Opaque(name) => matches!(value, Value::Opaque(opaque) if opaque.type_name() == name),
        }
    }
}

impl Overload {
    /// `name(…)` with nothing to prepare.
    pub const fn global(
        since: u8,
        name: &'static str,
        params: &'static [Ty],
        result: Ty,
        call: Implementation,
    ) -> Self {
        Self { name, form: Form::Global, params, result, since, until: u8::MAX, call, prepare: None }
    }

    /// `receiver.name(…)` with nothing to prepare; the receiver's type is the first of `params`.
    pub const fn member(
        since: u8,
        name: &'static str,
        params: &'static [Ty],
        result: Ty,
        call: Implementation,
    ) -> Self {
        Self { name, form: Form::Member, params, result, since, until: u8::MAX, call, prepare: None }
    }

    /// The same overload as it was up to Kubernetes 1.36, with cel-go 0.26.
    #[must_use]
    pub const fn before_1_37(mut self) -> Self {
        self.until = 36;
        self
    }

    /// The same overload as it is from Kubernetes 1.37 on.
    #[must_use]
    pub const fn from_1_37(mut self) -> Self {
        self.since = 37;
        self
    }

    /// Whether a version of Kubernetes has it.
    pub fn is_in(&self, version: KubernetesVersion) -> bool {
        (self.since..=self.until).contains(&version.minor())
    }

    /// The same overload with something to do once for constant arguments.
    #[must_use]
    pub const fn with_prepare(mut self, prepare: Prepare) -> Self {
        self.prepare = Some(prepare);
        self
    }

    /// Whether the values fit the parameters.
    pub fn admits(&self, args: &[Value<'_>]) -> bool {
        self.fits(args, !is_unguarded(self.name))
    }

    /// As [`Overload::admits`], for who knows whether the function is guarded.
    #[inline]
    pub(crate) fn fits(&self, args: &[Value<'_>], guarded: bool) -> bool {
        let fits = |ty: &Ty, value: &Value<'_>| {
            if guarded { ty.admits(value) } else { ty.is_outer_type_of(value) }
        };
        self.params.len() == args.len() && self.params.iter().zip(args).all(|(ty, value)| fits(ty, value))
    }
}

/// Functions of which cel-go does not look at the types of the arguments before they run: it binds one code to all overloads
/// (`decls.Singleton…Binding`), or leaves the look to the code (`decls.DisableTypeGuards`).
pub(crate) fn is_unguarded(name: &str) -> bool {
    matches!(
        name,
        "size"
            | "matches"
            | "sort"
            | "@sortByAssociatedKeys"
            | "type"
            | "dyn"
            | "contains"
            | "startsWith"
            | "endsWith"
            | "flatten"
    )
}

impl fmt::Debug for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overload")
            .field("name", &self.name)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Call<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("prepared", &self.prepared).finish_non_exhaustive()
    }
}
