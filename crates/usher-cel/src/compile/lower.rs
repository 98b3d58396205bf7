//! The walk over the syntax tree.
//!
//! What grows to the left in the text (`a.b.c`, `1 + 1 + 1`, `x.f().g()`, `!!!x`) is walked in a loop; recursion follows only what the
//! parser's nesting limit bounds.

use std::sync::Arc;

use super::constant::Constant;
use super::env::Env;
use super::program::{Accumulator, Node, NodeId, Path, Program, Step};
use super::reads::Reads;
use crate::ast::{Ast, Expr, ExprId, Literal, Span, operators as op};
use crate::check::{Checked, MAX_NAME_SEGMENTS, Type, type_constant};
use crate::eval::{Arena, Value};
use crate::issue::{Issue, Issues};
use crate::library::RegexBudget;

/// Operations on one operand that may nest before they are cut into a [`Node::Chain`].
const CHAIN_PART: usize = 32;

pub(super) fn lower(ast: &Ast, env: &Env, checked: Option<&Checked>) -> Result<Program, Issues> {
    let mut lower = Lower {
        ast,
        env,
        checked,
        nodes: Vec::with_capacity(ast.nodes().len()),
        spans: Vec::with_capacity(ast.nodes().len()),
        scopes: Vec::new(),
        live_locals: 0,
        locals: 0,
        reads: Reads::default(),
        failure: None,
        regexes: env.regex_budget(),
    };
    let root = lower.expr(ast.root());
    if let Some(failure) = lower.failure {
        return Err(Issues::new(ast.source(), vec![failure]));
    }
    Ok(Program {
        source: Arc::from(ast.source()),
        nodes: lower.nodes,
        spans: lower.spans,
        root,
        locals: lower.locals as usize,
        result: checked.map_or(Type::Dyn, |checked| checked.result().clone()),
        reads: lower.reads,
    })
}

/// What a name in scope stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scoped {
    Local(u32),
    Accumulator(Accumulator),
}

pub(super) struct Lower<'s> {
    pub(super) ast: &'s Ast,
    pub(super) env: &'s Env,
    /// What the checker found out; `None` when types are not checked.
    pub(super) checked: Option<&'s Checked>,
    nodes: Vec<Node>,
    spans: Vec<Span>,
    /// Comprehension variables in scope, innermost last.
    pub(super) scopes: Vec<(Box<str>, Scoped)>,
    live_locals: u32,
    locals: u32,
    reads: Reads,
    /// The first thing for which cel-go would give up planning the program.
    failure: Option<Issue>,
    pub(super) regexes: RegexBudget,
}

impl<'s> Lower<'s> {
    pub(super) fn expr(&mut self, id: ExprId) -> NodeId {
        let mut spine = Vec::new();
        let base = self.descend(id, &mut spine);
        let node = self.base(base, &mut spine);
        self.ascend(node, spine)
    }

    /// Follows the leftmost operands down and notes the operations on the way, outermost first.
    fn descend(&self, id: ExprId, spine: &mut Vec<ExprId>) -> ExprId {
        let mut current = id;
        loop {
            let next = match self.ast.expr(current) {
                Expr::Select { operand, .. } => *operand,
                Expr::Call { function, target: None, args } if is_strict_operator(function) => args[0],
                Expr::Call { target: Some(target), function, .. }
                    if !self.is_namespaced(*target, function) =>
                {
                    *target
                }
                _ => return current,
            };
            spine.push(current);
            current = next;
        }
    }

