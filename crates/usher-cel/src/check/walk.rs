//! The walk over the tree.

use super::Checker;
use super::static_type::Type;
use crate::ast::{Expr, ExprId, Literal, operators as op};

impl<'s> Checker<'s> {
    /// Gives a node and all below it their types.
    pub(super) fn check(&mut self, id: ExprId) {
        let mut spine = Vec::new();
        let base = self.descend(id, &mut spine);
        self.base(base, &mut spine);
        while let Some(id) = spine.pop() {
            self.ascend(id);
        }
    }

    /// Follows the leftmost operands down and notes the operations on the way, outermost first. Arguments of member calls are checked
    /// on the way down, before what they are called on, as in cel-go.
    fn descend(&mut self, id: ExprId, spine: &mut Vec<ExprId>) -> ExprId {
        let mut current = id;
        loop {
            let ast: &'s crate::ast::Ast = self.ast;
            let next = match ast.expr(current) {
                Expr::Select { operand, .. } => *operand,
                Expr::Call { function, target: None, args } if super::operators::find(function).is_some() => {
                    match args.first() {
                        Some(first) => *first,
                        None => return current,
                    }
                }
                Expr::Call { function, target: None, args } if &**function == op::OPT_SELECT => args[0],
                Expr::Call { function, target: Some(target), args } => {
                    if self.namespaced(*target, function).is_some() {
                        return current;
                    }
                    self.mixed_literals += u32::from(is_exempt(function));
                    for arg in args {
                        self.check(*arg);
                    }
                    *target
                }
                _ => return current,
            };
            spine.push(current);
            current = next;
        }
    }

    /// Checks what the spine stands on. A name takes as many selections off the spine as belong to it.
    fn base(&mut self, id: ExprId, spine: &mut Vec<ExprId>) {
        let ast: &'s crate::ast::Ast = self.ast;
        match ast.expr(id) {
            Expr::Ident(name) => self.name(id, name, spine),
            Expr::Literal(literal) => self.set(id, of_literal(literal)),
            Expr::List { elements, optional } => self.list(id, elements, optional),
            Expr::Map { entries } => self.map(id, entries),
            Expr::Struct { type_name, fields } => self.structure(id, type_name, fields),
            Expr::Comprehension(comprehension) => self.comprehension(id, comprehension),
            Expr::Call { function, target, args } => {
                let exempt = u32::from(is_exempt(function));
                self.mixed_literals += exempt;
                for arg in args {
                    self.check(*arg);
                }
                self.mixed_literals -= exempt;
                self.global_call(id, function, *target, args);
            }
            // `descend` goes through every selection.
            Expr::Select { .. } => {}
        }
    }

    fn ascend(&mut self, id: ExprId) {
        let ast: &'s crate::ast::Ast = self.ast;
        match ast.expr(id) {
            Expr::Select { operand, field, test_only } => {
                let ty = self.select(id, *operand, field, false);
                self.set(id, if *test_only { Type::Bool } else { ty });
            }
            Expr::Call { function, target: None, args } if &**function == op::OPT_SELECT => {
                self.optional_select(id, args);
            }
            Expr::Call { function, target: None, args } => {
                for arg in args.iter().skip(1) {
                    self.check(*arg);
                }
                self.operator(id, function, args);
            }
            Expr::Call { function, target: Some(target), args } => {
                self.mixed_literals -= u32::from(is_exempt(function));
                self.member_call(id, function, *target, args);
            }
            _ => {}
        }
    }

    fn optional_select(&mut self, id: ExprId, args: &[ExprId]) {
        let ast: &'s crate::ast::Ast = self.ast;
        match args {
            [operand, field] => match ast.expr(*field) {
                Expr::Literal(Literal::String(name)) => {
                    self.set(*field, Type::String);
                    let ty = self.select(id, *operand, name, true);
                    self.set(id, ty);
                }
                _ => self.report(*field, "unsupported optional field selection".to_owned(), None),
            },
            _ => self.report(id, "unsupported optional field selection".to_owned(), None),
        }
    }
}

/// Functions of which the literals among the arguments may be of mixed types (cel-go's `HomogeneousAggregateLiteralExemptFunctions`).
fn is_exempt(function: &str) -> bool {
    function == "format"
}

fn of_literal(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
