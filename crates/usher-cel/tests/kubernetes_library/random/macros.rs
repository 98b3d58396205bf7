//! What has a syntax of its own: macros, presence, optional selections and entries, `format`.

use usher_cel::library::Ty;

use super::generate::Generator;
use super::kind::{BOOL, DYN, INT, Kind, STRING};
use super::tree::Tree;

/// Names of fields, some of which the object has.
const FIELDS: &[&str] = &["a", "b", "i", "s", "l", "m", "n", "missing"];

/// Formats with as many clauses as arguments are drawn for.
const FORMATS: &[&[&str]] = &[
    &["''", "'a%%'"],
    &["'%s'", "'%d'", "'%f'", "'%.3f'", "'%e'", "'%x'", "'%X'", "'%o'", "'%b'", "'é%s.'"],
    &["'%s %s'", "'%d-%s'", "'%s%%%d'", "'%.1f%s'", "'%x%b'"],
];

impl Generator {
    /// Presence tests, optional selections and literals, `format`; a leaf for types that have none of these.
    pub(super) fn special(&mut self, wanted: &Kind, depth: usize) -> Tree {
        match wanted {
            Kind::Plain(Ty::Bool) => {
                let field = *self.pick(FIELDS);
                let operand = self.container(depth);
                Tree::new(&format!("has($.{field})"), vec![operand])
            }
            Kind::Plain(Ty::String) => {
                let count = self.below(FORMATS.len());
                let format = *self.pick(FORMATS[count]);
                let kids: Vec<Tree> = (0..count)
                    .map(|_| {
                        let kind = self.kind(1);
                        self.of(&kind, depth)
                    })
                    .collect();
                Tree::new(&format!("{format}.format([{}])", vec!["$"; count].join(", ")), kids)
            }
            Kind::Plain(Ty::Dyn) => {
                let field = *self.pick(FIELDS);
                let operand = self.container(depth);
                let step = *self.pick(&["$.FIELD", "$['FIELD']"]);
                Tree::new(&step.replace("FIELD", field), vec![operand])
            }
            Kind::Optional(inner) if **inner == DYN || self.below(3) == 0 => {
                let field = *self.pick(FIELDS);
                let operand = self.container(depth);
                let step =
                    *self.pick(&["$.?FIELD", "$[?'FIELD']", "$.?FIELD.a", "$.?a.?FIELD", "$.?FIELD[0]"]);
                Tree::new(&step.replace("FIELD", field), vec![operand])
            }
            Kind::Optional(inner) => {
                let kids = vec![self.of(&Kind::List(inner.clone()), depth), self.of(&INT, depth)];
                Tree::new("$[?$]", kids)
            }
            Kind::List(inner) => {
                let optional = Kind::Optional(inner.clone());
                let kids = vec![self.of(inner, depth), self.of(&optional, depth)];
                let template = *self.pick(&["[$, ?$]", "[?$, ?$]"]);
                Tree::new(template, kids)
            }
            Kind::Map(key, value) => {
                let optional = Kind::Optional(value.clone());
                let kids = vec![self.of(key, depth), self.of(&optional, depth)];
                Tree::new("{?$: $}", kids)
            }
            Kind::Plain(_) => self.leaf(wanted),
        }
    }

    /// Something that fields are selected from.
    fn container(&mut self, depth: usize) -> Tree {
        match self.below(4) {
            0 => {
                let value = self.kind(1);
                self.of(&Kind::Map(Box::new(STRING), Box::new(value)), depth)
            }
            1 => Tree::leaf("object"),
            2 => Tree::leaf("object.m"),
            _ => self.of(&DYN, depth),
        }
    }

    pub(super) fn of_macro(&mut self, wanted: &Kind, depth: usize) -> Tree {
        let item = self.kind(1);
        match wanted {
            Kind::Plain(Ty::Bool) => match self.below(3) {
                0 => {
                    let function = *self.pick(&["all", "exists", "existsOne"]);
                    self.two_variables(function, item, &[&BOOL], depth)
                }
                _ => {
                    let function = *self.pick(&["all", "exists", "exists_one"]);
                    self.one_variable(function, item, &[&BOOL], depth)
                }
            },
            Kind::List(inner) => match self.below(6) {
                0 => self.one_variable("filter", (**inner).clone(), &[&BOOL], depth),
                1 => {
                    let key = self.pick(&[INT, STRING, BOOL]).clone();
                    self.one_variable("sortBy", (**inner).clone(), &[&key], depth)
                }
                2 => self.one_variable("map", item, &[&BOOL, inner], depth),
                3 => self.two_variables("transformList", item, &[inner], depth),
                4 => self.two_variables("transformList", item, &[&BOOL, inner], depth),
                _ => self.one_variable("map", item, &[inner], depth),
            },
            Kind::Map(key, value) => match self.below(4) {
                0 => self.two_variables("transformMap", item, &[&BOOL, value], depth),
                1 => {
                    let entry = Kind::Map(key.clone(), value.clone());
                    self.two_variables("transformMapEntry", item, &[&entry], depth)
                }
                2 => {
                    let entry = Kind::Map(key.clone(), value.clone());
                    self.two_variables("transformMapEntry", item, &[&BOOL, &entry], depth)
                }
                _ => self.two_variables("transformMap", item, &[value], depth),
            },
            Kind::Optional(inner) => {
                let range = self.of(&Kind::Optional(Box::new(item.clone())), depth);
                let name = format!("x{}", self.scope.len());
                let (function, body) =
                    if self.below(2) == 0 { ("optMap", &**inner) } else { ("optFlatMap", wanted) };
                self.scope.push((name.clone(), item));
                let body = self.of(body, depth);
                self.scope.pop();
                Tree::new(&format!("$.{function}({name}, $)"), vec![range, body])
            }
            Kind::Plain(_) => self.any_call(wanted, depth),
        }
    }

    fn one_variable(&mut self, function: &str, item: Kind, bodies: &[&Kind], depth: usize) -> Tree {
        let name = format!("x{}", self.scope.len());
        let range = self.of(&Kind::List(Box::new(item.clone())), depth);
        self.fold(function, range, vec![(name, item)], bodies, depth)
    }

    /// Over a map, or over a list with its indexes.
    fn two_variables(&mut self, function: &str, item: Kind, bodies: &[&Kind], depth: usize) -> Tree {
        let names = [format!("x{}", self.scope.len()), format!("y{}", self.scope.len())];
        let (range, first) = if self.below(2) == 0 {
            (Kind::Map(Box::new(STRING), Box::new(item.clone())), STRING)
        } else {
            (Kind::List(Box::new(item.clone())), INT)
        };
        let range = self.of(&range, depth);
        let [key, value] = names;
        self.fold(function, range, vec![(key, first), (value, item)], bodies, depth)
    }

    fn fold(
        &mut self,
        function: &str,
        range: Tree,
        variables: Vec<(String, Kind)>,
        bodies: &[&Kind],
        depth: usize,
    ) -> Tree {
        let names: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
        let outer = self.scope.len();
        self.scope.extend(variables);
        let mut kids = vec![range];
        for body in bodies {
            kids.push(self.of(body, depth));
        }
        self.scope.truncate(outer);
        let holes = vec!["$"; bodies.len()].join(", ");
        Tree::new(&format!("$.{function}({}, {holes})", names.join(", ")), kids)
    }
}
