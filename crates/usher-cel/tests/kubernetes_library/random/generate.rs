//! Expressions drawn from the declarations of every library, of the operators and the macros; most of them are well typed.

use usher_cel::library::{Form, Overload, Ty, overloads};

use super::kind::{Bindings, Kind};
use super::tree::Tree;

/// Left, operator, right, result; `A` and `B` are parameters.
const OPERATORS: &[(Ty, &str, Ty, Ty)] = {
    const A: Ty = Ty::Param("A");
    const LIST: Ty = Ty::List(&A);
    &[
        (Ty::Bool, "&&", Ty::Bool, Ty::Bool),
        (Ty::Bool, "||", Ty::Bool, Ty::Bool),
        (A, "==", A, Ty::Bool),
        (A, "!=", A, Ty::Bool),
        (A, "in", LIST, Ty::Bool),
        (A, "in", Ty::Map(&A, &Ty::Param("B")), Ty::Bool),
        (Ty::Int, "<", Ty::Double, Ty::Bool),
        (Ty::Uint, ">=", Ty::Int, Ty::Bool),
        (Ty::String, "<=", Ty::String, Ty::Bool),
        (Ty::Bytes, ">", Ty::Bytes, Ty::Bool),
        (Ty::Timestamp, "<", Ty::Timestamp, Ty::Bool),
        (Ty::Duration, "<", Ty::Duration, Ty::Bool),
        (Ty::Bool, "<", Ty::Bool, Ty::Bool),
        (Ty::Int, "+", Ty::Int, Ty::Int),
        (Ty::Int, "-", Ty::Int, Ty::Int),
        (Ty::Int, "*", Ty::Int, Ty::Int),
        (Ty::Int, "/", Ty::Int, Ty::Int),
        (Ty::Int, "%", Ty::Int, Ty::Int),
        (Ty::Uint, "+", Ty::Uint, Ty::Uint),
        (Ty::Uint, "-", Ty::Uint, Ty::Uint),
        (Ty::Uint, "*", Ty::Uint, Ty::Uint),
        (Ty::Uint, "%", Ty::Uint, Ty::Uint),
        (Ty::Double, "+", Ty::Double, Ty::Double),
        (Ty::Double, "/", Ty::Double, Ty::Double),
        (Ty::String, "+", Ty::String, Ty::String),
        (Ty::Bytes, "+", Ty::Bytes, Ty::Bytes),
        (LIST, "+", LIST, LIST),
        (Ty::Duration, "+", Ty::Duration, Ty::Duration),
        (Ty::Timestamp, "+", Ty::Duration, Ty::Timestamp),
        (Ty::Timestamp, "-", Ty::Timestamp, Ty::Duration),
        (Ty::Duration, "-", Ty::Duration, Ty::Duration),
    ]
};

/// Without what only macros can call.
fn callable() -> impl Iterator<Item = &'static Overload> {
    overloads().filter(|overload| !overload.name.contains('@'))
}

