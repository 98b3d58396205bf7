//! The expressions of one rule: what each may name, what it must give.

use std::collections::HashMap;

use usher_cel::Issues;
use usher_cel::ast::{Ast, Expr, Span};
use usher_cel::compile::compile_ast;
use usher_cel::library::Ty;
use usher_cel::parse::parse;
use usher_cel::{Env, Program};

use super::fields;
use crate::diagnostic::{Code, Diagnostic};
use crate::engine::{Expression, slots};
use crate::rules::guards::{Necessary, necessary};

/// The variables of a rule and what else its expressions may name.
#[derive(Debug)]
pub(crate) struct Scope {
    dialect: Dialect,
    has_params: bool,
    /// Compiled so far, in order.
    variables: Vec<KnownVariable>,
    /// Of all variables of the rule, for what is read too early.
    all_names: Vec<Box<str>>,
    necessary: HashMap<Box<str>, Necessary>,
}

#[derive(Debug)]
struct KnownVariable {
    name: Box<str>,
    ty: Ty,
    /// Why it could not be compiled.
    broken: Option<String>,
}

/// What kind of object the expressions stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// With Usher's additions.
    RoutingRule,
    /// Kubernetes' policies, to the letter.
    Policy,
}

/// Where an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    MatchCondition,
    Variable,
    Predicate,
    Message,
    AuditAnnotation,
    JsonPatch,
    ApplyConfiguration,
}

/// A compiled expression with what is known about it.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) expression: Expression,
    pub(crate) necessary: Necessary,
}

/// Why an expression did not compile.
#[derive(Debug)]
pub(crate) struct Rejected {
    /// At least one.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// As Kubernetes words it, for answers of a policy that is used all the same.
    pub(crate) text: String,
}

