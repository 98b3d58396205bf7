//! Operators: the node for each.

use super::constant::{Constant, ConstantSet};
use super::lower::Lower;
use super::program::{Arithmetic, Comparison, Node, NodeId};
use crate::ast::{Expr, ExprId, Span, operators as op};

impl Lower<'_> {
    /// `a && b && c` in any nesting becomes one node.
    pub(super) fn logical(&mut self, id: ExprId, operator: &str, span: Span) -> NodeId {
        let mut terms = Vec::new();
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            match self.ast.expr(id) {
                Expr::Call { function, target: None, args } if &**function == operator => {
                    pending.extend(args.iter().rev())
                }
                _ => terms.push(id),
            }
        }
        let terms: Vec<NodeId> = terms.into_iter().map(|term| self.expr(term)).collect();
        let terms = terms.into();
        self.push(if operator == op::LOGICAL_AND { Node::And(terms) } else { Node::Or(terms) }, span)
    }

    pub(super) fn conditional(&mut self, args: &[ExprId], span: Span) -> NodeId {
        let (condition, then, otherwise) = (self.expr(args[0]), self.expr(args[1]), self.expr(args[2]));
        self.push(Node::Conditional { condition, then, otherwise }, span)
    }

    /// An operator on `left`, which is lowered, and the rest of its operands, which is not.
    pub(super) fn operator(&mut self, id: ExprId, function: &str, left: NodeId, args: &[ExprId]) -> NodeId {
        let span = self.ast.span(id);
        let Some(right) = args.get(1).map(|right| self.expr(*right)) else {
            return self.unary(function, left, span);
        };
        // Of texts it costs by length, if those are what is added for sure.
        let flat_cost = self.checked.is_some_and(|checked| !checked.is_text_sum(id));
        let compare = |comparison| {
            // Of texts it costs by length, if that is what is compared for sure.
            let flat_cost = self.checked.is_some_and(|checked| !checked.is_text_comparison(id));
            Node::Compare { comparison, left, right, flat_cost }
        };
        let arithmetic = |operator| Node::Arithmetic { operator, left, right, flat_cost };
        let node = match function {
            op::EQUALS | op::NOT_EQUALS => Node::Equal { left, right, negated: function == op::NOT_EQUALS },
            op::IN => self.membership(id, left, right),
            op::LESS => compare(Comparison::Less),
            op::LESS_EQUALS => compare(Comparison::LessEquals),
            op::GREATER => compare(Comparison::Greater),
            op::GREATER_EQUALS => compare(Comparison::GreaterEquals),
            op::ADD => arithmetic(Arithmetic::Add),
            op::SUBTRACT => arithmetic(Arithmetic::Subtract),
            op::MULTIPLY => arithmetic(Arithmetic::Multiply),
            op::DIVIDE => arithmetic(Arithmetic::Divide),
            _ => arithmetic(Arithmetic::Modulo),
        };
        self.push(node, span)
    }

    fn unary(&mut self, function: &str, operand: NodeId, span: Span) -> NodeId {
        let node = match function {
            op::LOGICAL_NOT => Node::Not(operand),
            op::NOT_STRICTLY_FALSE => Node::NotStrictlyFalse(operand),
            _ => Node::Negate(operand),
        };
        self.push(node, span)
    }

    fn membership(&mut self, id: ExprId, item: NodeId, container: NodeId) -> Node {
        let resolved = self.checked.is_some_and(|checked| checked.is_list_membership(id));
        match self.node(container) {
            // cel-go does not even look at the item then.
            Node::Constant(Constant::List(items)) if items.is_empty() && resolved => {
                Node::Constant(Constant::Bool(false))
            }
            Node::Constant(Constant::List(items)) if resolved || self.checked.is_none() => {
                match ConstantSet::new(items) {
                    Some(set) => Node::InConstant { item, set: Box::new(set) },
                    None => Node::In { item, container, resolved },
                }
            }
            _ => Node::In { item, container, resolved },
        }
    }
}
