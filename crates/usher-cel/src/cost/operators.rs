//! What operators can cost. cel-go `checker/cost.go` (`functionCost`), apiserver `EstimateCallCost` for the equality of its own types.

use super::known::Known;
use super::range::{CostEstimate, SizeEstimate};
use super::terms;
use crate::ast::{ExprId, operators as op};
use crate::check::{OperatorOverload, Type};

/// The longest text of a format; apiserver `pkg/cel/limits.go`, `MaxFormatSize`.
const MAX_FORMAT: u64 = 64;

/// What an overload of an operator can cost without its operands, and the size of what it gives, where that is known.
pub(super) fn estimate(
    known: &mut Known<'_>,
    id: ExprId,
    function: &str,
    overload: OperatorOverload,
    operands: &[ExprId],
) -> (CostEstimate, Option<SizeEstimate>) {
    let [left, right] = *operands else { return (CostEstimate::exactly(1), None) };
    match overload {
        OperatorOverload::TextSum | OperatorOverload::ListSum => {
            let size = known.size_or_unknown(left).plus(known.size_or_unknown(right));
            if let (Some(left), Some(right)) = (known.entries(left), known.entries(right)) {
                known.set_entries(id, Some(left.union(right)));
            }
            let cost = match overload {
                OperatorOverload::ListSum => CostEstimate::exactly(1),
                _ => size.cost(terms::traversal),
            };
            (cost, Some(size))
        }
        OperatorOverload::TextOrder => (comparison(known, left, right), None),
        OperatorOverload::ListMembership => {
            (known.size_or_unknown(right).cost(|size| terms::scaled(size, 1.0)), None)
        }
        OperatorOverload::Other => match function {
            op::EQUALS => {
                (own_equality(known, left, right).unwrap_or_else(|| comparison(known, left, right)), None)
            }
            op::NOT_EQUALS => (comparison(known, left, right), None),
            _ => (CostEstimate::exactly(1), None),
        },
        OperatorOverload::ListIndex | OperatorOverload::MapIndex => (CostEstimate::exactly(1), None),
    }
}

/// As far as the smaller of both goes.
fn comparison(known: &mut Known<'_>, left: ExprId, right: ExprId) -> CostEstimate {
    let max = known.size_or_unknown(left).max.min(known.size_or_unknown(right).max);
    SizeEstimate { min: u64::from(max > 0), max }.cost(terms::traversal)
}

/// The equality of values of a type that Kubernetes adds.
fn own_equality(known: &mut Known<'_>, left: ExprId, right: ExprId) -> Option<CostEstimate> {
    let name = match (known.ty(left), known.ty(right)) {
        (Type::Opaque(left), Type::Opaque(right)) if left == right => *left,
        _ => return None,
    };
    let most = match name {
        "kubernetes.NamedFormat" => MAX_FORMAT,
        // Upstream looks at the right operand twice.
        "kubernetes.URL" => known.size(right).map_or(1, |size| size.max),
        _ => return Some(CostEstimate::exactly(1)),
    };
    Some(SizeEstimate { min: 1, max: most }.cost(terms::traversal))
}
