//! `optMap` and `optFlatMap`: the value of an optional under a name, if it has one.

use super::{Expanded, Expansion, Refusal};
use crate::ast::{Comprehension, Expr, ExprId, operators};
use crate::parse::parser::Operand;

/// How many nodes of targets the macros of one expression may copy. As in cel-go the target stands twice in the expansion, so a
/// chain doubles with every link; nobody writes the 13 links of a short target that this allows.
const MAX_COPIED_NODES: usize = 1 << 16;

impl Expansion<'_> {
    /// `target.hasValue() ? optional.of(let x = target.value() in value) : optional.none()`
    pub(super) fn opt_map(&mut self, target: Operand, var: Operand, value: Operand) -> Expanded {
        let name = self.variable(var, "optMap() variable name must be a simple identifier")?;
        let (has_value, bound) = self.bind_value(target, var, name, value)?;
        let some = self.call("optional.of", vec![bound]);
        Ok(self.conditional(has_value, some))
    }

    /// `target.hasValue() ? (let x = target.value() in value) : optional.none()`
    pub(super) fn opt_flat_map(&mut self, target: Operand, var: Operand, value: Operand) -> Expanded {
        let name = self.variable(var, "optFlatMap() variable name must be a simple identifier")?;
        let (has_value, bound) = self.bind_value(target, var, name, value)?;
        Ok(self.conditional(has_value, bound))
    }

    /// `target.hasValue()`, and the fold over nothing that gives the name to `target.value()`.
    fn bind_value(
        &mut self,
        target: Operand,
        var: Operand,
        name: Box<str>,
        value: Operand,
    ) -> Result<(ExprId, ExprId), Refusal> {
        let Some(copy) = self.builder.copy(target.first, target.id, MAX_COPIED_NODES) else {
            return Err(Refusal {
                span: target.span,
                message: "expression size exceeds limit: too many nested optMap() or optFlatMap() calls"
                    .to_owned(),
                help: "each of them evaluates its target twice: put the target into a variable of the rule",
            });
        };
        let has_value = self.builder.member_call(self.inner, "hasValue", target.id, Vec::new());
        let iter_range = self.list(Vec::new());
        let accu_init = self.builder.member_call(self.inner, "value", copy, Vec::new());
        let loop_condition = self.bool(false);
        let loop_step = self.instead_of(var, Expr::Ident(name.clone()));
        let fold = Comprehension {
            iter_range,
            iter_var: super::UNUSED.into(),
            iter_var2: None,
            accu_var: name,
            accu_init,
            loop_condition,
            loop_step,
            result: value.id,
        };
        let bound = self.builder.add(self.inner, Expr::Comprehension(Box::new(fold)));
        Ok((has_value, bound))
    }

    fn conditional(&mut self, has_value: ExprId, some: ExprId) -> ExprId {
        let none = self.call("optional.none", Vec::new());
        self.builder.call(self.place, operators::CONDITIONAL, vec![has_value, some, none])
    }
}
