//! Guards: facts of the envelope that an expression cannot do without, read off its syntax tree.
//!
//! The index keys a rule by its guards, so that a request which the guards exclude never meets the rule. That is allowed only if the rule
//! would have done nothing: no route acts, and no evaluation fails either, since a failure is an answer too (see `failurePolicy`).

mod facts;
mod necessary;

use crate::engine::Guard;
use facts::Facts;
pub(crate) use necessary::{Necessary, necessary};

/// What decides whether a rule does anything.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Of each match condition, in order.
    pub(crate) conditions: Vec<Necessary>,
    /// Of each route's predicate with the value at which its handler acts; `None` for a route that always acts.
    pub(crate) routes: Vec<Option<(Necessary, bool)>>,
    /// The rule does something whenever its conditions hold, whatever its routes find.
    pub(crate) annotates: bool,
    /// Looking for the parameter objects can fail, which comes before all expressions.
    pub(crate) params_may_fail: bool,
}

/// The guards of a rule: each must admit a request, or the rule does nothing at all.
pub(crate) fn guards(effects: Effects) -> Vec<Guard> {
    if effects.params_may_fail {
        return Vec::new();
    }
    let mut facts = Facts::default();
    let mut before_is_light = true;
    let mut before_is_sure = true;
    for condition in effects.conditions {
        // One false condition ends the rule, even beside a failing one; but an exhausted budget ends the search for a false one.
        if before_is_light {
            facts.and(condition.to_hold);
        }
        before_is_light &= condition.light;
        before_is_sure &= condition.sure;
    }
    if before_is_sure && before_is_light && !effects.annotates {
        facts.and(of_routes(effects.routes));
    }
    facts.into_guards()
}

/// What every route needs.
fn of_routes(routes: Vec<Option<(Necessary, bool)>>) -> Facts {
    let of_route = |route: Option<(Necessary, bool)>| match route {
        Some((necessary, true)) => necessary.to_hold,
        Some((necessary, false)) => necessary.to_fail,
        None => Facts::default(),
    };
    let mut routes = routes.into_iter();
    let mut all = routes.next().map(of_route).unwrap_or_default();
    for route in routes {
        all.or(of_route(route));
    }
    all
}

#[cfg(test)]
mod tests;
