//! `sortBy`: sorts a list by a list of keys.

use super::{Expanded, Expansion, Refusal};
use crate::ast::{Comprehension, Expr};
use crate::parse::parser::Operand;

/// The name that the list to sort has within the expansion.
const INPUT: &str = "@__sortBy_input__";

impl Expansion<'_> {
    /// `let input = target in input.@sortByAssociatedKeys(input.map(x, key))`
    pub(super) fn sort_by(&mut self, target: Operand, var: Operand, key: Operand) -> Expanded {
        if matches!(
            self.builder.node(target.id).expr,
            Expr::Literal(_) | Expr::Map { .. } | Expr::Struct { .. }
        ) {
            return Err(Refusal {
                span: target.span,
                message: "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
                    .to_owned(),
                help: "sortBy() sorts a list",
            });
        }
        let range = self.builder.ident(self.inner, INPUT);
        let whole = std::mem::replace(&mut self.place, self.inner);
        let keys = self.map(range, var, None, key);
        self.place = whole;
        let keys = keys?;
        let input = self.builder.ident(self.inner, INPUT);
        let result = self.builder.member_call(self.inner, "@sortByAssociatedKeys", input, vec![keys]);
        let iter_range = self.list(Vec::new());
        let loop_condition = self.bool(false);
        let loop_step = self.builder.ident(self.inner, INPUT);
        Ok(self.fold(Comprehension {
            iter_range,
            iter_var: super::UNUSED.into(),
            iter_var2: None,
            accu_var: INPUT.into(),
            accu_init: target.id,
            loop_condition,
            loop_step,
            result,
        }))
    }
}
