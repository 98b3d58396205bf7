//! Makes nodes.

use crate::ast::{Expr, ExprId, Literal, MapEntry, Node, Span, StructField};

/// Where a node stands: see the fields of [`Node`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) span: Span,
    pub(super) caret: u32,
}

impl Place {
    pub(super) fn of(span: Span) -> Self {
        Self { span, caret: span.start }
    }
}

#[derive(Debug)]
pub(super) struct Builder {
    nodes: Vec<Node>,
    copied: usize,
}

impl Builder {
    pub(super) fn with_capacity(nodes: usize) -> Self {
        Self { nodes: Vec::with_capacity(nodes), copied: 0 }
    }

    pub(super) fn into_nodes(self) -> Vec<Node> {
        self.nodes
    }

    pub(super) fn node(&self, id: ExprId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The id that the next node will have.
    pub(super) fn next_id(&self) -> ExprId {
        // Few bytes make a node, and the text has at most 400,000.
        ExprId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn add(&mut self, place: Place, expr: Expr) -> ExprId {
        let id = self.next_id();
        self.nodes.push(Node { expr, span: place.span, caret: place.caret });
        id
    }

    /// Puts another node where one without children stood. Macros do so with the names of their variables, which are no
    /// expressions: no node is left without a parent.
    pub(super) fn replace(&mut self, id: ExprId, place: Place, expr: Expr) -> ExprId {
        self.nodes[id.0 as usize] = Node { expr, span: place.span, caret: place.caret };
        id
    }

    pub(super) fn literal(&mut self, place: Place, value: Literal) -> ExprId {
        self.add(place, Expr::Literal(value))
    }

    pub(super) fn ident(&mut self, place: Place, name: &str) -> ExprId {
        self.add(place, Expr::Ident(name.into()))
    }

    pub(super) fn call(&mut self, place: Place, function: &str, args: Vec<ExprId>) -> ExprId {
        self.add(place, Expr::Call { function: function.into(), target: None, args })
    }

    pub(super) fn member_call(
        &mut self,
        place: Place,
        function: &str,
        target: ExprId,
        args: Vec<ExprId>,
    ) -> ExprId {
        self.add(place, Expr::Call { function: function.into(), target: Some(target), args })
    }

    pub(super) fn list(&mut self, place: Place, elements: Vec<ExprId>) -> ExprId {
        self.add(place, Expr::List { elements, optional: Vec::new() })
    }

    /// Copies the nodes from `first` to `last`, a whole sub-expression; `None` when that would make too many nodes.
    pub(super) fn copy(&mut self, first: ExprId, last: ExprId, limit: usize) -> Option<ExprId> {
        let (from, to) = (first.0 as usize, last.0 as usize + 1);
        self.copied = self.copied.saturating_add(to - from);
        if self.copied > limit {
            return None;
        }
        let by = self.next_id().0 - first.0;
        for index in from..to {
            let mut node = self.nodes[index].clone();
            shift_children(&mut node.expr, by);
            self.nodes.push(node);
        }
        Some(ExprId(last.0 + by))
    }
}

fn shift_children(expr: &mut Expr, by: u32) {
    let shift = |id: &mut ExprId| id.0 += by;
    match expr {
        Expr::Literal(_) | Expr::Ident(_) => {}
        Expr::Select { operand, .. } => shift(operand),
        Expr::Call { target, args, .. } => target.iter_mut().chain(args).for_each(shift),
        Expr::List { elements, .. } => elements.iter_mut().for_each(shift),
        Expr::Map { entries } => {
            for MapEntry { key, value, .. } in entries {
                shift(key);
                shift(value);
            }
        }
        Expr::Struct { fields, .. } => fields.iter_mut().for_each(|StructField { value, .. }| shift(value)),
        Expr::Comprehension(fold) => {
            [
                &mut fold.iter_range,
                &mut fold.accu_init,
                &mut fold.loop_condition,
                &mut fold.loop_step,
                &mut fold.result,
            ]
            .into_iter()
            .for_each(shift);
        }
    }
}
