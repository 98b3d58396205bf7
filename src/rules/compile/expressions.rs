//! The expressions of one rule: what each may name, what it must give.

use std::collections::HashMap;

use usher_cel::Issues;
use usher_cel::ast::{Ast, Expr, Span};
use usher_cel::check::Type;
use usher_cel::compile::{compile_ast, compile_estimated};
use usher_cel::library::RegexBudget;
use usher_cel::parse::parse_for;
use usher_cel::{Env, KubernetesVersion, Program};

use super::cost;
use crate::diagnostic::{Code, Diagnostic, SourceText};
use crate::engine::{Expression, slots};
use crate::rules::guards::{Necessary, necessary};

/// The variables of a rule and what else its expressions may name.
#[derive(Debug)]
pub(crate) struct Scope {
    dialect: Dialect,
    version: KubernetesVersion,
    has_params: bool,
    /// Compiled so far, in order.
    variables: Vec<KnownVariable>,
    /// Of all variables of the rule, for what is read too early.
    all_names: Vec<Box<str>>,
    necessary: HashMap<Box<str>, Necessary>,
    regexes: RegexBudget,
    typed: Option<Typed>,
}

/// Types that Kubernetes' type checker gives to what is `dyn` otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    /// Of `object` and `oldObject`.
    pub(crate) object: Type,
    pub(crate) params: Type,
    /// How a variable's type is known to what reads it.
    pub(crate) variable: fn(&Type) -> Type,
}

#[derive(Debug)]
struct KnownVariable {
    name: Box<str>,
    ty: Type,
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
    /// What is allowed but may fail.
    pub(crate) warning: Option<Diagnostic>,
}

/// Why an expression did not compile.
#[derive(Debug)]
pub(crate) struct Rejected {
    /// At least one.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// As Kubernetes words it, for answers of a policy that is used all the same; of syntax and type errors empty in a RoutingRule, which
    /// is not used.
    pub(crate) text: String,
}

impl Typed {
    fn of(&self, slot: u32) -> Option<Type> {
        match slot {
            slots::OBJECT | slots::OLD_OBJECT | slots::REQUEST_OBJECT | slots::REQUEST_OLD_OBJECT => {
                Some(self.object.clone())
            }
            slots::PARAMS => Some(self.params.clone()),
            _ => None,
        }
    }
}

