//! The estimate of one expression.

use super::estimator::Estimator;
use super::range::CostEstimate;
use super::sizes::Sizes;
use crate::ast::{Ast, Expr, ExprId, Span};
use crate::check::{self, Checked};
use crate::compile::Env;
use crate::issue::Issues;

/// What an expression can cost, and each part of it.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// By node, each with all below it.
    costs: Vec<CostEstimate>,
    root: ExprId,
}

/// The part of an expression that costs most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dearest {
    pub span: Span,
    /// For once; what stands in a loop may be evaluated more often.
    pub cost: CostEstimate,
    /// Whether it goes through a list or map.
    pub is_loop: bool,
}

/// Checks an expression and estimates what it costs; what is known about sizes comes from `sizes`.
///
/// # Errors
/// Everything that is wrong with the expression; see [`crate::compile::compile_ast`].
pub fn estimate(ast: &Ast, env: &Env, sizes: &dyn Sizes) -> Result<Estimate, Issues> {
    Ok(Estimate::of(ast, &check::check(ast, env)?, sizes))
}

impl Estimate {
    pub(crate) fn of(ast: &Ast, checked: &Checked, sizes: &dyn Sizes) -> Self {
        Self { costs: Estimator::new(ast, checked, sizes).run(), root: ast.root() }
    }

    /// Of the whole expression.
    pub fn cost(&self) -> CostEstimate {
        self.costs[self.root.0 as usize]
    }

    /// The smallest part of `ast`, the expression that was estimated, that can cost more than `limit`; `None` when even the whole cannot.
    pub fn dearest(&self, ast: &Ast, limit: u64) -> Option<Dearest> {
        let cost = |id: ExprId| self.costs[id.0 as usize];
        let mut found = self.root;
        if cost(found).max <= limit {
            return None;
        }
        loop {
            let mut dearest = None::<ExprId>;
            ast.expr(found).for_each_child(|child| {
                if cost(child).max > dearest.map_or(limit, |known| cost(known).max) {
                    dearest = Some(child);
                }
            });
            match dearest {
                Some(child) => found = child,
                None => {
                    let is_loop = matches!(ast.expr(found), Expr::Comprehension(_));
                    return Some(Dearest { span: ast.span(found), cost: cost(found), is_loop });
                }
            }
        }
    }
}
