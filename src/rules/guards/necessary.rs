//! What an expression needs of the envelope in order to be anything but false, or anything but true.

use std::collections::HashMap;

use usher_cel::ast::{Ast, Expr, ExprId, Literal, operators as op};

use super::facts::Facts;
use crate::engine::Fact;

/// What is known about an expression without evaluating it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Necessary {
    /// Without these the expression is false: not true, and no failure.
    pub(super) to_hold: Facts,
    /// Without these the expression is true: not false, and no failure.
    pub(super) to_fail: Facts,
    /// Evaluation costs no more than the text is long, so that it cannot run out of cost or time. What follows such a term in `&&` and `||`
    /// is always reached.
    pub(super) light: bool,
    /// Evaluation never fails.
    pub(super) sure: bool,
}

/// Looks at an expression; `variables` says what is known about the rule's earlier variables.
pub(crate) fn necessary(ast: &Ast, variables: &HashMap<Box<str>, Necessary>) -> Necessary {
    let mut walk = Walk { ast, variables, known: Vec::with_capacity(ast.nodes().len()) };
    // Children come before parents, so one pass does and nothing recurses. Each node has one parent, which takes what its children know.
    for node in ast.nodes() {
        let necessary = walk.node(&node.expr);
        walk.known.push(necessary);
    }
    walk.take(ast.root())
}

struct Walk<'a> {
    ast: &'a Ast,
    variables: &'a HashMap<Box<str>, Necessary>,
    known: Vec<Necessary>,
}

impl<'a> Walk<'a> {
    fn take(&mut self, id: ExprId) -> Necessary {
        self.known.get_mut(id.0 as usize).map(std::mem::take).unwrap_or_default()
    }

    fn is_light(&self, id: ExprId) -> bool {
        self.known.get(id.0 as usize).is_some_and(|necessary| necessary.light)
    }

    fn node(&mut self, expr: &'a Expr) -> Necessary {
        match expr {
            Expr::Literal(_) => Necessary { light: true, sure: true, ..Necessary::default() },
            // Variables of comprehensions as well; those are dropped with their comprehension.
            Expr::Ident(_) => Necessary { light: true, ..Necessary::default() },
            Expr::Select { operand, field, test_only } => self.select(*operand, field, *test_only, expr),
            Expr::Call { function, target, args } => self.call(function, *target, args),
            Expr::List { elements, optional } => {
                let literal = optional.is_empty() && elements.iter().all(|element| self.is_literal(*element));
                Necessary { light: literal, sure: literal, ..Necessary::default() }
            }
            Expr::Map { .. } | Expr::Struct { .. } | Expr::Comprehension(_) => Necessary::default(),
        }
    }

    fn select(&mut self, operand: ExprId, field: &str, test_only: bool, whole: &'a Expr) -> Necessary {
        if let Expr::Ident(name) = self.ast.expr(operand)
            && matches!(&**name, "variables" | ".variables")
        {
            return match self.variables.get(field) {
                Some(known) if !test_only => known.clone(),
                _ => Necessary::default(),
            };
        }
        let light = self.is_light(operand);
        let fact = test_only.then(|| self.path(whole)).flatten().filter(|path| !path.optional);
        match fact.map(|path| path.fact) {
            Some(fact) if can_be_absent(fact) => {
                Necessary { to_hold: Facts::present(fact), light, sure: true, ..Necessary::default() }
            }
            Some(_) => Necessary { light, sure: true, ..Necessary::default() },
            None => Necessary { light, ..Necessary::default() },
        }
    }

    fn call(&mut self, function: &str, target: Option<ExprId>, args: &[ExprId]) -> Necessary {
        match (function, target, args) {
            (op::LOGICAL_NOT, None, [operand]) => {
                let Necessary { to_hold, to_fail, light, sure } = self.take(*operand);
                Necessary { to_hold: to_fail, to_fail: to_hold, light, sure }
            }
            (op::LOGICAL_AND, None, [left, right]) => {
                let (mut left, right) = (self.take(*left), self.take(*right));
                if left.light {
                    left.to_hold.and(right.to_hold);
                }
                left.to_fail.or(right.to_fail);
                Necessary { light: left.light && right.light, sure: left.sure && right.sure, ..left }
            }
            (op::LOGICAL_OR, None, [left, right]) => {
                let (mut left, right) = (self.take(*left), self.take(*right));
                if left.light {
                    left.to_fail.and(right.to_fail);
                }
                left.to_hold.or(right.to_hold);
                Necessary { light: left.light && right.light, sure: left.sure && right.sure, ..left }
            }
            (op::CONDITIONAL, None, [condition, then, otherwise]) => {
                let never_otherwise =
                    matches!(self.ast.expr(*otherwise), Expr::Literal(Literal::Bool(false)));
                let (condition, then, otherwise) =
                    (self.take(*condition), self.take(*then), self.take(*otherwise));
                Necessary {
                    light: condition.light && then.light && otherwise.light,
                    sure: condition.sure && then.sure && otherwise.sure,
                    to_hold: if never_otherwise { condition.to_hold } else { Facts::default() },
                    to_fail: Facts::default(),
                }
            }
            (op::EQUALS, None, [left, right]) => self.equality(*left, *right),
            (op::NOT_EQUALS, None, [left, right]) => {
                let Necessary { to_hold, to_fail, light, sure } = self.equality(*left, *right);
                Necessary { to_hold: to_fail, to_fail: to_hold, light, sure }
            }
            (op::IN, None, [item, list]) => self.membership(*item, *list),
            (op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS, None, [left, right]) => {
                Necessary { light: self.is_light_comparison(*left, *right), ..Necessary::default() }
            }
            (op::INDEX | op::OPT_INDEX | op::OPT_SELECT, None, [operand, index]) => {
                let light = self.is_light(*operand) && self.is_literal(*index);
                Necessary { light, ..Necessary::default() }
            }
            ("orValue", Some(target), [default]) => {
                Necessary { light: self.is_light(target) && self.is_light(*default), ..Necessary::default() }
            }
            ("hasValue", Some(target), []) => {
                let light = self.is_light(target);
                match self.path(self.ast.expr(target)).filter(|path| path.optional).map(|path| path.fact) {
                    Some(fact) if can_be_absent(fact) => {
                        Necessary { to_hold: Facts::present(fact), light, sure: true, ..Necessary::default() }
                    }
                    _ => Necessary { light, ..Necessary::default() },
                }
            }
            ("startsWith" | "endsWith", Some(target), [argument]) => Necessary {
                light: self.is_light(target) && self.is_literal(*argument),
                ..Necessary::default()
            },
            _ => Necessary::default(),
        }
    }

