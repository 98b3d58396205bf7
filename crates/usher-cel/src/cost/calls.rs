//! What calls of library functions can cost. apiserver `EstimateCallCost`, cel-go `checker/cost.go` (`functionCost`), `ext/lists.go`,
//! `ext/sets.go`.
//!
//! Estimates of functions that are older than their costs differ from what an evaluation is charged; they cannot change any more, since the
//! API server refuses CustomResourceDefinitions by them.

use super::known::Known;
use super::model::Model;
use super::range::{CostEstimate, SizeEstimate};
use super::terms;
use crate::ast::{Ast, Expr, ExprId, Literal};
use crate::check::Type;

/// The size of the longest pattern of a name's format; apiserver `pkg/cel/limits.go`, `MaxNameFormatRegexSize`.
const LONGEST_FORMAT: u64 = 128;

/// The bytes of an address, of either family.
const ADDRESS: SizeEstimate = SizeEstimate { min: 4, max: 16 };

/// What a call of an overload can cost without its operands, and the size of what it gives, where that is known.
pub(super) fn estimate(
    ast: &Ast,
    known: &mut Known<'_>,
    model: Model,
    operands: &[ExprId],
) -> (CostEstimate, Option<SizeEstimate>) {
    let most = known.most();
    let literal = |index: usize| operands.get(index).and_then(|id| literal_int(ast, *id));
    let mut size = |index: usize| {
        operands.get(index).map_or(SizeEstimate::exactly(0), |operand| known.size_or_unknown(*operand))
    };
    match model {
        Model::Nominal => (CostEstimate::exactly(1), None),
        Model::Check => (CostEstimate::exactly(terms::CHECK), None),
        Model::Selector => (size(1).cost(terms::selector), None),
        Model::Walk { anything } => (walk(known, operands, anything), None),
        Model::Traversal { keeps } => (size(0).cost(terms::traversal), keeps.then(|| size(0))),
        Model::Canonical => (size(0).cost(terms::double_traversal), None),
        Model::Replace => (size(0).cost(terms::double_traversal), Some(replaced(size(0), size(1), size(2)))),
        Model::Split => {
            // A separator of nothing gives each character.
            let max = literal(2).map_or(size(0).max, |limit| limit.cast_unsigned());
            (size(0).cost(terms::double_traversal), Some(SizeEstimate { min: 0, max }))
        }
        Model::Join => {
            let joined = joined(known, operands);
            (joined.cost(terms::traversal), Some(joined))
        }
        Model::Search { found } => {
            let result = SizeEstimate { min: 0, max: size(0).max };
            (size(0).cost_with(size(1), terms::regex), found.then_some(result))
        }
        Model::Affix { .. } => (size(1).cost(terms::traversal), None),
        Model::Contains => (size(0).cost_with(size(1), terms::contains), None),
        Model::Network { masked, text } => {
            let compared = ADDRESS.cost(|bytes| terms::network(bytes, masked));
            let parsed = if text { size(1).cost(terms::traversal) } else { CostEstimate::default() };
            (compared.plus(parsed), None)
        }
        Model::Sets { passes } => {
            (size(0).cost_with(size(1), |size, other| terms::pairs(size, other, passes)), None)
        }
        Model::Slice => {
            let start = literal(1).map_or(0, not_negative);
            let end = literal(2).map_or(size(0).max, not_negative);
            // Upstream does not look which is larger.
            new_list(SizeEstimate::exactly(end.wrapping_sub(start).min(most)), 1.0)
        }
        Model::Range => new_list(SizeEstimate::exactly(literal(0).map_or(most, not_negative)), 1.0),
        Model::Reverse => new_list(size(0), 1.0),
        Model::Flatten => {
            let depth = if operands.len() == 1 { 1 } else { literal(1).map_or(most, not_negative) };
            new_list(size(0), depth as f64)
        }
        Model::Distinct => new_list(size(0).times(size(0)), terms::PAIR),
        Model::Sort { by, text } => {
            new_list(size(by).times(size(by)), if text { terms::TEXT_PAIR } else { terms::PAIR })
        }
        Model::Validate => {
            let cost = |size| terms::pattern(terms::traversal(size), LONGEST_FORMAT);
            (size(1).cost(cost), None)
        }
        Model::Quote => {
            let text = size(0);
            // Each character may be escaped. Upstream does not look whether the sum fits.
            let min = text.min.wrapping_add(2);
            let max = text.max.wrapping_mul(2).wrapping_add(2);
            (text.cost(terms::traversal), Some(SizeEstimate { min, max }))
        }
        Model::Format => (size(0).cost(terms::traversal), None),
        Model::TextToBytes => {
            let text = size(0);
            let bytes = SizeEstimate { min: text.min, max: text.max.wrapping_mul(4) };
            (text.cost(terms::traversal), Some(bytes))
        }
        Model::BytesToText => {
            let bytes = size(0);
            let text = SizeEstimate { min: bytes.min / 4, max: bytes.max };
            (bytes.cost(terms::traversal), Some(text))
        }
    }
}

