//! `all`, `exists`, `exists_one` and `existsOne`, with one variable or two.

use super::{Expanded, Expansion, Refusal, accumulator};
use crate::ast::{Comprehension, Expr, ExprId, Literal, operators};
use crate::parse::parser::Operand;

impl Expansion<'_> {
    /// `accu = true; for x { if !@not_strictly_false(accu) break; accu = accu && predicate }`
    pub(super) fn all(
        &mut self,
        range: Operand,
        var: Operand,
        var2: Option<Operand>,
        predicate: Operand,
    ) -> Expanded {
        let names = self.quantifier_variables(var, var2)?;
        let accu_init = self.instead_of(var, Expr::Literal(Literal::Bool(true)));
        let accu = self.condition_accumulator(var2);
        let loop_condition = self.call(operators::NOT_STRICTLY_FALSE, vec![accu]);
        let accu = self.accumulator();
        let loop_step = self.call(operators::LOGICAL_AND, vec![accu, predicate.id]);
        let result = self.accumulator();
        Ok(self.quantifier(range, names, [accu_init, loop_condition, loop_step, result]))
    }

    /// `accu = false; for x { if !@not_strictly_false(!accu) break; accu = accu || predicate }`
    pub(super) fn exists(
        &mut self,
        range: Operand,
        var: Operand,
        var2: Option<Operand>,
        predicate: Operand,
    ) -> Expanded {
        let names = self.quantifier_variables(var, var2)?;
        let accu_init = self.instead_of(var, Expr::Literal(Literal::Bool(false)));
        let accu = self.condition_accumulator(var2);
        let not = self.call(operators::LOGICAL_NOT, vec![accu]);
        let loop_condition = self.call(operators::NOT_STRICTLY_FALSE, vec![not]);
        let accu = self.accumulator();
        let loop_step = self.call(operators::LOGICAL_OR, vec![accu, predicate.id]);
        let result = self.accumulator();
        Ok(self.quantifier(range, names, [accu_init, loop_condition, loop_step, result]))
    }

    /// `accu = 0; for x { accu = predicate ? accu + 1 : accu }; accu == 1`
    pub(super) fn exists_one(
        &mut self,
        range: Operand,
        var: Operand,
        var2: Option<Operand>,
        predicate: Operand,
    ) -> Expanded {
        let names = self.quantifier_variables(var, var2)?;
        let accu_init = self.instead_of(var, Expr::Literal(Literal::Int(0)));
        let loop_condition = match var2 {
            Some(var2) => self.instead_of(var2, Expr::Literal(Literal::Bool(true))),
            None => self.bool(true),
        };
        let (accu, one) = (self.accumulator(), self.int(1));
        let more = self.call(operators::ADD, vec![accu, one]);
        let same = self.accumulator();
        let loop_step = self.call(operators::CONDITIONAL, vec![predicate.id, more, same]);
        let (accu, one) = (self.accumulator(), self.int(1));
        let result = self.call(operators::EQUALS, vec![accu, one]);
        Ok(self.quantifier(range, names, [accu_init, loop_condition, loop_step, result]))
    }

    fn quantifier_variables(
        &self,
        var: Operand,
        var2: Option<Operand>,
    ) -> Result<(Box<str>, Option<Box<str>>), Refusal> {
        match var2 {
            Some(var2) => self.loop_variables([var, var2]).map(|(name, name2)| (name, Some(name2))),
            None => Ok((self.loop_variable(var, "argument must be a simple name")?, None)),
        }
    }

    fn condition_accumulator(&mut self, var2: Option<Operand>) -> ExprId {
        match var2 {
            Some(var2) => self.instead_of(var2, accumulator()),
            None => self.accumulator(),
        }
    }

    fn quantifier(
        &mut self,
        range: Operand,
        (iter_var, iter_var2): (Box<str>, Option<Box<str>>),
        [accu_init, loop_condition, loop_step, result]: [ExprId; 4],
    ) -> ExprId {
        self.fold(Comprehension {
            iter_range: range.id,
            iter_var,
            iter_var2,
            accu_var: operators::ACCUMULATOR.into(),
            accu_init,
            loop_condition,
            loop_step,
            result,
        })
    }
}