impl Scope {
    pub(crate) fn new<'n>(dialect: Dialect, has_params: bool, names: impl Iterator<Item = &'n str>) -> Self {
        let all_names = names.map(Box::from).collect();
        Self { dialect, has_params, variables: Vec::new(), all_names, necessary: HashMap::new() }
    }

    /// Compiles the next variable. One that is not sound still counts, so that only what is wrong with itself is reported.
    pub(crate) fn add_variable(
        &mut self,
        name: &str,
        source: &str,
        field: &str,
    ) -> Result<Expression, Rejected> {
        let result = self.compile(source, field, Use::Variable);
        let (ty, broken) = match &result {
            Ok(checked) => (checked.expression.program().result_type(), None),
            Err(rejected) => (Ty::Dyn, Some(rejected.text.clone())),
        };
        self.variables.push(KnownVariable { name: name.into(), ty, broken });
        result.map(|checked| {
            self.necessary.insert(name.into(), checked.necessary);
            checked.expression
        })
    }

    /// Compiles an expression that stands in `field`.
    pub(crate) fn compile(&self, source: &str, field: &str, place: Use) -> Result<Checked, Rejected> {
        let ast = parse(source).map_err(|issues| rejected(&issues, field, Code::CelSyntax))?;
        let mut own = self.unknown_variables(&ast, field, place);
        if !shadows(&ast, "request") {
            own.extend(
                fields::unknown(&ast, self.dialect).into_iter().map(|(span, message, help)| Finding {
                    span,
                    code: Code::CelInvalid,
                    message,
                    help,
                }),
            );
        }
        let program = match compile_ast(&ast, &self.env(place)) {
            Ok(program) if own.is_empty() => program,
            Ok(_) => return Err(own_findings(source, field, own, Vec::new())),
            Err(issues) => {
                // What was said about `variables.x` need not be said again about `variables`.
                let told = |span: Span| {
                    own.iter()
                        .any(|finding| finding.span.start <= span.start && span.start < finding.span.end)
                };
                let rest = issues.0.iter().filter(|issue| !told(issue.span)).map(|issue| {
                    let help = issue.help.clone().or_else(|| self.absent_name_help(&issue.message, place));
                    Finding { span: issue.span, code: Code::CelInvalid, message: issue.message.clone(), help }
                });
                let rest = rest.collect();
                return Err(own_findings(source, field, own, rest));
            }
        };
        self.check_broken(&program, source, field)?;
        check_type(&program, source, field, place)?;
        let necessary = necessary(&ast, &self.necessary);
        Ok(Checked { expression: Expression::new(program), necessary })
    }

    /// The names of the environment. A name that may not be read keeps its slot under a name that cannot be written.
    fn env(&self, place: Use) -> Env {
        let mut env = Env::new();
        for (slot, name) in (0_u32..).zip(slots::NAMES) {
            let readable = match slot {
                slots::PARAMS => self.has_params,
                slots::REQUEST_OBJECT | slots::REQUEST_OLD_OBJECT => self.dialect == Dialect::RoutingRule,
                slots::AUTHORIZER | slots::AUTHORIZER_REQUEST_RESOURCE => place != Use::Message,
                slots::NAMESPACE_OBJECT => place != Use::MatchCondition || self.dialect == Dialect::Policy,
                _ => true,
            };
            if readable {
                env.declare(name);
            } else {
                env.declare(&format!("(not readable here: {name})"));
            }
        }
        if place != Use::MatchCondition {
            for variable in &self.variables {
                env.declare_typed(&format!("variables.{}", variable.name), variable.ty);
            }
        }
        if matches!(place, Use::JsonPatch | Use::ApplyConfiguration) {
            env.with_mutation_types()
        } else {
            env
        }
    }

    /// Why a name that exists elsewhere is not declared here.
    fn absent_name_help(&self, message: &str, place: Use) -> Option<String> {
        let name = message.strip_prefix("undeclared reference to '")?.split('\'').next()?;
        let help = match name {
            "params" if !self.has_params && self.dialect == Dialect::RoutingRule => {
                "name the parameter objects in spec.params to read them"
            }
            "params" if !self.has_params => {
                "name the kind of the parameter objects in spec.paramKind to read them"
            }
            "authorizer" if place == Use::Message => {
                "messages are made without authorizer; ask it in the predicate"
            }
            "namespaceObject" if place == Use::MatchCondition => {
                "match conditions are evaluated without namespaceObject; use match.namespaceSelector or a predicate"
            }
            "variables" if place == Use::MatchCondition => {
                "match conditions come before variables; write the expression out"
            }
            "JSONPatch" | "Object" => "only jsonPatch and applyConfiguration expressions can make these",
            _ => return None,
        };
        Some(help.to_owned())
    }

    /// `variables.x` without such a variable, or before it.
    fn unknown_variables(&self, ast: &Ast, field: &str, place: Use) -> Vec<Finding> {
        if place == Use::MatchCondition || shadows(ast, "variables") {
            return Vec::new();
        }
        let mut findings = Vec::new();
        for node in ast.nodes() {
            let Expr::Select { operand, field: name, .. } = &node.expr else { continue };
            if !matches!(ast.expr(*operand), Expr::Ident(root) if matches!(&**root, "variables" | ".variables"))
            {
                continue;
            }
            if self.variables.iter().any(|known| known.name == *name) {
                continue;
            }
            let later = self.all_names.iter().skip(self.variables.len()).any(|known| known == name);
            let (code, help) = if later && field.ends_with(".expression") && place == Use::Variable {
                let this = self.all_names.get(self.variables.len()).is_some_and(|own| own == name);
                let help = if this {
                    "a variable cannot read itself".to_owned()
                } else {
                    format!("`{name}` is declared after this variable; move it up")
                };
                (Code::VariableOrder, Some(help))
            } else {
                let known = self.variables.iter().map(|known| &*known.name);
                let help = match usher_cel::compile::nearest(name, known) {
                    Some(near) => format!("did you mean `variables.{near}`?"),
                    None if self.variables.is_empty() => "the rule has no variables before this".to_owned(),
                    None => {
                        let names: Vec<&str> = self.variables.iter().map(|known| &*known.name).collect();
                        format!("the variables are {}", names.join(", "))
                    }
                };
                (Code::UnknownVariable, Some(help))
            };
            // cel-go's text for a field that an object type does not have.
            let span = ast.span(*operand).to(node.span);
            findings.push(Finding { span, code, message: format!("undefined field '{name}'"), help });
        }
        findings
    }

    /// A policy's expression that reads a variable which is broken is broken as well.
    fn check_broken(&self, program: &Program, source: &str, field: &str) -> Result<(), Rejected> {
        for (slot, variable) in (slots::FIRST_VARIABLE..).zip(&self.variables) {
            if let Some(text) = &variable.broken
                && program.reads().touches(slot)
            {
                let text = format!("composited variable {:?} fails to compile: {text}", variable.name);
                let message = format!("variables.{} does not compile", variable.name);
                let diagnostic = Diagnostic::error(Code::CelInvalid, message).at(field);
                return Err(Rejected { diagnostics: vec![diagnostic.within(source, 0..source.len())], text });
            }
        }
        Ok(())
    }
}