impl Scope {
    pub(crate) fn new<'n>(
        dialect: Dialect,
        version: KubernetesVersion,
        has_params: bool,
        names: impl Iterator<Item = &'n str>,
    ) -> Self {
        let all_names = names.map(Box::from).collect();
        let (variables, necessary) = (Vec::new(), HashMap::new());
        let regexes = RegexBudget::default();
        Self { dialect, version, has_params, variables, all_names, necessary, regexes, typed: None }
    }

    /// For checking only: as the type checker of Kubernetes does, results may be of any type, and a variable that is not sound is of type `dyn`.
    pub(crate) fn with_types(mut self, typed: Typed) -> Self {
        self.typed = Some(typed);
        self
    }

    /// Compiles the next variable. One that is not sound still counts, so that only what is wrong with itself is reported.
    pub(crate) fn add_variable(
        &mut self,
        name: &str,
        source: &str,
        field: &str,
    ) -> Result<(Expression, Option<Diagnostic>), Rejected> {
        let result = self.compile(source, field, Use::Variable);
        let (ty, broken) = match &result {
            Ok(checked) => {
                let ty = checked.expression.program().result_type();
                (self.typed.as_ref().map_or_else(|| ty.clone(), |typed| (typed.variable)(ty)), None)
            }
            Err(_) if self.typed.is_some() => (Type::Dyn, None),
            Err(rejected) => (Type::Dyn, Some(rejected.text.clone())),
        };
        self.variables.push(KnownVariable { name: name.into(), ty, broken });
        result.map(|checked| {
            self.necessary.insert(name.into(), checked.necessary);
            (checked.expression, checked.warning)
        })
    }

    /// Compiles an expression that stands in `field`.
    pub(crate) fn compile(&self, source: &str, field: &str, place: Use) -> Result<Checked, Rejected> {
        let ast = parse_for(source, self.version).map_err(|issues| {
            let finding = |issue: &usher_cel::Issue| Finding {
                span: issue.span,
                caret: issue.caret,
                code: Code::CelSyntax,
                message: issue.message.clone(),
                help: issue.help.clone(),
            };
            self.rejected(source, field, issues.0.iter().map(finding).collect())
        })?;
        let own = self.unknown_variables(&ast, field, place);
        let env = self.env(place);
        let compiled = if cost::can_be_high(&ast) {
            let estimated = compile_estimated(&ast, &env, &cost::USUAL_SIZE);
            estimated.map(|(program, estimate)| (program, Some(estimate)))
        } else {
            compile_ast(&ast, &env).map(|program| (program, None))
        };
        let (program, estimate) = match compiled {
            Ok(compiled) if own.is_empty() => compiled,
            Ok(_) => return Err(self.rejected(source, field, own)),
            Err(issues) => {
                // What was said about `variables.x` need not be said again about `variables`.
                let told = |span: Span| {
                    own.iter()
                        .any(|finding| finding.span.start <= span.start && span.start < finding.span.end)
                };
                let rest = issues.0.iter().filter(|issue| !told(issue.span)).map(|issue| {
                    let help = self
                        .field_help(issue, source)
                        .or_else(|| issue.help.clone())
                        .or_else(|| self.absent_name_help(&issue.message, place));
                    let (span, caret, message) = (issue.span, issue.caret, issue.message.clone());
                    Finding { span, caret, code: Code::CelInvalid, message, help }
                });
                let findings = rest.chain(own.iter().cloned()).collect();
                return Err(self.rejected(source, field, findings));
            }
        };
        self.check_broken(&program, source, field)?;
        if self.typed.is_none() {
            check_type(&program, source, field, place)?;
        }
        let necessary = necessary(&ast, &self.necessary);
        let warning = estimate.and_then(|estimate| cost::warning(&ast, &estimate, field));
        Ok(Checked { expression: Expression::new(program), necessary, warning })
    }

    /// The names of the environment. A name that may not be read keeps its slot under a name that cannot be written.
    fn env(&self, place: Use) -> Env {
        let mut env = Env::new().with_regex_budget(self.regexes.clone()).for_version(self.version);
        for (slot, name) in (0_u32..).zip(slots::NAMES) {
            let readable = match slot {
                slots::PARAMS => self.has_params,
                slots::REQUEST_OBJECT | slots::REQUEST_OLD_OBJECT => self.dialect == Dialect::RoutingRule,
                slots::AUTHORIZER | slots::AUTHORIZER_REQUEST_RESOURCE => place != Use::Message,
                slots::NAMESPACE_OBJECT => place != Use::MatchCondition || self.dialect == Dialect::Policy,
                _ => true,
            };
            if readable {
                let ty = match self.typed.as_ref().and_then(|typed| typed.of(slot)) {
                    Some(ty) => ty,
                    None if slot == slots::REQUEST && self.dialect == Dialect::Policy => {
                        slots::policy_request_type()
                    }
                    None => slots::type_of(slot),
                };
                env.declare_typed(name, ty);
            } else {
                env.declare(&format!("(not readable here: {name})"));
            }
        }
        if place != Use::MatchCondition {
            for variable in &self.variables {
                env.declare_typed(&format!("variables.{}", variable.name), variable.ty.clone());
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

    /// What is known about fields that `request` only seems to have.
    fn field_help(&self, issue: &usher_cel::Issue, source: &str) -> Option<String> {
        let field = issue.message.strip_prefix("undefined field '")?.strip_suffix('\'')?;
        let of_request = issue.span.text(source).trim_start_matches('.').starts_with("request.");
        match field {
            "object" | "oldObject" if of_request && self.dialect == Dialect::Policy => {
                Some(format!("in a policy of Kubernetes it is called `{field}`"))
            }
            "uid" if of_request => Some("the uid of a review is no input of a rule".to_owned()),
            _ => None,
        }
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
            let (caret, message) = (node.caret, format!("undefined field '{name}'"));
            findings.push(Finding { span, caret, code, message, help });
        }
        findings
    }

    /// Everything that is wrong with one expression, as diagnostics and as Kubernetes prints it.
    fn rejected(&self, source: &str, field: &str, mut findings: Vec<Finding>) -> Rejected {
        findings.sort_by_key(|finding| finding.span.start);
        let text = match self.dialect {
            Dialect::Policy => {
                let issues = findings.iter().map(Finding::issue).collect();
                format!("compilation failed: {}", Issues::new(source, issues))
            }
            Dialect::RoutingRule => String::new(),
        };
        let source = SourceText::new("", source);
        let diagnostics = findings.into_iter().map(|finding| finding.diagnostic(&source, field)).collect();
        Rejected { diagnostics, text }
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
#[derive(Clone)]
struct Finding {
    span: Span,
    /// See [`usher_cel::Issue::caret`].
    caret: u32,
    code: Code,
    message: String,
    help: Option<String>,
}

impl Finding {
    fn issue(&self) -> usher_cel::Issue {
        let Self { span, caret, .. } = *self;
        usher_cel::Issue { span, caret, message: self.message.clone(), help: self.help.clone() }
    }

    fn diagnostic(self, source: &SourceText, field: &str) -> Diagnostic {
        let span = self.span.start as usize..self.span.end as usize;
        let mut diagnostic = Diagnostic::error(self.code, self.message).at(field).within_source(source, span);
        diagnostic.help = self.help;
        diagnostic
    }
}

/// Kubernetes' check of the result: exactly the type that the place wants (apiserver `pkg/admission/plugin/cel/compile.go`).
fn check_type(program: &Program, source: &str, field: &str, place: Use) -> Result<(), Rejected> {
    let ty = program.result_type();
    let (fits, wanted, help) = match place {
        Use::Variable => return Ok(()),
        Use::MatchCondition | Use::Predicate => {
            let help = "compare it with something, as in `… == true`, or test it with has()";
            (*ty == Type::Bool, "must evaluate to bool", help)
        }
        Use::Message => (*ty == Type::String, "must evaluate to string", "wrap it in string()"),
        Use::AuditAnnotation => (
            matches!(ty, Type::String | Type::Null),
            "must evaluate to one of [string null_type]",
            "wrap it in string()",
        ),
        Use::JsonPatch => (
            matches!(ty, Type::List(item) if matches!(&**item, Type::Object(object) if object.name() == "JSONPatch")),
            "must evaluate to list(JSONPatch)",
            "write a list: [JSONPatch{op: 'add', path: '/…', value: …}]",
        ),
        Use::ApplyConfiguration => (
            matches!(ty, Type::Object(object) if object.name() == "Object"),
            "must evaluate to Object",
            "write the fields to be merged: Object{metadata: Object.metadata{…}}",
        ),
    };
    if fits {
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
