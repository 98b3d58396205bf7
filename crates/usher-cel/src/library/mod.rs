//! The function library: one file per library of Kubernetes' CEL environment, each a table of [`Overload`]s.
//!
//! Operators and macros are no functions: the evaluator and the parser own them.

pub mod authorizer;
pub mod opaque;

mod address;
mod cidr;
mod convert;
mod cost;
mod decimal;
mod format;
mod ip;
mod jsonpatch;
mod k8s_lists;
mod lists;
mod names;
mod net_url;
pub(crate) mod number;
mod optional;
mod overload;
mod quantity;
mod quantity_text;
mod quote;
mod re2;
mod regex;
mod semver;
mod sets;
mod standard;
mod string_format;
mod strings;
#[cfg(test)]
mod testing;
mod time;
mod urls;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use re2::{Regex, RegexBudget};

pub(crate) use string_format::Clause as FormatClause;

pub(crate) use cost::{of_failed_call as failed_call_cost, of_unknown_overload as cost_of_unknown_overload};
pub(crate) use overload::is_unguarded;
pub use overload::{Call, Form, Implementation, Overload, Prepare, Prepared, Ty};

/// Every table, in the order in which overloads of one name are tried: that of the API server's environment, on which the type of an
/// expression can depend.
const TABLES: &[&[Overload]] = &[
    convert::OVERLOADS,
    standard::OVERLOADS,
    time::OVERLOADS,
    urls::OVERLOADS,
    regex::OVERLOADS,
    strings::OVERLOADS,
    k8s_lists::OVERLOADS,
    lists::OVERLOADS,
    authorizer::OVERLOADS,
    optional::OVERLOADS,
    quantity::OVERLOADS,
    sets::OVERLOADS,
    ip::OVERLOADS,
    cidr::OVERLOADS,
    format::OVERLOADS,
    semver::OVERLOADS,
    jsonpatch::OVERLOADS,
];

/// All overloads of a function in one form, or `None` when there is no such function.
pub fn find(name: &str, form: Form) -> Option<&'static [&'static Overload]> {
    static BY_NAME: LazyLock<HashMap<&'static str, [Vec<&'static Overload>; 2]>> = LazyLock::new(|| {
        let mut by_name: HashMap<_, [Vec<_>; 2]> = HashMap::new();
        for overload in overloads() {
            by_name.entry(overload.name).or_default()[overload.form as usize].push(overload);
        }
        by_name
    });
    let found = BY_NAME.get(name)?[form as usize].as_slice();
    (!found.is_empty()).then_some(found)
}

/// Whether a text is a regular expression.
///
/// # Errors
/// What is wrong with it, in Go's words.
pub(crate) fn check_pattern(pattern: &str, budget: &RegexBudget) -> Result<(), String> {
    re2::check(pattern, budget)
}

/// Every overload of every library, for documentation and for the checker.
pub fn overloads() -> impl Iterator<Item = &'static Overload> {
    TABLES.iter().copied().flatten()
}