/// A generator of the same expressions for the same seed.
pub(crate) struct Generator {
    state: u64,
    /// Variables of the comprehensions around the place that is being filled.
    scope: Vec<(String, Kind)>,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, scope: Vec::new() }
    }

    /// SplitMix64.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap_or_default()
    }

    pub(crate) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    /// An expression of any type.
    pub(crate) fn expression(&mut self) -> Tree {
        self.scope.clear();
        if self.below(3) == 0 {
            let all: Vec<&Overload> = callable().collect();
            let overload = *self.pick(&all);
            return self.call(overload, &mut Bindings::default(), 2);
        }
        let (kind, depth) = (self.kind(2), 1 + self.below(4));
        self.of(&kind, depth)
    }

    fn kind(&mut self, depth: usize) -> Kind {
        match self.below(if depth == 0 { 8 } else { 15 }) {
            0 | 8 => Kind::Bool,
            1 | 9 => Kind::Int,
            2 => Kind::String,
            3 => Kind::Double,
            4 => Kind::Uint,
            5 => Kind::Bytes,
            6 => Kind::Duration,
            7 => Kind::Timestamp,
            10 | 11 => Kind::List(Box::new(self.kind(depth - 1))),
            12 => Kind::Map(Box::new(Kind::String), Box::new(self.kind(depth - 1))),
            13 => Kind::Optional(Box::new(self.kind(depth - 1))),
            _ => Kind::Dyn,
        }
    }

    fn of(&mut self, wanted: &Kind, depth: usize) -> Tree {
        // One place in forty is of another type than wanted.
        let other = (self.below(40) == 0).then(|| self.kind(1));
        let wanted = other.as_ref().unwrap_or(wanted);
        if depth == 0 {
            return self.leaf(wanted);
        }
        let depth = depth - 1;
        match self.below(12) {
            0 => self.leaf(wanted),
            1 => {
                let kids = vec![self.of(&Kind::Bool, depth), self.of(wanted, depth), self.of(wanted, depth)];
                Tree::new("($ ? $ : $)", kids)
            }
            2 => {
                let list = Kind::List(Box::new(wanted.clone()));
                let kids = vec![self.of(&list, depth), self.of(&Kind::Int, depth)];
                Tree::new("$[$]", kids)
            }
            3 => {
                let optional = Kind::Optional(Box::new(wanted.clone()));
                let kids = vec![self.of(&optional, depth), self.of(wanted, depth)];
                Tree::new("$.orValue($)", kids)
            }
            4 | 5 => self.of_macro(wanted, depth),
            6 | 7 => self.operation(wanted, depth),
            _ => self.any_call(wanted, depth),
        }
    }

    fn any_call(&mut self, wanted: &Kind, depth: usize) -> Tree {
        let fitting: Vec<(&Overload, Bindings)> = callable()
            .filter_map(|overload| {
                let mut bindings = Bindings::default();
                bindings.unify(overload.result, wanted).then_some((overload, bindings))
            })
            .collect();
        if fitting.is_empty() {
            return self.leaf(wanted);
        }
        let (overload, mut bindings) = self.pick(&fitting).clone();
        self.call(overload, &mut bindings, depth)
    }

    fn call(&mut self, overload: &Overload, bindings: &mut Bindings, depth: usize) -> Tree {
        let args: Vec<Tree> = overload
            .params
            .iter()
            .map(|param| {
                let kind = bindings.resolve(*param, &mut || self.kind(1));
                self.of(&kind, depth)
            })
            .collect();
        let holes = vec!["$"; args.len() - usize::from(overload.form == Form::Member && !args.is_empty())];
        let receiver = if overload.form == Form::Member { "$." } else { "" };
        Tree::new(&format!("{receiver}{}({})", overload.name, holes.join(", ")), args)
    }

    fn operation(&mut self, wanted: &Kind, depth: usize) -> Tree {
        let fitting: Vec<_> = OPERATORS
            .iter()
            .filter_map(|operator| {
                let mut bindings = Bindings::default();
                bindings.unify(operator.3, wanted).then_some((operator, bindings))
            })
            .collect();
        if fitting.is_empty() {
            return self.leaf(wanted);
        }
        let (operator, mut bindings) = self.pick(&fitting).clone();
        if *wanted == Kind::Bool && self.below(8) == 0 {
            return Tree::new("!$", vec![self.of(&Kind::Bool, depth)]);
        }
        let kids = [operator.0, operator.2].map(|ty| {
            let kind = bindings.resolve(ty, &mut || self.kind(1));
            self.of(&kind, depth)
        });
        Tree::new(&format!("($ {} $)", operator.1), kids.into())
    }

    fn of_macro(&mut self, wanted: &Kind, depth: usize) -> Tree {
        let item = self.kind(1);
        let name = format!("x{}", self.scope.len());
        match wanted {
            Kind::Bool if self.below(3) == 0 => {
                let range = Kind::Map(Box::new(Kind::String), Box::new(item.clone()));
                let range = self.of(&range, depth);
                let second = format!("y{}", self.scope.len());
                self.scope.extend([(name.clone(), Kind::String), (second.clone(), item)]);
                let body = self.of(&Kind::Bool, depth);
                self.scope.truncate(self.scope.len() - 2);
                let function = *self.pick(&["all", "exists", "existsOne"]);
                Tree::new(&format!("$.{function}({name}, {second}, $)"), vec![range, body])
            }
            Kind::Bool => {
                let function = *self.pick(&["all", "exists", "exists_one"]);
                self.one_variable(function, &name, item, &Kind::Bool, depth)
            }
            Kind::List(inner) => match self.below(3) {
                0 => self.one_variable("filter", &name, (**inner).clone(), &Kind::Bool, depth),
                1 => {
                    let key = self.pick(&[Kind::Int, Kind::String, Kind::Bool]).clone();
                    self.one_variable("sortBy", &name, (**inner).clone(), &key, depth)
                }
                _ => self.one_variable("map", &name, item, inner, depth),
            },
            Kind::Map(key, value) if **key == Kind::String => {
                let range = Kind::Map(Box::new(Kind::String), Box::new(item.clone()));
                let range = self.of(&range, depth);
                self.scope.extend([("k".into(), Kind::String), ("v".into(), item)]);
                let body = self.of(value, depth);
                self.scope.truncate(self.scope.len() - 2);
                Tree::new("$.transformMap(k, v, $)", vec![range, body])
            }
            Kind::Optional(inner) => {
                let range = self.of(&Kind::Optional(Box::new(item.clone())), depth);
                self.scope.push((name.clone(), item));
                let body = self.of(inner, depth);
                self.scope.pop();
                Tree::new(&format!("$.optMap({name}, $)"), vec![range, body])
            }
            _ => self.any_call(wanted, depth),
        }
    }

    fn one_variable(&mut self, function: &str, name: &str, item: Kind, body: &Kind, depth: usize) -> Tree {
        let range = self.of(&Kind::List(Box::new(item.clone())), depth);
        self.scope.push((name.to_owned(), item));
        let body = self.of(body, depth);
        self.scope.pop();
        Tree::new(&format!("$.{function}({name}, $)"), vec![range, body])
    }

    fn leaf(&mut self, wanted: &Kind) -> Tree {
        let known: Vec<String> =
            self.scope.iter().filter(|(_, kind)| kind == wanted).map(|(name, _)| name.clone()).collect();
        if !known.is_empty() && self.below(2) == 0 {
            return Tree::leaf(self.pick(&known).clone());
        }
        match wanted {
            Kind::List(inner) => {
                let kids: Vec<Tree> = (0..self.below(4)).map(|_| self.leaf(inner)).collect();
                Tree::new(&format!("[{}]", vec!["$"; kids.len()].join(", ")), kids)
            }
            Kind::Map(key, value) => {
                let mut kids = Vec::new();
                for _ in 0..self.below(3) {
                    kids.extend([self.leaf(key), self.leaf(value)]);
                }
                Tree::new(&format!("{{{}}}", vec!["$: $"; kids.len() / 2].join(", ")), kids)
            }
            Kind::Optional(inner) => match self.below(3) {
                0 => Tree::leaf("optional.none()"),
                1 => Tree::new("optional.ofNonZeroValue($)", vec![self.leaf(inner)]),
                _ => Tree::new("optional.of($)", vec![self.leaf(inner)]),
            },
            other => Tree::leaf(*self.pick(other.literals())),
        }
    }
}