    fn equality(&self, left: ExprId, right: ExprId) -> Necessary {
        let light = self.is_light_comparison(left, right);
        let found = self.read_and_text(left, right).or_else(|| self.read_and_text(right, left));
        let Some((read, value)) = found else {
            return Necessary { light, ..Necessary::default() };
        };
        one_of(&read, &[value], light)
    }

    fn membership(&self, item: ExprId, list: ExprId) -> Necessary {
        let light = self.is_light(item) && self.is_light(list);
        let values = match self.ast.expr(list) {
            Expr::List { elements, optional } if optional.is_empty() => {
                elements.iter().map(|element| self.text(*element)).collect::<Option<Vec<_>>>()
            }
            _ => None,
        };
        match (self.read(item), values) {
            (Some(read), Some(values)) => one_of(&read, &values, light),
            _ => Necessary { light, ..Necessary::default() },
        }
    }

    /// A comparison with a literal costs no more than the literal is long.
    fn is_light_comparison(&self, left: ExprId, right: ExprId) -> bool {
        self.is_light(left) && self.is_light(right) && (self.is_literal(left) || self.is_literal(right))
    }

    fn is_literal(&self, id: ExprId) -> bool {
        matches!(self.ast.expr(id), Expr::Literal(_))
    }

    fn text(&self, id: ExprId) -> Option<&'a str> {
        match self.ast.expr(id) {
            Expr::Literal(Literal::String(text)) => Some(text),
            _ => None,
        }
    }

    fn read_and_text(&self, fact: ExprId, text: ExprId) -> Option<(FactRead<'a>, &'a str)> {
        Some((self.read(fact)?, self.text(text)?))
    }

    /// `request.namespace`, `request.?namespace.orValue('x')`.
    fn read(&self, id: ExprId) -> Option<FactRead<'a>> {
        let expr = self.ast.expr(id);
        if let Expr::Call { function, target: Some(target), args } = expr
            && let ("orValue", [default]) = (&**function, &args[..])
        {
            let path = self.path(self.ast.expr(*target)).filter(|path| path.optional)?;
            return Some(FactRead { fact: path.fact, default: Some(self.text(*default)?) });
        }
        let path = self.path(expr).filter(|path| !path.optional)?;
        Some(FactRead { fact: path.fact, default: None })
    }

    /// A selection from `request` that leads to a fact.
    fn path(&self, mut expr: &'a Expr) -> Option<Path> {
        /// Fields of the longest path: `userInfo.username`.
        const LONGEST: usize = 2;
        let mut fields = Vec::with_capacity(LONGEST);
        let mut optional = false;
        while fields.len() <= LONGEST {
            let (operand, field) = match expr {
                Expr::Ident(name) if matches!(&**name, "request" | ".request") => {
                    fields.reverse();
                    return Some(Path { fact: fact(&fields)?, optional });
                }
                Expr::Select { operand, field, .. } => (*operand, &**field),
                Expr::Call { function, target: None, args } => match (&**function, &args[..]) {
                    (op::INDEX, [operand, index]) => (*operand, self.text(*index)?),
                    (op::OPT_SELECT | op::OPT_INDEX, [operand, index]) => {
                        optional = true;
                        (*operand, self.text(*index)?)
                    }
                    _ => return None,
                },
                _ => return None,
            };
            fields.push(field);
            expr = self.ast.expr(operand);
        }
        None
    }
}

struct Path {
    fact: Fact,
    /// It has a `?`, so that its value is an optional.
    optional: bool,
}

struct FactRead<'a> {
    fact: Fact,
    /// What stands for an absent fact; without it reading one fails.
    default: Option<&'a str>,
}

fn one_of(read: &FactRead<'_>, values: &[&str], light: bool) -> Necessary {
    let sure = read.default.is_some() || !can_be_absent(read.fact);
    // Without a default an absent fact is a failure. A fact that is always there needs no care.
    let absent = read.default.is_none_or(|default| values.contains(&default)) || !can_be_absent(read.fact);
    let to_hold = Facts::one_of(read.fact, values.iter().copied(), absent);
    Necessary { to_hold, to_fail: Facts::default(), light, sure }
}

fn fact(fields: &[&str]) -> Option<Fact> {
    Some(match fields {
        ["namespace"] => Fact::Namespace,
        ["name"] => Fact::Name,
        ["operation"] => Fact::Operation,
        ["subResource"] => Fact::SubResource,
        ["userInfo", "username"] => Fact::UserName,
        ["kind", "kind"] => Fact::Kind,
        _ => return None,
    })
}

/// Whether the key is missing when the fact is empty.
fn can_be_absent(fact: Fact) -> bool {
    !matches!(fact, Fact::Kind | Fact::Operation)
}
