//! Operators by precedence, in one loop over two stacks.

use super::MAX_NESTING;
use super::builder::Place;
use super::parser::{Nesting, Operand, Parsed, Parser};
use super::token::{Kind, Token};
use crate::ast::{Span, operators};

/// An operator whose right operand is still to come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operator {
    Binary(Binary),
    /// `condition ?`, before the colon.
    Then {
        condition: Operand,
        question: Token,
    },
    /// `condition ? then :`.
    Else {
        condition: Operand,
        then: Operand,
        question: Token,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Binary {
    precedence: Precedence,
    function: &'static str,
    caret: u32,
}

/// Binds the tighter, the greater. Comparisons are all on one level, as in the grammar: `a < b == c` is `(a < b) == c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Or,
    And,
    Relation,
    Sum,
    Product,
}

impl Precedence {
    /// Chains of logical operators are joined as a whole.
    fn is_logical(self) -> bool {
        matches!(self, Self::Or | Self::And)
    }
}

impl Parser<'_> {
    /// Parses an expression as far as it goes.
    pub(super) fn expression(&mut self) -> Parsed<Operand> {
        let nesting = self.nesting;
        let (operands, base) = (self.operands.len(), self.operators.len());
        let result = self.operators_and_operands(base);
        self.nesting = nesting;
        self.operands.truncate(operands);
        self.operators.truncate(base);
        result
    }

    fn operators_and_operands(&mut self, base: usize) -> Parsed<Operand> {
        let enclosing = self.nesting;
        self.enter_expression()?;
        loop {
            self.enter_operand(base, enclosing)?;
            let operand = self.operand()?;
            self.operands.push(operand);
            if let Some(operator) = self.binary_operator() {
                self.reduce(base, Some(operator.precedence))?;
                self.operators.push(Operator::Binary(operator));
                continue;
            }
            self.reduce(base, None)?;
            let token = self.peek();
            match (token.kind, self.operators[base..].last()) {
                (Kind::Question, Some(Operator::Then { .. })) => {
                    let help = "put the inner conditional into parentheses: a ? (b ? c : d) : e";
                    return Err(self.expected("`:`", token, Some(help.to_owned())));
                }
                (Kind::Question, _) => {
                    let condition = self.pop_operand();
                    self.operators.push(Operator::Then { condition, question: token });
                }
                (Kind::Colon, Some(&Operator::Then { condition, question })) => {
                    let then = self.pop_operand();
                    self.operators.pop();
                    self.operators.push(Operator::Else { condition, then, question });
                    // What follows is an expression of its own in the grammar.
                    self.enter_expression()?;
                }
                _ => return self.finish(base),
            }
            self.advance();
        }
    }

    /// Counts an expression that begins.
    fn enter_expression(&mut self) -> Parsed<()> {
        self.nesting.expression += 1;
        self.check_nesting()
    }

    /// Counts the rules that the operators before an operand hold open: a comparison one, a sum one, a product one.
    fn enter_operand(&mut self, base: usize, enclosing: Nesting) -> Parsed<()> {
        self.nesting.relation = enclosing.relation + 1;
        self.nesting.arithmetic = enclosing.arithmetic + 1;
        for operator in self.operators[base..].iter().rev() {
            match operator {
                Operator::Binary(Binary { precedence: Precedence::Product | Precedence::Sum, .. }) => {
                    self.nesting.arithmetic += 1;
                }
                Operator::Binary(Binary { precedence: Precedence::Relation, .. }) => {
                    self.nesting.relation += 1;
                    break;
                }
                _ => break,
            }
        }
        self.check_nesting()
    }

    fn check_nesting(&mut self) -> Parsed<()> {
        let Nesting { expression, relation, arithmetic } = self.nesting;
        if expression.max(relation).max(arithmetic) > MAX_NESTING {
            let message = format!("expression recursion limit exceeded: {MAX_NESTING}");
            return Err(self.exceeded(message, "the brackets or conditionals are too deep: use variables"));
        }
        Ok(())
    }

    /// The height of a node that counts, over `below`.
    pub(super) fn raise(&mut self, below: u32) -> Parsed<u32> {
        if below >= MAX_NESTING {
            let help = format!(
                "a chain may have {MAX_NESTING} selections, calls, comparisons or arithmetic operators: use a list or variables"
            );
            return Err(self.exceeded("max recursion depth exceeded".to_owned(), &help));
        }
        Ok(below + 1)
    }

    fn binary_operator(&mut self) -> Option<Binary> {
        let token = self.peek();
        let (precedence, function) = match token.kind {
            Kind::Or => (Precedence::Or, operators::LOGICAL_OR),
            Kind::And => (Precedence::And, operators::LOGICAL_AND),
            Kind::Equals => (Precedence::Relation, operators::EQUALS),
            Kind::NotEquals => (Precedence::Relation, operators::NOT_EQUALS),
            Kind::Less => (Precedence::Relation, operators::LESS),
            Kind::LessEquals => (Precedence::Relation, operators::LESS_EQUALS),
            Kind::Greater => (Precedence::Relation, operators::GREATER),
            Kind::GreaterEquals => (Precedence::Relation, operators::GREATER_EQUALS),
            Kind::In => (Precedence::Relation, operators::IN),
            Kind::Plus => (Precedence::Sum, operators::ADD),
            Kind::Minus => (Precedence::Sum, operators::SUBTRACT),
            Kind::Star => (Precedence::Product, operators::MULTIPLY),
            Kind::Slash => (Precedence::Product, operators::DIVIDE),
            Kind::Percent => (Precedence::Product, operators::MODULO),
            Kind::Name => self.word_operator(token)?,
            _ => return None,
        };
        self.advance();
        Some(Binary { precedence, function, caret: token.span.start })
    }

    /// A name never follows an operand. Where it is an operator of other languages, it is reported and taken for ours.
    #[cold]
    fn word_operator(&mut self, token: Token) -> Option<(Precedence, &'static str)> {
        let word = token.span.text(self.source);
        let (meant, help) = if word.eq_ignore_ascii_case("and") {
            ((Precedence::And, operators::LOGICAL_AND), "use `&&`")
        } else if word.eq_ignore_ascii_case("or") {
            ((Precedence::Or, operators::LOGICAL_OR), "use `||`")
        } else if word.eq_ignore_ascii_case("not") && self.peek_ahead(1).kind == Kind::In {
            self.advance();
            ((Precedence::Relation, operators::IN), "write `!(a in b)`")
        } else {
            return None;
        };
        self.issues.report(
            token.span,
            format!("Syntax error: `{word}` is not an operator"),
            Some(help.to_owned()),
        );
        Some(meant)
    }

    /// Makes nodes of the binary operators on top that bind as tightly as the one to come, or of all.
    fn reduce(&mut self, base: usize, to_come: Option<Precedence>) -> Parsed<()> {
        while let Some(&Operator::Binary(operator)) = self.operators[base..].last() {
            let Binary { precedence, .. } = operator;
            if to_come
                .is_some_and(|other| precedence < other || (precedence == other && precedence.is_logical()))
            {
                break;
            }
            if precedence.is_logical() {
                self.join_logical(base, operator);
            } else {
                self.join_binary(operator)?;
            }
        }
        Ok(())
    }

    fn join_binary(&mut self, operator: Binary) -> Parsed<()> {
        self.operators.pop();
        let (right, left) = (self.pop_operand(), self.pop_operand());
        let height = self.raise(left.height.max(right.height))?;
        let operand = self.call(operator.function, operator.caret, &[left, right], height);
        self.operands.push(operand);
        Ok(())
    }

    /// Makes a balanced tree of a chain of one logical operator, as cel-go does.
    fn join_logical(&mut self, base: usize, operator: Binary) {
        let is_same = |other: &&Operator| matches!(other, Operator::Binary(other) if other.precedence == operator.precedence);
        let count = self.operators[base..].iter().rev().take_while(is_same).count();
        let terms = self.operands.split_off(self.operands.len() - count - 1);
        let chain = self.operators.split_off(self.operators.len() - count);
        let operand = self.balance(&terms, &chain, operator.function);
        self.operands.push(operand);
    }

    /// Recursion here is as deep as the logarithm of the chain's length.
    fn balance(&mut self, terms: &[Operand], chain: &[Operator], function: &'static str) -> Operand {
        if chain.is_empty() {
            return terms[0];
        }
        let middle = chain.len() / 2;
        let left = self.balance(&terms[..=middle], &chain[..middle], function);
        let right = self.balance(&terms[middle + 1..], &chain[middle + 1..], function);
        let caret = match chain[middle] {
            Operator::Binary(Binary { caret, .. }) => caret,
            Operator::Then { question, .. } | Operator::Else { question, .. } => question.span.start,
        };
        self.call(function, caret, &[left, right], left.height.max(right.height))
    }

    /// Makes nodes of the conditionals around the last operand, which is the innermost else branch.
    fn finish(&mut self, base: usize) -> Parsed<Operand> {
        let mut operand = self.pop_operand();
        while self.operators.len() > base {
            match self.operators.pop() {
                Some(Operator::Else { condition, then, question }) => {
                    let height = self.raise(condition.height.max(then.height).max(operand.height))?;
                    operand = self.call(
                        operators::CONDITIONAL,
                        question.span.start,
                        &[condition, then, operand],
                        height,
                    );
                }
                Some(Operator::Then { question, .. }) => {
                    let what =
                        format!("an operator or the `:` that belongs to {}", self.name_opening(question));
                    let token = self.peek();
                    let help = "a conditional has three parts: condition ? value : other value";
                    return Err(self.expected(&what, token, Some(help.to_owned())));
                }
                Some(Operator::Binary(_)) | None => break,
            }
        }
        Ok(operand)
    }

    /// A call of an operator, which has operands.
    pub(super) fn call(&mut self, function: &str, caret: u32, args: &[Operand], height: u32) -> Operand {
        let (mut span, mut first) = (Span { start: caret, end: caret + 1 }, self.builder.next_id());
        let mut ids = Vec::with_capacity(args.len());
        for arg in args {
            span = span.to(arg.span);
            first = first.min(arg.first);
            ids.push(arg.id);
        }
        let id = self.builder.call(Place { span, caret }, function, ids);
        Operand { id, first, span, height }
    }

    fn pop_operand(&mut self) -> Operand {
        match self.operands.pop() {
            Some(operand) => operand,
            // There is one operand more than operators whenever this is called; a null literal keeps the function total.
            None => {
                let span = self.peek().span;
                let id = self.refused(span, "Syntax error: expected an operand".to_owned(), None);
                Operand { id, first: id, span, height: 0 }
            }
        }
    }
}
