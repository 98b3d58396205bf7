//! Comprehensions: the standard macros are recognised by the shape of their expansion and lose their accumulator.

use super::lower::{Lower, Scoped};
use super::program::{Accumulator, Fold, FoldKind, Node, NodeId};
use crate::ast::{Comprehension, Expr, ExprId, Literal, Span, operators as op};

/// What a macro's expansion says, before its parts are lowered.
enum Shape {
    All(ExprId),
    Exists(ExprId),
    ExistsOne(ExprId),
    List { filter: Option<ExprId>, body: ExprId },
    Map { filter: Option<ExprId>, value: ExprId },
    MapEntry { filter: Option<ExprId>, entries: ExprId },
    General,
}

/// The functions that cel-go's two-variable macros insert into a map with.
const MAP_INSERT: &str = "cel.@mapInsert";

impl Lower<'_> {
    pub(super) fn comprehension(&mut self, comprehension: &Comprehension, span: Span) -> NodeId {
        let live_locals = self.live_locals();
        let shape = self.shape(comprehension);
        // The accumulator starts outside the scope of the loop's variables.
        let init = matches!(shape, Shape::General).then(|| self.deferred(comprehension.accu_init));
        let range = self.expr(comprehension.iter_range);
        let depth = self.scopes.len();
        let variable = self.bind(&comprehension.iter_var);
        let variable2 = comprehension.iter_var2.as_deref().map(|name| self.bind(name));
        let kind = match shape {
            Shape::All(predicate) => FoldKind::All(self.expr(predicate)),
            Shape::Exists(predicate) => FoldKind::Exists(self.expr(predicate)),
            Shape::ExistsOne(predicate) => FoldKind::ExistsOne(self.expr(predicate)),
            Shape::List { filter, body } => {
                let filter = filter.map(|filter| self.expr(filter));
                FoldKind::List { filter, body: self.expr(body) }
            }
            Shape::Map { filter, value } => {
                let filter = filter.map(|filter| self.expr(filter));
                FoldKind::Map { filter, value: self.expr(value) }
            }
            Shape::MapEntry { filter, entries } => {
                let filter = filter.map(|filter| self.expr(filter));
                FoldKind::MapEntry { filter, entries: self.expr(entries) }
            }
            Shape::General => self.general(comprehension, init),
        };
        self.scopes.truncate(depth);
        self.release_locals(live_locals);
        self.push(Node::Fold(Box::new(Fold { range, variable, variable2, kind })), span)
    }

    fn general(&mut self, comprehension: &Comprehension, init: Option<NodeId>) -> FoldKind {
        let init = init.unwrap_or_else(|| self.deferred(comprehension.accu_init));
        let accumulator = Accumulator { local: self.reserve_local(), state: self.reserve_local(), init };
        self.scopes.push((comprehension.accu_var.clone(), Scoped::Accumulator(accumulator)));
        let condition = self.expr(comprehension.loop_condition);
        let step = self.expr(comprehension.loop_step);
        let result = self.expr(comprehension.result);
        FoldKind::General { accumulator, condition, step, result }
    }

    fn bind(&mut self, name: &str) -> u32 {
        let local = self.reserve_local();
        self.scopes.push((name.into(), Scoped::Local(local)));
        local
    }

    fn shape(&self, comprehension: &Comprehension) -> Shape {
        if &*comprehension.accu_var != op::ACCUMULATOR {
            return Shape::General;
        }
        let init = self.ast.expr(comprehension.accu_init);
        let step = comprehension.loop_step;
        let result_is_accumulator = self.is_accumulator(comprehension.result);
        match init {
            Expr::Literal(Literal::Bool(true))
                if result_is_accumulator && self.guards(comprehension, false) =>
            {
                self.operands(step, op::LOGICAL_AND)
                    .map_or(Shape::General, |[_, predicate]| Shape::All(predicate))
            }
            Expr::Literal(Literal::Bool(false))
                if result_is_accumulator && self.guards(comprehension, true) =>
            {
                self.operands(step, op::LOGICAL_OR)
                    .map_or(Shape::General, |[_, predicate]| Shape::Exists(predicate))
            }
            Expr::Literal(Literal::Int(0)) if self.counts(comprehension) => self
                .filtered(step)
                .map_or(Shape::General, |(filter, _)| filter.map_or(Shape::General, Shape::ExistsOne)),
            Expr::List { elements, .. }
                if elements.is_empty()
                    && result_is_accumulator
                    && self.is_true(comprehension.loop_condition) =>
            {
                self.list_shape(step).unwrap_or(Shape::General)
            }
            Expr::Map { entries }
                if entries.is_empty()
                    && result_is_accumulator
                    && self.is_true(comprehension.loop_condition) =>
            {
                self.map_shape(step, comprehension).unwrap_or(Shape::General)
            }
            _ => Shape::General,
        }
    }

    /// `@not_strictly_false(@result)`, or of `!@result`.
    fn guards(&self, comprehension: &Comprehension, negated: bool) -> bool {
        let Expr::Call { function, args, .. } = self.ast.expr(comprehension.loop_condition) else {
            return false;
        };
        if &**function != op::NOT_STRICTLY_FALSE || args.len() != 1 {
            return false;
        }
        if !negated {
            return self.is_accumulator(args[0]);
        }
        matches!(self.ast.expr(args[0]), Expr::Call { function, args, .. }
            if &**function == op::LOGICAL_NOT && args.len() == 1 && self.is_accumulator(args[0]))
    }

    /// Result `@result == 1` of a loop that never stops early.
    fn counts(&self, comprehension: &Comprehension) -> bool {
        self.is_true(comprehension.loop_condition)
            && self
                .operands(comprehension.result, op::EQUALS)
                .is_some_and(|[_, one]| matches!(self.ast.expr(one), Expr::Literal(Literal::Int(1))))
    }

    fn list_shape(&self, step: ExprId) -> Option<Shape> {
        let (filter, grown) = self.filtered(step)?;
        let [_, appended] = self.operands(grown, op::ADD)?;
        match self.ast.expr(appended) {
            Expr::List { elements, optional } if elements.len() == 1 && optional.is_empty() => {
                Some(Shape::List { filter, body: elements[0] })
            }
            _ => None,
        }
    }

    fn map_shape(&self, step: ExprId, comprehension: &Comprehension) -> Option<Shape> {
        let (filter, grown) = self.filtered(step)?;
        let Expr::Call { function, args, .. } = self.ast.expr(grown) else { return None };
        if &**function != MAP_INSERT {
            return None;
        }
        match args[..] {
            [accumulator, key, value]
                if self.is_accumulator(accumulator)
                    && matches!(self.ast.expr(key), Expr::Ident(name) if *name == comprehension.iter_var) =>
            {
                Some(Shape::Map { filter, value })
            }
            [accumulator, entries] if self.is_accumulator(accumulator) => {
                Some(Shape::MapEntry { filter, entries })
            }
            _ => None,
        }
    }

    /// `condition ? grown : @result`, or just `grown`.
    fn filtered(&self, step: ExprId) -> Option<(Option<ExprId>, ExprId)> {
        match self.ast.expr(step) {
            Expr::Call { function, target: None, args } if &**function == op::CONDITIONAL => {
                self.is_accumulator(args[2]).then_some((Some(args[0]), args[1]))
            }
            _ => Some((None, step)),
        }
    }

    /// The operands of `@result OP x`.
    fn operands(&self, id: ExprId, operator: &str) -> Option<[ExprId; 2]> {
        match self.ast.expr(id) {
            Expr::Call { function, target: None, args } if &**function == operator => match args[..] {
                [left, right] if self.is_accumulator(left) => Some([left, right]),
                _ => None,
            },
            _ => None,
        }
    }

    fn is_accumulator(&self, id: ExprId) -> bool {
        matches!(self.ast.expr(id), Expr::Ident(name) if &**name == op::ACCUMULATOR)
    }

    fn is_true(&self, id: ExprId) -> bool {
        matches!(self.ast.expr(id), Expr::Literal(Literal::Bool(true)))
    }
}
