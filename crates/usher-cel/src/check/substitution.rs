//! What is found out about unknown types, and which type may stand for which. cel-go `checker/types.go`, `checker/mapping.go`.

use super::static_type::Type;
use crate::library::Ty;

/// Unknown types by number, with what is known about each.
#[derive(Debug, Default)]
pub(super) struct Substitution {
    known: Vec<Option<Type>>,
    /// What to put back when an attempt fails.
    trail: Vec<(u32, Option<Type>)>,
}

impl Substitution {
    /// A new unknown type.
    pub(super) fn fresh(&mut self) -> Type {
        Type::Var(self.reserve(1))
    }

    /// Reserves numbers that follow each other and gives back the first.
    pub(super) fn reserve(&mut self, count: usize) -> u32 {
        let first = self.known.len();
        self.known.resize(first + count, None);
        u32::try_from(first).unwrap_or(u32::MAX)
    }

    /// Whether a value of type `a` may stand where `b` is wanted; what follows for unknown types is kept if so.
    pub(super) fn assignable(&mut self, a: &Type, b: &Type) -> bool {
        let fits = self.try_assign(a, b);
        self.settle(fits)
    }

    /// Whether arguments fit the parameters of an overload whose type parameters are `names`, numbered from `first` on.
    pub(super) fn fits(&mut self, args: &[Type], params: &[Ty], names: &[&str], first: u32) -> bool {
        let fits = args.iter().zip(params).all(|(arg, param)| self.fits_one(arg, *param, names, first));
        self.settle(fits)
    }

    /// A declared type with its parameters numbered from `first` on.
    pub(super) fn instantiate(ty: Ty, names: &[&str], first: u32) -> Type {
        let inner = |ty: &Ty| Self::instantiate(*ty, names, first);
        match ty {
            Ty::Param(name) => {
                let at = names.iter().position(|known| *known == name).unwrap_or_default();
                Type::Var(first + u32::try_from(at).unwrap_or_default())
            }
            Ty::List(item) => Type::list(inner(item)),
            Ty::Map(key, value) => Type::map(inner(key), inner(value)),
            Ty::Optional(held) => Type::optional(inner(held)),
            other => other.into(),
        }
    }

    /// The type with all that is known put in.
    pub(super) fn apply(&self, ty: &Type) -> Type {
        match ty {
            Type::Var(number) => {
                let last = self.last(*number);
                match self.get(last) {
                    Some(known) => self.apply(known),
                    None => Type::Var(last),
                }
            }
            Type::List(item) => Type::list(self.apply(item)),
            Type::Map(entry) => Type::map(self.apply(&entry.0), self.apply(&entry.1)),
            Type::Optional(held) => Type::optional(self.apply(held)),
            Type::Type(Some(named)) => Type::type_of(self.apply(named)),
            other => other.clone(),
        }
    }

    /// As [`Substitution::apply`], and what is still unknown is `dyn`.
    pub(super) fn finish(&self, ty: &Type) -> Type {
        match ty {
            Type::Var(number) => match self.get(self.last(*number)) {
                Some(known) => self.finish(known),
                None => Type::Dyn,
            },
            Type::List(item) => Type::list(self.finish(item)),
            Type::Map(entry) => Type::map(self.finish(&entry.0), self.finish(&entry.1)),
            Type::Optional(held) => Type::optional(self.finish(held)),
            Type::Type(Some(named)) => Type::type_of(self.finish(named)),
            other => other.clone(),
        }
    }

    fn settle(&mut self, keep: bool) -> bool {
        if keep {
            self.trail.clear();
        } else {
            while let Some((number, before)) = self.trail.pop() {
                self.known[number as usize] = before;
            }
        }
        keep
    }

    /// Decides most pairs by their outermost part, before anything is built.
    fn fits_one(&mut self, arg: &Type, param: Ty, names: &[&str], first: u32) -> bool {
        let same = match (arg, param) {
            (Type::Var(_) | Type::Null, _) | (_, Ty::Param(_)) => None,
            (Type::Dyn | Type::Error, _) | (_, Ty::Dyn) => Some(true),
            (Type::Bool, Ty::Bool)
            | (Type::Int, Ty::Int)
            | (Type::Uint, Ty::Uint)
            | (Type::Double, Ty::Double)
            | (Type::String, Ty::String)
            | (Type::Bytes, Ty::Bytes)
            | (Type::Timestamp, Ty::Timestamp)
            | (Type::Duration, Ty::Duration)
            | (Type::Type(_), Ty::Type) => Some(true),
            (Type::List(_), Ty::List(_))
            | (Type::Map(_), Ty::Map(..))
            | (Type::Optional(_), Ty::Optional(_))
            | (_, Ty::Null) => None,
            (Type::Opaque(a), Ty::Opaque(b)) => Some(*a == b),
            _ => Some(false),
        };
        same.unwrap_or_else(|| self.try_assign(arg, &Self::instantiate(param, names, first)))
    }

