//! Expressions drawn from the declarations of every library, of the operators and the macros; most of them are well typed.

use usher_cel::library::{Form, Overload, Ty, overloads};

use super::kind::{BOOL, Bindings, DYN, INT, Kind, STRING};
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
    pub(super) scope: Vec<(String, Kind)>,
    ill_typed: bool,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, scope: Vec::new(), ill_typed: false }
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
        self.ill_typed = self.below(8) == 0;
        if self.below(3) == 0 {
            let all: Vec<&Overload> = callable().collect();
            let overload = *self.pick(&all);
            return self.call(overload, &mut Bindings::default(), 2);
        }
        let (kind, depth) = (self.kind(2), 1 + self.below(4));
        self.of(&kind, depth)
    }

    pub(super) fn kind(&mut self, depth: usize) -> Kind {
        const PLAIN: &[Ty] =
            &[Ty::Bool, Ty::Int, Ty::String, Ty::Double, Ty::Uint, Ty::Bytes, Ty::Duration, Ty::Timestamp];
        match self.below(if depth == 0 { 8 } else { 15 }) {
            plain if plain < PLAIN.len() => Kind::Plain(PLAIN[plain]),
            8 => BOOL,
            9 => INT,
            10 | 11 => Kind::List(Box::new(self.kind(depth - 1))),
            12 => Kind::Map(Box::new(STRING), Box::new(self.kind(depth - 1))),
            13 => Kind::Optional(Box::new(self.kind(depth - 1))),
            _ => DYN,
        }
    }

    pub(super) fn of(&mut self, wanted: &Kind, depth: usize) -> Tree {
        // One place in forty is of another type than wanted; in one expression of eight, one in six.
        let other = (self.below(if self.ill_typed { 6 } else { 40 }) == 0).then(|| self.kind(1));
        let wanted = other.as_ref().unwrap_or(wanted);
        if depth == 0 {
            return self.leaf(wanted);
        }
        let depth = depth - 1;
        match self.below(14) {
            0 => self.leaf(wanted),
            1 => {
                let kids = vec![self.of(&BOOL, depth), self.of(wanted, depth), self.of(wanted, depth)];
                Tree::new("($ ? $ : $)", kids)
            }
            2 => self.index(wanted, depth),
            3 => {
                let optional = Kind::Optional(Box::new(wanted.clone()));
                let kids = vec![self.of(&optional, depth), self.of(wanted, depth)];
                Tree::new("$.orValue($)", kids)
            }
            4 | 5 => self.of_macro(wanted, depth),
            6 | 7 => self.operation(wanted, depth),
            8 | 9 => self.special(wanted, depth),
            _ => self.any_call(wanted, depth),
        }
    }

    fn index(&mut self, wanted: &Kind, depth: usize) -> Tree {
        if self.below(3) == 0 {
            let map = Kind::Map(Box::new(STRING), Box::new(wanted.clone()));
            let kids = vec![self.of(&map, depth), self.of(&STRING, depth)];
            return Tree::new("$[$]", kids);
        }
        let list = Kind::List(Box::new(wanted.clone()));
        let kids = vec![self.of(&list, depth), self.of(&INT, depth)];
        Tree::new("$[$]", kids)
    }

    pub(super) fn any_call(&mut self, wanted: &Kind, depth: usize) -> Tree {
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
        if *wanted == BOOL && self.below(8) == 0 {
            return Tree::new("!$", vec![self.of(&BOOL, depth)]);
        }
        let kids = [operator.0, operator.2].map(|ty| {
            let kind = bindings.resolve(ty, &mut || self.kind(1));
            self.of(&kind, depth)
        });
        Tree::new(&format!("($ {} $)", operator.1), kids.into())
    }

    pub(super) fn leaf(&mut self, wanted: &Kind) -> Tree {
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
            plain @ Kind::Plain(_) => Tree::leaf(*self.pick(plain.literals())),
        }
    }
}
