//! Operators: which overloads can exist, and the node for each.

use super::constant::{Constant, ConstantSet};
use super::kind;
use super::lower::Lower;
use super::program::{Arithmetic, Comparison, Node, NodeId};
use crate::ast::{Expr, ExprId, Span, operators as op};
use crate::library::Ty;

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
        if let Some(wrong) = terms.iter().find(|term| kind::disjoint(self.ty(**term), Ty::Bool)) {
            let types: Vec<Ty> = terms.iter().map(|term| self.ty(*term)).collect();
            self.no_overload(self.span(*wrong), operator, &types);
        }
        let terms = terms.into();
        self.push(
            if operator == op::LOGICAL_AND { Node::And(terms) } else { Node::Or(terms) },
            span,
            Ty::Bool,
        )
    }

    pub(super) fn conditional(&mut self, args: &[ExprId], span: Span) -> NodeId {
        let (condition, then, otherwise) = (self.expr(args[0]), self.expr(args[1]), self.expr(args[2]));
        let (c, t, o) = (self.ty(condition), self.ty(then), self.ty(otherwise));
        let nullable = matches!(t, Ty::Null) || matches!(o, Ty::Null);
        if kind::disjoint(c, Ty::Bool) || (kind::disjoint(t, o) && !nullable) {
            self.no_overload(span, op::CONDITIONAL, &[c, t, o]);
        }
        let ty = kind::common([t, o].into_iter());
        self.push(Node::Conditional { condition, then, otherwise }, span, ty)
    }

    /// An operator on `left`, which is lowered, and the rest of `args`, which is not.
    pub(super) fn operator(&mut self, function: &str, left: NodeId, args: &[ExprId], span: Span) -> NodeId {
        let Some(right) = args.get(1).map(|right| self.expr(*right)) else {
            return self.unary(function, left, span);
        };
        let (l, r) = (self.ty(left), self.ty(right));
        let nullable = matches!(l, Ty::Null) || matches!(r, Ty::Null);
        let (fits, node, ty) = match function {
            op::EQUALS | op::NOT_EQUALS => {
                let negated = function == op::NOT_EQUALS;
                (nullable || !kind::disjoint(l, r), Node::Equal { left, right, negated }, Ty::Bool)
            }
            op::IN => {
                (matches!(r, Ty::Dyn | Ty::List(_) | Ty::Map(..)), self.membership(left, right), Ty::Bool)
            }
            op::LESS => {
                (ordered(l, r), Node::Compare { comparison: Comparison::Less, left, right }, Ty::Bool)
            }
            op::LESS_EQUALS => {
                (ordered(l, r), Node::Compare { comparison: Comparison::LessEquals, left, right }, Ty::Bool)
            }
            op::GREATER => {
                (ordered(l, r), Node::Compare { comparison: Comparison::Greater, left, right }, Ty::Bool)
            }
            op::GREATER_EQUALS => (
                ordered(l, r),
                Node::Compare { comparison: Comparison::GreaterEquals, left, right },
                Ty::Bool,
            ),
            _ => {
                let operator = match function {
                    op::ADD => Arithmetic::Add,
                    op::SUBTRACT => Arithmetic::Subtract,
                    op::MULTIPLY => Arithmetic::Multiply,
                    op::DIVIDE => Arithmetic::Divide,
                    _ => Arithmetic::Modulo,
                };
                let (fits, ty) = arithmetic(operator, l, r);
                (fits, Node::Arithmetic { operator, left, right }, ty)
            }
        };
        if !fits {
            self.no_overload(span, function, &[l, r]);
        }
        self.push(node, span, ty)
    }

    fn unary(&mut self, function: &str, operand: NodeId, span: Span) -> NodeId {
        let ty = self.ty(operand);
        match function {
            op::LOGICAL_NOT => {
                if kind::disjoint(ty, Ty::Bool) {
                    self.no_overload(span, function, &[ty]);
                }
                self.push(Node::Not(operand), span, Ty::Bool)
            }
            op::NOT_STRICTLY_FALSE => self.push(Node::NotStrictlyFalse(operand), span, Ty::Bool),
            _ => {
                if !matches!(ty, Ty::Dyn | Ty::Int | Ty::Double | Ty::Duration) {
                    self.no_overload(span, function, &[ty]);
                }
                self.push(Node::Negate(operand), span, ty)
            }
        }
    }

    fn membership(&mut self, item: NodeId, container: NodeId) -> Node {
        match self.node(container) {
            Node::Constant(Constant::List(items)) if items.iter().all(is_set_member) => {
                Node::InConstant { item, set: Box::new(ConstantSet::new(items.clone())) }
            }
            _ => Node::In { item, container, resolved: matches!(self.ty(container), Ty::List(_)) },
        }
    }
}

fn ordered(a: Ty, b: Ty) -> bool {
    let number = |ty| matches!(ty, Ty::Int | Ty::Uint | Ty::Double);
    let comparable = |ty| {
        number(ty) || matches!(ty, Ty::Dyn | Ty::Bool | Ty::String | Ty::Bytes | Ty::Timestamp | Ty::Duration)
    };
    comparable(a) && comparable(b) && (number(a) && number(b) || kind::assignable(a, b))
}

/// Whether an overload can exist, and the type of the result.
fn arithmetic(operator: Arithmetic, a: Ty, b: Ty) -> (bool, Ty) {
    use Arithmetic::{Add, Modulo, Subtract};
    match (operator, a, b) {
        (Add, Ty::Timestamp, Ty::Duration)
        | (Add, Ty::Duration, Ty::Timestamp)
        | (Subtract, Ty::Timestamp, Ty::Duration) => (true, Ty::Timestamp),
        (Subtract, Ty::Timestamp, Ty::Timestamp) => (true, Ty::Duration),
        (Add | Subtract, Ty::Duration, Ty::Duration) => (true, Ty::Duration),
        (_, Ty::Timestamp | Ty::Duration, Ty::Dyn) | (_, Ty::Dyn, Ty::Timestamp | Ty::Duration) => {
            (matches!(operator, Add | Subtract), Ty::Dyn)
        }
        (Add, Ty::String | Ty::Bytes | Ty::List(_), _) | (Add, _, Ty::String | Ty::Bytes | Ty::List(_)) => {
            (kind::assignable(a, b), if matches!(a, Ty::Dyn) { b } else { a })
        }
        (_, Ty::Dyn, Ty::Dyn) => (true, Ty::Dyn),
        (_, Ty::Int | Ty::Uint | Ty::Dyn, Ty::Int | Ty::Uint | Ty::Dyn) => {
            (kind::assignable(a, b), if matches!(a, Ty::Dyn) { b } else { a })
        }
        (_, Ty::Double | Ty::Dyn, Ty::Double | Ty::Dyn) => (!matches!(operator, Modulo), Ty::Double),
        _ => (false, Ty::Dyn),
    }
}

/// What cel-go makes a set of (`interpreter/decorators.go`).
fn is_set_member(constant: &Constant) -> bool {
    matches!(
        constant,
        Constant::Int(_) | Constant::Uint(_) | Constant::Double(_) | Constant::String(_) | Constant::Bool(_)
    )
}