    /// Lowers what the spine stands on. A name takes as many selections off the spine as belong to it.
    fn base(&mut self, id: ExprId, spine: &mut Vec<ExprId>) -> NodeId {
        let span = self.ast.span(id);
        let ast: &'s Ast = self.ast;
        match ast.expr(id) {
            Expr::Ident(name) => self.name(id, name, spine),
            Expr::Literal(literal) => self.literal(literal, span),
            Expr::List { elements, optional } => self.list(elements, optional, span),
            Expr::Map { entries } => self.map(entries, span),
            Expr::Struct { type_name, fields } => self.structure(type_name, fields, span),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, span),
            Expr::Call { function, target, args } => match &**function {
                op::LOGICAL_AND | op::LOGICAL_OR => self.logical(id, function, span),
                op::CONDITIONAL => self.conditional(args, span),
                _ => self.global_call(id, function, *target, args),
            },
            // `descend` goes through every selection.
            Expr::Select { .. } => self.fail(span, "selection without an operand"),
        }
    }

    fn ascend(&mut self, mut node: NodeId, mut spine: Vec<ExprId>) -> NodeId {
        let mut parts = Vec::new();
        let mut chain_local = None;
        let mut depth = 0;
        while let Some(id) = spine.pop() {
            if depth == CHAIN_PART {
                let slot = *chain_local.get_or_insert_with(|| self.reserve_local());
                parts.push(node);
                let span = self.spans[node.0 as usize];
                node = self.push(Node::Hole(slot), span);
                depth = 0;
            }
            depth += 1;
            let ast: &'s Ast = self.ast;
            node = match ast.expr(id) {
                Expr::Select { .. } => self.path(node, id, &mut spine),
                Expr::Call { function, target: None, args }
                    if &**function == op::INDEX || is_optional_step(function) =>
                {
                    debug_assert!(args.len() == 2, "the parser gives `{function}` two operands");
                    self.path(node, id, &mut spine)
                }
                Expr::Call { function, target: None, args } => self.operator(id, function, node, args),
                Expr::Call { function, args, .. } => self.member_call(id, function, node, args),
                _ => node,
            };
        }
        if let Some(slot) = chain_local {
            self.release_locals(slot);
            parts.push(node);
            let span = self.spans[node.0 as usize];
            node = self.push(Node::Chain { slot, parts: parts.into() }, span);
        }
        node
    }

    /// Joins the selections and indexes that follow each other into one path.
    fn path(&mut self, base: NodeId, first: ExprId, spine: &mut Vec<ExprId>) -> NodeId {
        let mut steps = Vec::new();
        let mut end = self.ast.span(first);
        let mut test_only = false;
        let mut next = Some(first);
        while let Some(id) = next {
            end = self.ast.span(id);
            let ast: &'s Ast = self.ast;
            match ast.expr(id) {
                Expr::Select { field, test_only: test, .. } => {
                    steps.push(Step::Field { name: field.clone(), optional: false, span: end });
                    test_only = *test;
                }
                Expr::Call { function, args, .. } => steps.push(self.index_step(function, args[1], end)),
                _ => break,
            }
            next = spine.last().copied().filter(|id| !test_only && self.is_step(*id));
            if next.is_some() {
                spine.pop();
            }
        }
        if let Node::Variable(slot) = &self.nodes[base.0 as usize] {
            let slot = *slot;
            self.record_read(slot, &steps);
        }
        let path = Box::new(Path { base, steps: steps.into() });
        self.push(if test_only { Node::Has(path) } else { Node::Path(path) }, end)
    }

    fn is_step(&self, id: ExprId) -> bool {
        match self.ast.expr(id) {
            Expr::Select { .. } => true,
            Expr::Call { function, target: None, .. } => {
                &**function == op::INDEX || is_optional_step(function)
            }
            _ => false,
        }
    }

    fn index_step(&mut self, function: &str, index: ExprId, span: Span) -> Step {
        let optional = function != op::INDEX;
        if function == op::OPT_SELECT
            && let Expr::Literal(Literal::String(field)) = self.ast.expr(index)
        {
            return Step::Field { name: field.clone(), optional, span };
        }
        let node = self.expr(index);
        if let Some(constant) = self.constant(node) {
            if let Some(name) = constant.as_str() {
                return Step::Key { name: name.into(), optional, span };
            }
            if let Some(kind) = constant.no_qualifier() {
                // cel-go prepares constant indexes when it plans the program.
                let message = format!("program instantiation failed: invalid qualifier type: {kind}");
                self.give_up(index, message);
            }
        }
        Step::Index { index: node, optional, span }
    }

    /// The read of a variable that ends at the first step that is not known before evaluation.
    fn record_read(&mut self, slot: u32, steps: &[Step]) {
        let mut path = Vec::new();
        for step in steps {
            match step {
                Step::Field { name, .. } | Step::Key { name, .. } => path.push(name.clone()),
                Step::Index { .. } => break,
            }
        }
        self.reads.record(slot, path);
    }

    /// A name with as many of the following selections as make the longest declared one.
    fn name(&mut self, id: ExprId, name: &str, spine: &mut Vec<ExprId>) -> NodeId {
        let span = self.ast.span(id);
        if let Some((_, scoped)) = self.scopes.iter().rev().find(|(scoped, _)| **scoped == *name) {
            let node = match *scoped {
                Scoped::Local(local) => Node::Local(local),
                Scoped::Accumulator(accumulator) => Node::Accumulator(Box::new(accumulator)),
            };
            return self.push(node, span);
        }
        let mut fields = Vec::new();
        for id in spine.iter().rev().take(MAX_NAME_SEGMENTS - 1) {
            match self.ast.expr(*id) {
                Expr::Select { field, test_only: false, .. } => fields.push(&**field),
                _ => break,
            }
        }
        for taken in (0..=fields.len()).rev() {
            let mut full = name.to_owned();
            for field in &fields[..taken] {
                full.push('.');
                full.push_str(field);
            }
            let env: &'s Env = self.env;
            for candidate in env.candidates(&full) {
                let span = if taken == 0 { span } else { span.to(self.ast.span(spine[spine.len() - taken])) };
                if let Some(variable) = env.variable(&candidate) {
                    spine.truncate(spine.len() - taken);
                    if spine.last().is_none_or(|id| !self.is_step(*id)) {
                        self.reads.record(variable.slot, Vec::new());
                    }
                    return self.push(Node::Variable(variable.slot), span);
                }
                if let Some(type_name) = type_constant(&candidate) {
                    spine.truncate(spine.len() - taken);
                    return self.push(Node::Constant(Constant::Type(type_name.into())), span);
                }
            }
        }
        if let Some(tested) = self.declared_test(name, &fields, spine) {
            return tested;
        }
        self.undeclared(span, name)
    }

    /// `has(variables.x)`: of a structure that only exists as its declared fields, each field is there.
    fn declared_test(&mut self, name: &str, fields: &[&str], spine: &mut Vec<ExprId>) -> Option<NodeId> {
        let id = *spine.iter().rev().nth(fields.len())?;
        let Expr::Select { field, test_only: true, .. } = self.ast.expr(id) else { return None };
        let full = [&[name], fields, &[field]].concat().join(".");
        self.env.candidates(&full).find_map(|candidate| self.env.variable(&candidate))?;
        spine.truncate(spine.len() - fields.len() - 1);
        Some(self.push(Node::Constant(Constant::Bool(true)), self.ast.span(id)))
    }

    fn literal(&mut self, literal: &Literal, span: Span) -> NodeId {
        self.push(Node::Constant(literal.into()), span)
    }

    /// What makes a program impossible, and something in place of the expression. Only the first counts: cel-go plans no further.
    pub(super) fn give_up(&mut self, id: ExprId, message: String) -> NodeId {
        let (span, caret) = (self.ast.span(id), self.ast.caret(id));
        let failed = self.push(Node::Fail(message.as_str().into()), span);
        self.failure.get_or_insert(Issue { span, caret, message, help: None });
        failed
    }

    /// What cannot be: an error of the evaluation, which a `||` beside it may absorb. Only without type checks, which find it before.
    pub(super) fn fail(&mut self, span: Span, message: impl Into<Box<str>>) -> NodeId {
        self.push(Node::Fail(message.into()), span)
    }

    pub(super) fn undeclared(&mut self, span: Span, name: &str) -> NodeId {
        let name = name.trim_start_matches('.');
        self.fail(span, format!("undeclared reference to '{name}' (in container '{}')", self.env.container()))
    }

    pub(super) fn push(&mut self, node: Node, span: Span) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        self.spans.push(span);
        id
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(super) fn constant(&self, id: NodeId) -> Option<&Constant> {
        match &self.nodes[id.0 as usize] {
            Node::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    pub(super) fn reserve_local(&mut self) -> u32 {
        let local = self.live_locals;
        self.live_locals += 1;
        self.locals = self.locals.max(self.live_locals);
        local
    }

    pub(super) fn live_locals(&self) -> u32 {
        self.live_locals
    }

    /// Gives back what was reserved since there were `live` locals.
    pub(super) fn release_locals(&mut self, live: u32) {
        self.live_locals = live;
    }

    /// An expression that is evaluated somewhere in the middle of what is lowered next: the locals that it uses stay reserved.
    pub(super) fn deferred(&mut self, id: ExprId) -> NodeId {
        let before = std::mem::replace(&mut self.locals, self.live_locals);
        let node = self.expr(id);
        self.live_locals = self.locals;
        self.locals = self.locals.max(before);
        node
    }
}

/// Operators whose first operand is always evaluated first and whose errors are theirs.
fn is_strict_operator(function: &str) -> bool {
    matches!(
        function,
        op::EQUALS
            | op::NOT_EQUALS
            | op::LESS
            | op::LESS_EQUALS
            | op::GREATER
            | op::GREATER_EQUALS
            | op::ADD
            | op::SUBTRACT
            | op::MULTIPLY
            | op::DIVIDE
            | op::MODULO
            | op::NEGATE
            | op::LOGICAL_NOT
            | op::INDEX
            | op::OPT_INDEX
            | op::OPT_SELECT
            | op::IN
            | op::NOT_STRICTLY_FALSE
    )
}

fn is_optional_step(function: &str) -> bool {
    function == op::OPT_INDEX || function == op::OPT_SELECT
}

/// The value of a constant that is no list or map needs no arena, so this is only for the folding of calls.
pub(super) fn constant_value<'a>(constant: &'a Constant, arena: &'a Arena) -> Option<Value<'a>> {
    constant.value(arena).ok()
}
