//! The walk over the tree. cel-go `checker/cost.go`.
//!
//! It keeps its own stack, so that nothing recurses on the shape of an expression.

use super::known::{Entries, Known, Local};
use super::model::Model;
use super::range::{CostEstimate, SizeEstimate};
use super::sizes::Sizes;
use super::{calls, operators, terms};
use crate::ast::{Ast, Comprehension, Expr, ExprId, Literal, MapEntry, operators as op};
use crate::check::{Checked, OperatorOverload, Type};

/// A name or a step into what it names.
const SELECT: CostEstimate = CostEstimate::exactly(1);
const FREE: CostEstimate = CostEstimate::exactly(0);

/// What is left to do, the next last.
enum Task {
    Visit(ExprId),
    /// All that the node is made of has been looked at.
    Leave(ExprId),
    /// Opens the scope of the accumulator, and of the loop's variables unless it is a `let`.
    Bind(ExprId),
    /// Closes that of the loop's variables.
    UnbindLoop(ExprId),
}

pub(super) struct Estimator<'s> {
    ast: &'s Ast,
    checked: &'s Checked,
    known: Known<'s>,
    /// By node.
    costs: Vec<CostEstimate>,
    tasks: Vec<Task>,
}

impl<'s> Estimator<'s> {
    pub(super) fn new(ast: &'s Ast, checked: &'s Checked, stated: &'s dyn Sizes) -> Self {
        let costs = vec![FREE; ast.nodes().len()];
        Self { ast, checked, known: Known::new(ast, checked.types(), stated), costs, tasks: Vec::new() }
    }

