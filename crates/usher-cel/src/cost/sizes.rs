//! What is known from outside about the sizes of values. cel-go `checker.CostEstimator.EstimateSize`.

use super::range::SizeEstimate;
use crate::check::Type;

/// Sizes that a declaration states: by a schema, or by what a request can hold at all.
pub trait Sizes {
    /// The size of a value that the expression itself does not tell; `None` when nothing is known. `path` is where it stands below a
    /// variable, `None` for what is computed.
    fn size(&self, path: Option<Path<'_>>, ty: &Type) -> Option<SizeEstimate>;

    /// The most that a number can ask for which is none of the expression's literals: elements of `lists.range`, levels of `flatten`.
    /// [`u64::MAX`] in Kubernetes.
    fn most(&self) -> u64 {
        u64::MAX
    }
}

/// Nothing is known: what Kubernetes' estimates of a ValidatingAdmissionPolicy would be made with.
#[derive(Clone, Copy, Debug)]
pub struct Unknown;

impl Sizes for Unknown {
    fn size(&self, _path: Option<Path<'_>>, _ty: &Type) -> Option<SizeEstimate> {
        None
    }
}

/// No value is larger than this.
#[derive(Clone, Copy, Debug)]
pub struct AtMost(pub u64);

impl Sizes for AtMost {
    fn size(&self, _path: Option<Path<'_>>, ty: &Type) -> Option<SizeEstimate> {
        (!is_scalar(ty)).then_some(SizeEstimate { min: 0, max: self.0 })
    }

    fn most(&self) -> u64 {
        self.0
    }
}

/// Whether every value of the type has size 1 (cel-go `isScalar`).
pub(super) fn is_scalar(ty: &Type) -> bool {
    match ty {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Optional(held) => is_scalar(held),
        _ => false,
    }
}

/// The way from a variable to a value: the variable's name, then names of fields, and `@items`, `@indices`, `@keys`, `@values` for what a list
/// or map holds.
#[derive(Clone, Copy, Debug)]
pub struct Path<'p> {
    paths: &'p Paths,
    last: PathId,
}

impl<'p> Path<'p> {
    /// The segments, the variable first.
    pub fn segments(self) -> Vec<&'p str> {
        let mut segments = Vec::new();
        let mut next = Some(self.last);
        while let Some(PathId(id)) = next {
            let segment = &self.paths.0[id as usize];
            segments.push(&*segment.name);
            next = segment.before;
        }
        segments.reverse();
        segments
    }
}

/// Every path of an expression, sharing their beginnings: those of `a.b.c.…` would otherwise take the square of its length.
#[derive(Debug, Default)]
pub(super) struct Paths(Vec<Segment>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathId(u32);

#[derive(Debug)]
struct Segment {
    before: Option<PathId>,
    name: Box<str>,
}

impl Paths {
    pub(super) fn variable(&mut self, name: &str) -> PathId {
        let mut names = name.trim_start_matches('.').split('.');
        let first = self.push(None, names.next().unwrap_or_default());
        names.fold(first, |before, name| self.below(before, name))
    }

    pub(super) fn below(&mut self, before: PathId, name: &str) -> PathId {
        self.push(Some(before), name)
    }

    pub(super) fn get(&self, last: PathId) -> Path<'_> {
        Path { paths: self, last }
    }

    fn push(&mut self, before: Option<PathId>, name: &str) -> PathId {
        let id = PathId(u32::try_from(self.0.len()).unwrap_or(u32::MAX));
        self.0.push(Segment { before, name: name.into() });
        id
    }
}