/// A walk through a list, or through a string.
fn walk(known: &mut Known<'_>, operands: &[ExprId], anything: bool) -> CostEstimate {
    let Some(target) = operands.first().copied() else { return CostEstimate::exactly(1) };
    let size = known.size_or_unknown(target);
    match first_parameter(known.ty(target)) {
        Some(item @ (Type::String | Type::Bytes)) => {
            let compared = known.item_size(target, &item).cost(terms::traversal);
            size.times_cost(CostEstimate::exactly(1).plus(compared))
        }
        Some(_) => size.times_cost(CostEstimate::exactly(1)),
        None if anything => size.times_cost(CostEstimate::exactly(1)),
        None => size.cost(terms::traversal),
    }
}

/// The size of a joined list.
fn joined(known: &mut Known<'_>, operands: &[ExprId]) -> SizeEstimate {
    let Some(list) = operands.first().copied() else { return SizeEstimate::UNKNOWN };
    let length = known.size_or_unknown(list);
    let items = match first_parameter(known.ty(list)) {
        Some(item) => length.times(known.item_size(list, &item)),
        None => SizeEstimate::exactly(0),
    };
    let Some(separator) = operands.get(1) else { return items };
    let gaps = SizeEstimate { min: length.min.saturating_sub(1), max: length.max.saturating_sub(1) };
    items.plus(known.size_or_unknown(*separator).times(gaps))
}

/// The size of a text after `replace`.
fn replaced(text: SizeEstimate, part: SizeEstimate, by: SizeEstimate) -> SizeEstimate {
    // How often it is replaced, and how much of the text stays.
    let (most, most_kept) = if part.min == 0 {
        (text.max.saturating_add(1), text.max)
    } else if by.max <= part.min {
        (0, text.max)
    } else {
        (ratio(text.max, part.min), 0)
    };
    let (least, least_kept) = if part.max == 0 {
        (text.min.saturating_add(1), text.min)
    } else if part.max <= by.min {
        (0, text.min)
    } else {
        (ratio(text.min, part.max), 0)
    };
    let count = SizeEstimate { min: least, max: most };
    count.times(by).plus(SizeEstimate { min: least_kept, max: most_kept })
}

/// In doubles, as upstream.
fn ratio(size: u64, part: u64) -> u64 {
    (size as f64 / part as f64).ceil() as u64
}

/// A call that makes a list of this size, of which each element costs `factor`.
fn new_list(size: SizeEstimate, factor: f64) -> (CostEstimate, Option<SizeEstimate>) {
    let cost = size.cost(|size| terms::scaled(size, factor).saturating_add(terms::LIST_CALL));
    (cost, Some(size))
}

/// The first of the types that a type is made of (cel-go `Type.Parameters`).
fn first_parameter(ty: &Type) -> Option<Type> {
    match ty {
        Type::List(part) | Type::Optional(part) | Type::Type(Some(part)) => Some((**part).clone()),
        Type::Map(entry) => Some(entry.0.clone()),
        _ => None,
    }
}

fn literal_int(ast: &Ast, id: ExprId) -> Option<i64> {
    match ast.expr(id) {
        Expr::Literal(Literal::Int(int)) => Some(*int),
        _ => None,
    }
}

fn not_negative(int: i64) -> u64 {
    u64::try_from(int).unwrap_or(0)
}