/// One finding inside an expression.
struct Finding {
    span: Span,
    code: Code,
    message: String,
    help: Option<String>,
}

impl Finding {
    fn diagnostic(self, source: &str, field: &str) -> Diagnostic {
        let span = self.span.start as usize..self.span.end as usize;
        let mut diagnostic = Diagnostic::error(self.code, self.message).at(field).within(source, span);
        diagnostic.help = self.help;
        diagnostic
    }
}

fn rejected(issues: &Issues, field: &str, code: Code) -> Rejected {
    let source = issues.source();
    let finding = |issue: &usher_cel::Issue| Finding {
        span: issue.span,
        code,
        message: issue.message.clone(),
        help: issue.help.clone(),
    };
    Rejected {
        diagnostics: issues.0.iter().map(|issue| finding(issue).diagnostic(source, field)).collect(),
        text: format!("compilation failed: {issues}"),
    }
}

/// Everything that is wrong with one expression, as diagnostics and as Kubernetes prints it.
fn own_findings(source: &str, field: &str, own: Vec<Finding>, rest: Vec<Finding>) -> Rejected {
    let mut findings: Vec<Finding> = own.into_iter().chain(rest).collect();
    findings.sort_by_key(|finding| finding.span.start);
    let issues = findings
        .iter()
        .map(|finding| usher_cel::Issue {
            span: finding.span,
            message: finding.message.clone(),
            help: finding.help.clone(),
        })
        .collect();
    let text = format!("compilation failed: {}", Issues::new(source, issues));
    let diagnostics = findings.into_iter().map(|finding| finding.diagnostic(source, field)).collect();
    Rejected { diagnostics, text }
}

/// Kubernetes' check of the result (apiserver `cel/compile.go`), as far as the type is known without a schema.
fn check_type(program: &Program, source: &str, field: &str, place: Use) -> Result<(), Rejected> {
    let ty = program.result_type();
    let unknown = matches!(ty, Ty::Dyn | Ty::Param(_));
    let (fits, wanted, help) = match place {
        Use::Variable => return Ok(()),
        Use::MatchCondition | Use::Predicate => {
            (ty == Ty::Bool, "must evaluate to bool", "compare it with something, or test it with has()")
        }
        Use::Message => (ty == Ty::String, "must evaluate to string", "wrap it in string()"),
        Use::AuditAnnotation => (
            matches!(ty, Ty::String | Ty::Null),
            "must evaluate to one of [string null_type]",
            "wrap it in string()",
        ),
        Use::JsonPatch => (
            matches!(ty, Ty::List(_)),
            "must evaluate to list(JSONPatch)",
            "write a list: [JSONPatch{op: 'add', path: '/…', value: …}]",
        ),
        Use::ApplyConfiguration => (
            ty == Ty::Opaque("Object"),
            "must evaluate to Object",
            "write the fields to be merged: Object{metadata: Object.metadata{…}}",
        ),
    };
    if unknown || fits {
        return Ok(());
    }
    let message = format!("{wanted} but got {ty}");
    let text = message.clone();
    let diagnostic =
        Diagnostic::error(Code::CelResultType, message).at(field).within(source, 0..source.len());
    Err(Rejected { diagnostics: vec![diagnostic.help(help)], text })
}

/// Whether a comprehension of the expression has a variable of this name.
fn shadows(ast: &Ast, name: &str) -> bool {
    ast.nodes().iter().any(|node| match &node.expr {
        Expr::Comprehension(fold) => {
            *fold.iter_var == *name || fold.iter_var2.as_deref() == Some(name) || *fold.accu_var == *name
        }
        _ => false,
    })
}
