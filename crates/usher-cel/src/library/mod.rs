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
mod number;
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

pub(crate) use string_format::Clause as FormatClause;

pub use overload::{Call, Form, Implementation, Overload, Prepare, Prepared, Ty};

/// Every table, in the order in which overloads of one name are tried.
const TABLES: &[&[Overload]] = &[
    authorizer::OVERLOADS,
    cidr::OVERLOADS,
    convert::OVERLOADS,
    format::OVERLOADS,
    ip::OVERLOADS,
    jsonpatch::OVERLOADS,
    quantity::OVERLOADS,
    regex::OVERLOADS,
    semver::OVERLOADS,
    sets::OVERLOADS,
    standard::OVERLOADS,
    time::OVERLOADS,
    strings::OVERLOADS,
    lists::OVERLOADS,
    k8s_lists::OVERLOADS,
    optional::OVERLOADS,
    urls::OVERLOADS,
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

/// Every overload of every library, for documentation and for the checker.
pub fn overloads() -> impl Iterator<Item = &'static Overload> {
    TABLES.iter().copied().flatten()
}
