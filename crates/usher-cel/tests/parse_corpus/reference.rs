//! The parser of the crate `cel`, with the macros that Kubernetes has. The crate lacks those of two variables; they are added
//! here from cel-go's `ext/comprehensions.go`.

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr};
use cel::parser::{Macro, MacroExprHelper};
use cel::{Env, ParseError, extensions};

pub(crate) struct Reference {
    env: Env,
}

impl Reference {
    pub(crate) fn new() -> Self {
        let mut env = Env::stdlib();
        env.add_extension(extensions::lists).expect("the extension is added once");
        for (name, arities, kind) in [
            ("all", &[3][..], Kind::All),
            ("exists", &[3], Kind::Exists),
            ("exists_one", &[3], Kind::ExistsOne),
            ("existsOne", &[3], Kind::ExistsOne),
            ("transformList", &[3, 4], Kind::TransformList),
            ("transformMap", &[3, 4], Kind::TransformMap),
            ("transformMapEntry", &[3, 4], Kind::TransformMapEntry),
        ] {
            for arity in arities {
                let expander =
                    move |helper: &mut MacroExprHelper<'_>, target: &mut Option<_>, args: &mut Vec<_>| {
                        let target = target.take().expect("a macro on a receiver");
                        two_variables(kind, &mut Maker(helper), target, std::mem::take(args)).map(Some)
                    };
                env.add_macro(Macro::receiver(name, *arity, expander)).expect("the crate lacks it");
            }
        }
        Self { env }
    }

    pub(crate) fn parse(&self, expression: &str) -> Result<IdedExpr, String> {
        self.env
            .parser()
            .enable_ident_escape_syntax(true)
            .parse(expression)
            .map_err(|errors| errors.to_string())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    All,
    Exists,
    ExistsOne,
    TransformList,
    TransformMap,
    TransformMapEntry,
}

struct Maker<'h, 'm>(&'h mut MacroExprHelper<'m>);

impl Maker<'_, '_> {
    fn literal(&mut self, value: LiteralValue) -> IdedExpr {
        self.0.next_expr(Expr::Literal(value))
    }

    fn ident(&mut self, name: &str) -> IdedExpr {
        self.0.next_expr(Expr::Ident(name.to_owned()))
    }

    fn accumulator(&mut self) -> IdedExpr {
        self.ident("@result")
    }

    fn call(&mut self, function: &str, args: Vec<IdedExpr>) -> IdedExpr {
        self.0.next_expr(Expr::Call(CallExpr { func_name: function.to_owned(), target: None, args }))
    }
}

fn two_variables(
    kind: Kind,
    make: &mut Maker<'_, '_>,
    range: IdedExpr,
    mut args: Vec<IdedExpr>,
) -> Result<IdedExpr, ParseError> {
    let last = args.pop().expect("three or four arguments");
    let filter = (args.len() == 3).then(|| args.pop().expect("there are three"));
    let mut names = Vec::new();
    for arg in &args {
        match &arg.expr {
            Expr::Ident(name) if !names.contains(name) && name != "__result__" => names.push(name.clone()),
            _ => return Err(make.0.new_error(arg.id, "not a variable")),
        }
    }
    let accu = make.accumulator();
    let step = match kind {
        Kind::All => make.call("_&&_", vec![accu, last]),
        Kind::Exists => make.call("_||_", vec![accu, last]),
        Kind::ExistsOne => {
            let one = make.literal(LiteralValue::Int(1.into()));
            let (more, same) = (make.call("_+_", vec![accu, one]), make.accumulator());
            make.call("_?_:_", vec![last, more, same])
        }
        Kind::TransformList => {
            let item =
                make.0.next_expr(Expr::List(ListExpr { elements: vec![last], optional_indices: Vec::new() }));
            make.call("_+_", vec![accu, item])
        }
        Kind::TransformMap => {
            let key = make.ident(&names[0]);
            make.call("cel.@mapInsert", vec![accu, key, last])
        }
        Kind::TransformMapEntry => make.call("cel.@mapInsert", vec![accu, last]),
    };
    let step = match filter {
        Some(filter) => {
            let same = make.accumulator();
            make.call("_?_:_", vec![filter, step, same])
        }
        None => step,
    };
    let init = match kind {
        Kind::All => make.literal(LiteralValue::Boolean(true.into())),
        Kind::Exists => make.literal(LiteralValue::Boolean(false.into())),
        Kind::ExistsOne => make.literal(LiteralValue::Int(0.into())),
        Kind::TransformList => make.0.next_expr(Expr::List(ListExpr::default())),
        Kind::TransformMap | Kind::TransformMapEntry => make.0.next_expr(Expr::Map(MapExpr::default())),
    };
    let condition = match kind {
        Kind::All => {
            let accu = make.accumulator();
            make.call("@not_strictly_false", vec![accu])
        }
        Kind::Exists => {
            let accu = make.accumulator();
            let not = make.call("!_", vec![accu]);
            make.call("@not_strictly_false", vec![not])
        }
        _ => make.literal(LiteralValue::Boolean(true.into())),
    };
    let mut result = make.accumulator();
    if kind == Kind::ExistsOne {
        let one = make.literal(LiteralValue::Int(1.into()));
        result = make.call("_==_", vec![result, one]);
    }
    Ok(make.0.next_expr(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: range,
        iter_var: names[0].clone(),
        iter_var2: Some(names[1].clone()),
        accu_var: "@result".to_owned(),
        accu_init: init,
        loop_cond: condition,
        loop_step: step,
        result,
    }))))
}
