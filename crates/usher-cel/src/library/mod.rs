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
use std::sync::OnceLock;

use crate::version::KubernetesVersion;

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

/// All overloads that a version of Kubernetes has of a function in one form, or `None` when it has no such function.
pub fn find(name: &str, form: Form, version: KubernetesVersion) -> Option<&'static [&'static Overload]> {
    /// By minor version; made when first asked for.
    static BY_VERSION: [OnceLock<ByName>; VERSIONS] = [const { OnceLock::new() }; VERSIONS];
    let index = version.minor() - KubernetesVersion::OLDEST.minor();
    let by_name = BY_VERSION.get(usize::from(index))?.get_or_init(|| by_name(version));
    let found = by_name.get(name)?[form as usize].as_slice();
    (!found.is_empty()).then_some(found)
}

const VERSIONS: usize = (KubernetesVersion::NEWEST.minor() - KubernetesVersion::OLDEST.minor() + 1) as usize;

/// Overloads in the order in which they are tried, by [`Form`].
type ByName = HashMap<&'static str, [Vec<&'static Overload>; 2]>;

fn by_name(version: KubernetesVersion) -> ByName {
    let mut by_name = ByName::new();
    // Up to 1.36 Kubernetes' own functions on lists come before those on strings.
    let first = if version.is_before_1_37() { k8s_lists::OVERLOADS } else { &[] };
    let others = TABLES.iter().copied().filter(|table| !std::ptr::eq(*table, first)).flatten();
    for overload in first.iter().chain(others).filter(|overload| overload.is_in(version)) {
        by_name.entry(overload.name).or_default()[overload.form as usize].push(overload);
    }
    by_name
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
