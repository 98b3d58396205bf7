//! What estimates of costs ask of a checked expression.

use super::static_type::Type;
use super::{Checked, Choice, operators};
use crate::ast::{ExprId, operators as op};
use crate::library::Form;

/// An overload of an operator, as far as costs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperatorOverload {
    /// `+` of strings or of bytes.
    TextSum,
    ListSum,
    /// `<` and the like of strings or of bytes.
    TextOrder,
    /// `in` a list.
    ListMembership,
    ListIndex,
    MapIndex,
    Other,
}

impl Checked {
    /// The type of each node.
    pub(crate) fn types(&self) -> Vec<Type> {
        self.types.iter().map(|ty| self.found.finish(ty)).collect()
    }

    /// What a declared name with dots, or the test of one, costs; `None` for everything else.
    pub(crate) fn declared_segments(&self, id: ExprId) -> Option<u64> {
        match self.choices.get(id.0 as usize) {
            Some(Choice::Name(segments)) => Some((*segments).into()),
            _ => None,
        }
    }

    /// Whether what stands before the dot of a call is its receiver, and no namespace.
    pub(crate) fn is_member_call(&self, call: ExprId) -> bool {
        self.overloads(call).first().is_some_and(|overload| overload.form == Form::Member)
    }

    /// The overloads that an operator can mean.
    pub(crate) fn operator_overloads(
        &self,
        operator: ExprId,
        function: &str,
    ) -> impl Iterator<Item = OperatorOverload> {
        let bits = match self.choices.get(operator.0 as usize) {
            Some(Choice::Operator(bits)) => *bits,
            _ => 1,
        };
        (0..u16::BITS).map(|index| 1 << index).filter(move |bit| bits & bit != 0).map(move |bit: u16| {
            match function {
                op::ADD if bit & operators::TEXT_SUMS != 0 => OperatorOverload::TextSum,
                op::ADD if bit == operators::LIST_SUM => OperatorOverload::ListSum,
                op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS
                    if bit & operators::TEXT_ORDERS != 0 =>
                {
                    OperatorOverload::TextOrder
                }
                op::IN if bit == 1 => OperatorOverload::ListMembership,
                op::INDEX if bit == 1 => OperatorOverload::ListIndex,
                op::INDEX if bit == 2 => OperatorOverload::MapIndex,
                _ => OperatorOverload::Other,
            }
        })
    }
}