    fn try_assign(&mut self, a: &Type, b: &Type) -> bool {
        let (a, b) = (self.shortened(a), self.shortened(b));
        match (&a, &b) {
            (Type::Var(x), Type::Var(y)) if x == y => return true,
            (_, Type::Var(number)) => match self.bind(&a, *number) {
                Bound::Yes => return true,
                Bound::Otherwise => return false,
                Bound::Circular => {}
            },
            _ => {}
        }
        if let Type::Var(number) = a {
            return matches!(self.bind(&b, number), Bound::Yes);
        }
        match (&a, &b) {
            (Type::Dyn | Type::Error, _) | (_, Type::Dyn | Type::Error) => true,
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.try_assign(a, b),
            (Type::Map(a), Type::Map(b)) => self.try_assign(&a.0, &b.0) && self.try_assign(&a.1, &b.1),
            (a, b) => a == b,
        }
    }

    /// Lets the unknown type `number` be `ty`, or the more general one of `ty` and what it is.
    fn bind(&mut self, ty: &Type, number: u32) -> Bound {
        if let Some(known) = self.get(number).cloned() {
            if known == *ty {
                if let Some(blurred) = known.blurred(ty) {
                    self.set(number, blurred);
                }
                return Bound::Yes;
            }
            if !self.try_assign(ty, &known) {
                return Bound::Otherwise;
            }
            let general = most_general(ty.clone(), known);
            if !self.mentions(&general, number) {
                self.set(number, general);
            }
            return Bound::Yes;
        }
        if self.mentions(ty, number) {
            return Bound::Circular;
        }
        self.set(number, ty.clone());
        Bound::Yes
    }

    /// Whether the unknown type is part of `ty`.
    fn mentions(&self, ty: &Type, number: u32) -> bool {
        match ty {
            Type::Var(other) => {
                let last = self.last(*other);
                last == number
                    || *other == number
                    || self.get(last).is_some_and(|known| self.mentions(known, number))
            }
            Type::List(part) | Type::Optional(part) | Type::Type(Some(part)) => self.mentions(part, number),
            Type::Map(entry) => self.mentions(&entry.0, number) || self.mentions(&entry.1, number),
            _ => false,
        }
    }

    fn set(&mut self, number: u32, ty: Type) {
        if let Some(known) = self.known.get_mut(number as usize) {
            let before = known.replace(ty);
            self.trail.push((number, before));
        }
    }

    fn get(&self, number: u32) -> Option<&Type> {
        self.known.get(number as usize)?.as_ref()
    }

    /// The end of a chain of unknown types that are known to be the same.
    fn last(&self, mut number: u32) -> u32 {
        while let Some(Type::Var(next)) = self.get(number) {
            number = *next;
        }
        number
    }

    fn shortened(&self, ty: &Type) -> Type {
        match ty {
            Type::Var(number) => Type::Var(self.last(*number)),
            other => other.clone(),
        }
    }
}

enum Bound {
    Yes,
    /// It is known to be something else.
    Otherwise,
    /// It would contain itself.
    Circular,
}

/// Of two types that fit each other, the one that says less.
pub(super) fn most_general(a: Type, b: Type) -> Type {
    if !is_equal_or_less_specific(&a, &b) {
        return b;
    }
    a.blurred(&b).unwrap_or(a)
}

fn is_equal_or_less_specific(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Var(_), _) => true,
        (_, Type::Dyn | Type::Var(_)) => false,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => {
            is_equal_or_less_specific(a, b)
        }
        (Type::Map(a), Type::Map(b)) => {
            is_equal_or_less_specific(&a.0, &b.0) && is_equal_or_less_specific(&a.1, &b.1)
        }
        (Type::Type(_), Type::Type(_)) => true,
        (a, b) => a == b,
    }
}

/// Types of which `null` is a value to the checker.
fn is_nullable(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Null
            | Type::Optional(_)
            | Type::Opaque(_)
            | Type::Object(_)
            | Type::Timestamp
            | Type::Duration
            | Type::Dyn
            | Type::Error
    )
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::same(Type::Int, Type::Int, true)]
    #[case::other(Type::Int, Type::Uint, false)]
    #[case::unknown_value(Type::Dyn, Type::Int, true)]
    #[case::null_for_a_list(Type::Null, Type::list(Type::Int), false)]
    #[case::null_for_an_optional(Type::Null, Type::optional(Type::Int), true)]
    #[case::null_for_a_time(Type::Timestamp, Type::Null, true)]
    #[case::types(Type::type_of(Type::Int), Type::type_of(Type::String), true)]
    #[case::inside(Type::list(Type::Dyn), Type::list(Type::Int), true)]
    #[case::inside_other(Type::list(Type::Bool), Type::list(Type::Int), false)]
    fn assignability_is_cel_gos(#[case] a: Type, #[case] b: Type, #[case] expected: bool) {
        assert_eq!(Substitution::default().assignable(&a, &b), expected);
        assert_eq!(Substitution::default().assignable(&b, &a), expected);
    }

    #[test]
    fn an_attempt_that_fails_leaves_nothing_behind() {
        let mut found = Substitution::default();
        let unknown = found.fresh();
        let pair = Type::map(unknown.clone(), unknown.clone());
        assert!(!found.assignable(&Type::map(Type::Int, Type::String), &pair));
        assert_eq!(found.apply(&unknown), unknown);
        assert!(found.assignable(&Type::map(Type::Int, Type::Int), &pair));
        assert_eq!(found.apply(&unknown), Type::Int);
    }

    #[test]
    fn a_type_never_contains_itself() {
        let mut found = Substitution::default();
        let unknown = found.fresh();
        assert!(!found.assignable(&unknown, &Type::list(unknown.clone())));
        assert_eq!(found.finish(&unknown), Type::Dyn);
    }
}
