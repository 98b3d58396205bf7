//! The declarations of operators and of what macros call. cel-go `common/stdlib`, `cel/library.go` for those on optionals,
//! `ext/comprehensions.go`; cross-type comparisons of numbers are allowed, as in Kubernetes.

use crate::ast::operators as op;
use crate::library::Ty;

/// One overload of an operator.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(super) params: &'static [Ty],
    pub(super) result: Ty,
}

const A: Ty = Ty::Param("A");
const B: Ty = Ty::Param("B");
const LIST: Ty = Ty::List(&A);
const MAP: Ty = Ty::Map(&A, &B);
const OPTIONAL_A: Ty = Ty::Optional(&A);
const OPTIONAL_B: Ty = Ty::Optional(&B);
const OPTIONAL_LIST: Ty = Ty::Optional(&LIST);
const OPTIONAL_MAP: Ty = Ty::Optional(&MAP);

const fn of(params: &'static [Ty], result: Ty) -> Signature {
    Signature { params, result }
}

const CONDITIONAL: &[Signature] = &[of(&[Ty::Bool, A, A], A)];
const NOT: &[Signature] = &[of(&[Ty::Bool], Ty::Bool)];
const LOGICAL: &[Signature] = &[of(&[Ty::Bool, Ty::Bool], Ty::Bool)];
const EQUALITY: &[Signature] = &[of(&[A, A], Ty::Bool)];
const ADD: &[Signature] = &[
    of(&[Ty::Bytes, Ty::Bytes], Ty::Bytes),
    of(&[Ty::Double, Ty::Double], Ty::Double),
    of(&[Ty::Duration, Ty::Duration], Ty::Duration),
    of(&[Ty::Duration, Ty::Timestamp], Ty::Timestamp),
    of(&[Ty::Timestamp, Ty::Duration], Ty::Timestamp),
    of(&[Ty::Int, Ty::Int], Ty::Int),
    of(&[LIST, LIST], LIST),
    of(&[Ty::String, Ty::String], Ty::String),
    of(&[Ty::Uint, Ty::Uint], Ty::Uint),
];
/// Those of bytes and of strings, as bits by their place in `ADD`.
pub(super) const TEXT_SUMS: u16 = 1 | 1 << 7;
/// That of lists.
pub(super) const LIST_SUM: u16 = 1 << 6;
const SUBTRACT: &[Signature] = &[
    of(&[Ty::Double, Ty::Double], Ty::Double),
    of(&[Ty::Duration, Ty::Duration], Ty::Duration),
    of(&[Ty::Int, Ty::Int], Ty::Int),
    of(&[Ty::Timestamp, Ty::Duration], Ty::Timestamp),
    of(&[Ty::Timestamp, Ty::Timestamp], Ty::Duration),
    of(&[Ty::Uint, Ty::Uint], Ty::Uint),
];
const MULTIPLY: &[Signature] = &[
    of(&[Ty::Double, Ty::Double], Ty::Double),
    of(&[Ty::Int, Ty::Int], Ty::Int),
    of(&[Ty::Uint, Ty::Uint], Ty::Uint),
];
const MODULO: &[Signature] = &[of(&[Ty::Int, Ty::Int], Ty::Int), of(&[Ty::Uint, Ty::Uint], Ty::Uint)];
const NEGATE: &[Signature] = &[of(&[Ty::Double], Ty::Double), of(&[Ty::Int], Ty::Int)];
const ORDER: &[Signature] = &[
    of(&[Ty::Bool, Ty::Bool], Ty::Bool),
    of(&[Ty::Int, Ty::Int], Ty::Bool),
    of(&[Ty::Int, Ty::Double], Ty::Bool),
    of(&[Ty::Int, Ty::Uint], Ty::Bool),
    of(&[Ty::Uint, Ty::Uint], Ty::Bool),
    of(&[Ty::Uint, Ty::Double], Ty::Bool),
    of(&[Ty::Uint, Ty::Int], Ty::Bool),
    of(&[Ty::Double, Ty::Double], Ty::Bool),
    of(&[Ty::Double, Ty::Int], Ty::Bool),
    of(&[Ty::Double, Ty::Uint], Ty::Bool),
    of(&[Ty::String, Ty::String], Ty::Bool),
    of(&[Ty::Bytes, Ty::Bytes], Ty::Bool),
    of(&[Ty::Timestamp, Ty::Timestamp], Ty::Bool),
    of(&[Ty::Duration, Ty::Duration], Ty::Bool),
];
/// Those of strings and of bytes, as bits by their place in `ORDER`.
pub(super) const TEXT_ORDERS: u16 = 1 << 10 | 1 << 11;
const INDEX: &[Signature] = &[
    of(&[LIST, Ty::Int], A),
    of(&[MAP, A], B),
    of(&[OPTIONAL_LIST, Ty::Int], OPTIONAL_A),
    of(&[OPTIONAL_MAP, A], OPTIONAL_B),
];
const OPTIONAL_INDEX: &[Signature] = &[
    of(&[LIST, Ty::Int], OPTIONAL_A),
    of(&[OPTIONAL_LIST, Ty::Int], OPTIONAL_A),
    of(&[MAP, A], OPTIONAL_B),
    of(&[OPTIONAL_MAP, A], OPTIONAL_B),
];
/// The list comes first, and so in `INDEX`: see [`super::Checked::is_list_membership`].
const IN: &[Signature] = &[of(&[A, LIST], Ty::Bool), of(&[A, MAP], Ty::Bool)];
const MAP_INSERT: &[Signature] = &[of(&[MAP, A, B], MAP), of(&[MAP, MAP], MAP)];

/// The overloads of an operator, in cel-go's order; `None` for what is none.
pub(super) fn find(function: &str) -> Option<&'static [Signature]> {
    Some(match function {
        op::CONDITIONAL => CONDITIONAL,
        op::LOGICAL_NOT | op::NOT_STRICTLY_FALSE => NOT,
        op::LOGICAL_AND | op::LOGICAL_OR => LOGICAL,
        op::EQUALS | op::NOT_EQUALS => EQUALITY,
        op::ADD => ADD,
        op::SUBTRACT => SUBTRACT,
        op::MULTIPLY | op::DIVIDE => MULTIPLY,
        op::MODULO => MODULO,
        op::NEGATE => NEGATE,
        op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS => ORDER,
        op::INDEX => INDEX,
        op::OPT_INDEX => OPTIONAL_INDEX,
        op::IN => IN,
        "cel.@mapInsert" => MAP_INSERT,
        _ => return None,
    })
}