    /// The cost of each node with all that it is made of.
    pub(super) fn run(mut self) -> Vec<CostEstimate> {
        self.tasks.push(Task::Visit(self.ast.root()));
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Visit(id) => self.visit(id),
                Task::Leave(id) => self.costs[id.0 as usize] = self.leave(id),
                Task::Bind(id) => self.bind(id),
                Task::UnbindLoop(id) => self.unbind_loop(id),
            }
        }
        self.costs
    }

    fn cost(&self, id: ExprId) -> CostEstimate {
        self.costs[id.0 as usize]
    }

    fn sum(&self, ids: impl IntoIterator<Item = ExprId>) -> CostEstimate {
        ids.into_iter().fold(FREE, |sum, id| sum.plus(self.cost(id)))
    }

    fn visit(&mut self, id: ExprId) {
        let ast: &'s Ast = self.ast;
        if let Some(segments) = self.checked.declared_segments(id) {
            self.costs[id.0 as usize] = CostEstimate::exactly(segments);
            return self.known.set_variable(id, &dotted(ast, id));
        }
        if let Expr::Comprehension(fold) = ast.expr(id) {
            self.tasks.push(Task::Leave(id));
            self.tasks.push(Task::Visit(fold.result));
            if !is_let(ast, fold) {
                self.tasks.push(Task::UnbindLoop(id));
                self.tasks.push(Task::Visit(fold.loop_step));
                self.tasks.push(Task::Visit(fold.loop_condition));
            }
            self.tasks.push(Task::Bind(id));
            self.tasks.push(Task::Visit(fold.accu_init));
            self.tasks.push(Task::Visit(fold.iter_range));
            return;
        }
        self.tasks.push(Task::Leave(id));
        ast.expr(id).for_each_child(|child| self.tasks.push(Task::Visit(child)));
    }

    fn leave(&mut self, id: ExprId) -> CostEstimate {
        let ast: &'s Ast = self.ast;
        match ast.expr(id) {
            Expr::Literal(_) => FREE,
            Expr::Ident(name) => {
                match self.known.local(name) {
                    Some(local) => self.known.set_path(id, local.path),
                    None => self.known.set_variable(id, name),
                }
                SELECT
            }
            // The operand's cost alone: `has` is free (apiserver, `PresenceTestHasCost(false)`).
            Expr::Select { operand, test_only: true, .. } => self.cost(*operand),
            Expr::Select { operand, field, .. } => {
                let path = self.known.below(*operand, field);
                self.known.set_path(id, path);
                let steps = matches!(self.known.ty(*operand), Type::Map(_) | Type::Object(_));
                self.cost(*operand).plus(if steps { SELECT } else { FREE })
            }
            Expr::Call { function, target, args } => self.call(id, function, *target, args),
            Expr::List { elements, .. } => self.list(id, elements),
            Expr::Map { entries } => self.map(id, entries),
            Expr::Struct { fields, .. } => self
                .sum(fields.iter().map(|field| field.value))
                .plus(CostEstimate::exactly(terms::NEW_STRUCT)),
            Expr::Comprehension(fold) => self.leave_comprehension(id, fold),
        }
    }

    fn list(&mut self, id: ExprId, elements: &[ExprId]) -> CostEstimate {
        let value = self.union_of_sizes(elements.iter().copied());
        self.known.set_entries(id, Some(Entries { list: true, key: SizeEstimate::exactly(1), value }));
        self.sum(elements.iter().copied()).plus(CostEstimate::exactly(terms::NEW_LIST))
    }

    fn map(&mut self, id: ExprId, entries: &[MapEntry]) -> CostEstimate {
        let key = self.union_of_sizes(entries.iter().map(|entry| entry.key));
        let value = self.union_of_sizes(entries.iter().map(|entry| entry.value));
        self.known.set_entries(id, Some(Entries { list: false, key, value }));
        let parts = entries.iter().flat_map(|entry| [entry.key, entry.value]);
        self.sum(parts).plus(CostEstimate::exactly(terms::NEW_MAP))
    }

    fn union_of_sizes(&mut self, ids: impl Iterator<Item = ExprId>) -> SizeEstimate {
        let mut union = None::<SizeEstimate>;
        for id in ids {
            let size = self.known.size_or_unknown(id);
            union = Some(union.map_or(size, |union| union.union(size)));
        }
        union.unwrap_or(SizeEstimate::exactly(0))
    }

    fn call(&mut self, id: ExprId, function: &str, target: Option<ExprId>, args: &[ExprId]) -> CostEstimate {
        let operands_cost = self.sum(args.iter().copied());
        match (function, args) {
            ("dyn", [arg]) => {
                self.copy_sizes(id, *arg);
                return operands_cost.plus(CostEstimate::exactly(1));
            }
            (op::LOGICAL_AND | op::LOGICAL_OR, [left, _]) => {
                // The right operand may not be looked at.
                self.keep_size(id);
                return CostEstimate { min: self.cost(*left).min, max: operands_cost.max };
            }
            (op::CONDITIONAL, [condition, then, otherwise]) => {
                return self.conditional(id, *condition, *then, *otherwise);
            }
            _ => {}
        }
        let mut cost = CostEstimate::NONE;
        let mut size = None::<SizeEstimate>;
        let mut join =
            |cost_of_one: CostEstimate, size_of_one: Option<SizeEstimate>, size: Option<SizeEstimate>| {
                cost = cost.union(cost_of_one.plus(operands_cost));
                match (size, size_of_one) {
                    (Some(size), Some(one)) => Some(size.union(one)),
                    (size, one) => size.or(one),
                }
            };
        let overloads = self.checked.overloads(id);
        if overloads.is_empty() {
            for overload in self.checked.operator_overloads(id, function) {
                let (one, size_of_one) = operators::estimate(&mut self.known, id, function, overload, args);
                size = join(one, size_of_one, size);
                if let (OperatorOverload::ListIndex | OperatorOverload::MapIndex, [container, _]) =
                    (overload, args)
                {
                    let below = if overload == OperatorOverload::ListIndex { "@items" } else { "@values" };
                    let path = self.known.below(*container, below);
                    size = self.known.entries(*container).map(|entries| entries.value);
                    self.known.set_path(id, path);
                }
                size = size.or_else(|| self.known.size(id));
            }
            self.known.set_size(id, size);
            return cost;
        }
        let target = target.filter(|_| self.checked.is_member_call(id));
        let operands: Vec<ExprId> = target.into_iter().chain(args.iter().copied()).collect();
        for overload in overloads {
            let (one, size_of_one) =
                calls::estimate(self.ast, &mut self.known, Model::of(overload), &operands);
            size = join(one, size_of_one, size);
            size = size.or_else(|| self.known.size(id));
        }
        self.known.set_size(id, size);
        target.map_or(FREE, |target| self.cost(target)).plus(cost)
    }

    fn conditional(
        &mut self,
        id: ExprId,
        condition: ExprId,
        then: ExprId,
        otherwise: ExprId,
    ) -> CostEstimate {
        let size = self.known.size_or_unknown(then).union(self.known.size_or_unknown(otherwise));
        if let (Some(then), Some(otherwise)) = (self.known.entries(then), self.known.entries(otherwise)) {
            self.known.set_entries(id, Some(then.union(otherwise)));
        }
        self.known.set_size(id, Some(size));
        self.cost(condition).plus(self.cost(then).union(self.cost(otherwise)))
    }

    fn keep_size(&mut self, id: ExprId) {
        let size = self.known.size(id);
        self.known.set_size(id, size);
    }

    fn copy_sizes(&mut self, id: ExprId, from: ExprId) {
        let (size, entries) = (self.known.size(from), self.known.entries(from));
        self.known.set_size(id, size);
        self.known.set_entries(id, entries);
    }

    fn bind(&mut self, id: ExprId) {
        let ast: &'s Ast = self.ast;
        let Expr::Comprehension(fold) = ast.expr(id) else { return };
        let accumulator = Local {
            path: self.known.path(fold.accu_init),
            size: self.known.size(fold.accu_init),
            entries: self.known.entries(fold.accu_init),
        };
        self.known.bind(&fold.accu_var, accumulator);
        if is_let(ast, fold) {
            return;
        }
        // The second is looked up when the first may hide the range already, as upstream.
        let first = self.loop_variable(fold, |list| if fold.iter_var2.is_none() { list } else { false });
        self.known.bind(&fold.iter_var, first);
        if let Some(name) = &fold.iter_var2 {
            let second = self.loop_variable(fold, |_| true);
            self.known.bind(name, second);
        }
    }

    /// The elements of the range, where `values` says so of a list or map, or their indexes or keys.
    fn loop_variable(&mut self, fold: &Comprehension, values: impl Fn(bool) -> bool) -> Local {
        let range = fold.iter_range;
        let entries = self.known.entries(range);
        let list =
            entries.map_or_else(|| matches!(self.known.ty(range), Type::List(_)), |entries| entries.list);
        let values = values(list);
        let below = match (list, values) {
            (true, true) => "@items",
            (true, false) => "@indices",
            (false, true) => "@values",
            (false, false) => "@keys",
        };
        let size = entries.map(|entries| if values { entries.value } else { entries.key });
        Local { path: self.known.below(range, below), size, entries: None }
    }

    fn unbind_loop(&mut self, id: ExprId) {
        let ast: &'s Ast = self.ast;
        let Expr::Comprehension(fold) = ast.expr(id) else { return };
        self.known.unbind(&fold.iter_var);
        if let Some(second) = &fold.iter_var2 {
            self.known.unbind(second);
        }
    }

    fn leave_comprehension(&mut self, id: ExprId, fold: &Comprehension) -> CostEstimate {
        let outside = self.sum([fold.iter_range, fold.accu_init, fold.result]);
        self.known.unbind(&fold.accu_var);
        if is_let(self.ast, fold) {
            self.copy_sizes(id, fold.result);
            return outside;
        }
        let count = self.known.size_or_unknown(fold.iter_range);
        match self.ast.expr(fold.accu_init) {
            Expr::Literal(_) => {
                let size = self.known.size(fold.accu_init);
                self.known.set_size(id, size);
            }
            Expr::List { .. } | Expr::Map { .. } => {
                self.known.set_size(id, Some(count));
                let entries = self.known.entries(fold.loop_step);
                self.known.set_entries(id, entries);
            }
            _ => {}
        }
        outside.plus(count.times_cost(self.sum([fold.loop_condition, fold.loop_step])))
    }
}

/// A fold over nothing that gives a name to its first value: what `optMap` and `sortBy` are made of (cel-go `isBind`).
fn is_let(ast: &Ast, fold: &Comprehension) -> bool {
    matches!(ast.expr(fold.iter_range), Expr::List { elements, .. } if elements.is_empty())
        && matches!(ast.expr(fold.loop_condition), Expr::Literal(Literal::Bool(false)))
}

/// The text of a declared name with dots in it.
fn dotted(ast: &Ast, id: ExprId) -> String {
    let mut names = Vec::new();
    let mut next = id;
    while let Expr::Select { operand, field, .. } = ast.expr(next) {
        names.push(&**field);
        next = *operand;
    }
    if let Expr::Ident(name) = ast.expr(next) {
        names.push(name);
    }
    names.reverse();
    names.join(".")
}
