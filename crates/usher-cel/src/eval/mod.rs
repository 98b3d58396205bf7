//! Evaluation: values, errors, the meter and the evaluator.

mod arena;
pub mod arithmetic;
mod call;
pub(crate) mod civil;
mod compare;
mod equal;
mod error;
mod evaluator;
mod fold;
mod literal;
mod meter;
mod operand;
mod optional;
mod rfc3339;
mod select;
mod size;
mod timestamp;
mod trace;
mod value;

pub use arena::{Arena, ListBuilder};
pub(crate) use compare::is_comparable;
pub use compare::{compare, order};
pub use equal::equal;
pub(crate) use equal::equal_within;
pub use error::{ErrorKind, EvalError, EvalResult};
pub(crate) use evaluator::Evaluator;
pub use meter::Meter;
pub(crate) use select::KeyText;
pub use size::actual_size;
pub use timestamp::Timestamp;
pub use trace::{Trace, TraceEntry};
pub use value::{Entry, Map, Object, Opaque, Value, type_name};

use crate::library::authorizer::Authorize;

/// Where a program's variables come from. One per evaluated rule; values live as long as the rule's [`Arena`].
///
/// `slot` is the number that [`crate::Env::declare`] gave to the variable. Implementations are lazy: a variable that is
/// not asked for is not built. A variable that is itself an expression is evaluated with the meter that is passed in, so
/// that its cost counts to the expression that read it, as in Kubernetes.
pub trait Activation<'a> {
    fn variable(&self, slot: u32, meter: &mut Meter<'_>) -> EvalResult<'a>;

    /// Who answers `authorizer…check(…)`. Without one every check is refused with an error.
    fn authorizer(&self) -> Option<&dyn Authorize> {
        None
    }
}
