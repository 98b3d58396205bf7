//! Types as far as they show without a checker: of literals, operators and functions with one result.

use crate::library::{Overload, Ty};

/// The type that a list of alternatives agrees on.
pub(super) fn common(mut types: impl Iterator<Item = Ty>) -> Ty {
    let Some(first) = types.next() else { return Ty::Dyn };
    if types.all(|ty| same(ty, first)) { first } else { Ty::Dyn }
}

/// The result of a call of one of several overloads; type parameters stay unknown.
pub(super) fn result(overloads: &[&'static Overload]) -> Ty {
    match common(overloads.iter().map(|overload| overload.result)) {
        Ty::Param(_) => Ty::Dyn,
        ty => ty,
    }
}

/// Whether a value of static type `ty` may be an argument for `param`; unknown types may be anything.
pub(super) fn assignable(ty: Ty, param: Ty) -> bool {
    match (ty, param) {
        (Ty::Dyn | Ty::Param(_), _) | (_, Ty::Dyn | Ty::Param(_)) => true,
        _ => same(ty, param),
    }
}

/// Whether both are known and differ, so that no value can be of both.
pub(super) fn disjoint(a: Ty, b: Ty) -> bool {
    !assignable(a, b)
}

fn same(a: Ty, b: Ty) -> bool {
    match (a, b) {
        (Ty::List(_), Ty::List(_)) | (Ty::Map(..), Ty::Map(..)) | (Ty::Optional(_), Ty::Optional(_)) => true,
        _ => a == b,
    }
}

impl std::fmt::Display for Ty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&name(*self))
    }
}

/// cel-go's name of a type in messages.
pub(crate) fn name(ty: Ty) -> String {
    match ty {
        Ty::Dyn => "dyn".to_owned(),
        Ty::Null => "null".to_owned(),
        Ty::Bool => "bool".to_owned(),
        Ty::Int => "int".to_owned(),
        Ty::Uint => "uint".to_owned(),
        Ty::Double => "double".to_owned(),
        Ty::String => "string".to_owned(),
        Ty::Bytes => "bytes".to_owned(),
        Ty::Timestamp => "timestamp".to_owned(),
        Ty::Duration => "duration".to_owned(),
        Ty::Type => "type".to_owned(),
        Ty::Param(name) => name.to_owned(),
        Ty::List(item) => format!("list({})", name(*item)),
        Ty::Map(key, value) => format!("map({}, {})", name(*key), name(*value)),
        Ty::Optional(item) => format!("optional_type({})", name(*item)),
        Ty::Opaque(name) => name.to_owned(),
    }
}
