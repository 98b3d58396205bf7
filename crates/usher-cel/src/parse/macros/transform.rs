//! `map`, `filter` and the two-variable `transformList`, `transformMap`, `transformMapEntry`: folds that grow a list or a map.

use super::{Expanded, Expansion, empty_list};
use crate::ast::{Comprehension, Expr, ExprId, Literal, operators};
use crate::parse::parser::Operand;

/// cel-go's internal function that adds to a map: a key and a value, or a map of one entry.
const MAP_INSERT: &str = "cel.@mapInsert";

impl Expansion<'_> {
    /// `accu = []; for x { accu = filter ? accu + [value] : accu }`
    pub(super) fn map(
        &mut self,
        range: ExprId,
        var: Operand,
        filter: Option<Operand>,
        value: Operand,
    ) -> Expanded {
        let iter_var = self.loop_variable(var, "argument is not an identifier")?;
        let accu_init = self.instead_of(var, empty_list());
        let step = self.append(value.id);
        let condition = self.bool(true);
        Ok(self.grow(range, (iter_var, None), accu_init, condition, filter, step))
    }

    /// `accu = []; for x { accu = filter ? accu + [x] : accu }`
    pub(super) fn filter(&mut self, range: Operand, var: Operand, filter: Operand) -> Expanded {
        let iter_var = self.loop_variable(var, "argument is not an identifier")?;
        let accu_init = self.list(Vec::new());
        let step = self.append(var.id);
        let condition = self.bool(true);
        Ok(self.grow(range.id, (iter_var, None), accu_init, condition, Some(filter), step))
    }

    /// `map` with the index, or the key, as first variable.
    pub(super) fn transform_list(
        &mut self,
        range: Operand,
        vars: [Operand; 2],
        filter: Option<Operand>,
        value: Operand,
    ) -> Expanded {
        let (iter_var, iter_var2) = self.loop_variables(vars)?;
        let accu_init = self.instead_of(vars[0], empty_list());
        let condition = self.instead_of(vars[1], Expr::Literal(Literal::Bool(true)));
        let step = self.append(value.id);
        Ok(self.grow(range.id, (iter_var, Some(iter_var2)), accu_init, condition, filter, step))
    }

    /// `accu = {}; for k, v { accu = filter ? cel.@mapInsert(accu, k, value) : accu }`
    pub(super) fn transform_map(
        &mut self,
        range: Operand,
        vars: [Operand; 2],
        filter: Option<Operand>,
        value: Operand,
    ) -> Expanded {
        let (iter_var, iter_var2) = self.loop_variables(vars)?;
        let accu_init = self.instead_of(vars[1], Expr::Map { entries: Vec::new() });
        let condition = self.bool(true);
        let accu = self.accumulator();
        let key = self.instead_of(vars[0], Expr::Ident(iter_var.clone()));
        let step = self.call(MAP_INSERT, vec![accu, key, value.id]);
        Ok(self.grow(range.id, (iter_var, Some(iter_var2)), accu_init, condition, filter, step))
    }

    /// `accu = {}; for k, v { accu = filter ? cel.@mapInsert(accu, entry) : accu }`
    pub(super) fn transform_map_entry(
        &mut self,
        range: Operand,
        vars: [Operand; 2],
        filter: Option<Operand>,
        entry: Operand,
    ) -> Expanded {
        let (iter_var, iter_var2) = self.loop_variables(vars)?;
        let accu_init = self.instead_of(vars[0], Expr::Map { entries: Vec::new() });
        let condition = self.instead_of(vars[1], Expr::Literal(Literal::Bool(true)));
        let accu = self.accumulator();
        let step = self.call(MAP_INSERT, vec![accu, entry.id]);
        Ok(self.grow(range.id, (iter_var, Some(iter_var2)), accu_init, condition, filter, step))
    }

    fn append(&mut self, value: ExprId) -> ExprId {
        let accu = self.accumulator();
        let list = self.list(vec![value]);
        self.call(operators::ADD, vec![accu, list])
    }

    fn grow(
        &mut self,
        iter_range: ExprId,
        (iter_var, iter_var2): (Box<str>, Option<Box<str>>),
        accu_init: ExprId,
        loop_condition: ExprId,
        filter: Option<Operand>,
        step: ExprId,
    ) -> ExprId {
        let loop_step = match filter {
            Some(filter) => {
                let same = self.accumulator();
                self.call(operators::CONDITIONAL, vec![filter.id, step, same])
            }
            None => step,
        };
        let result = self.accumulator();
        self.fold(Comprehension {
            iter_range,
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
