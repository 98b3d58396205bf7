//! Sets of requests, described by facts of the envelope.

use std::collections::BTreeSet;

use crate::engine::{Fact, Guard};

/// Values of one guard at most. Beyond that the keys would take more memory than the rule; such a rule goes without a guard.
const MAX_VALUES: usize = 1_000;

/// A condition on some facts: all of its parts must hold. Without parts it says nothing. At most one part per fact.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts(Vec<Part>);

#[derive(Clone, Debug)]
struct Part {
    fact: Fact,
    /// `None`: any value.
    values: Option<BTreeSet<Box<str>>>,
    /// Whether the part also holds when the fact is absent.
    absent: bool,
}

impl Facts {
    /// The fact is one of `values`, or absent and `absent` says that this will do.
    pub(super) fn one_of<'v>(fact: Fact, values: impl Iterator<Item = &'v str>, absent: bool) -> Self {
        // An empty text is how a request says that it has no such fact; there is no key for it.
        let values: BTreeSet<Box<str>> = values.filter(|value| !value.is_empty()).map(Box::from).collect();
        if values.len() > MAX_VALUES {
            return Self::default();
        }
        Self(vec![Part { fact, values: Some(values), absent }])
    }

    /// The fact is there.
    pub(super) fn present(fact: Fact) -> Self {
        Self(vec![Part { fact, values: None, absent: false }])
    }

    /// Both must hold.
    pub(super) fn and(&mut self, other: Self) {
        for part in other.0 {
            match self.0.iter_mut().find(|known| known.fact == part.fact) {
                Some(known) => known.and(part),
                None => self.0.push(part),
            }
        }
    }

    /// One of them must hold: what is left is what both have something to say about.
    pub(super) fn or(&mut self, mut other: Self) {
        self.0.retain_mut(|known| {
            let Some(at) = other.0.iter().position(|part| part.fact == known.fact) else { return false };
            known.or(other.0.swap_remove(at))
        });
    }

    pub(super) fn into_guards(self) -> Vec<Guard> {
        let guard = |part: Part| {
            let values = part.values?.into_iter().collect();
            Some(Guard { fact: part.fact, values, or_absent: part.absent })
        };
        self.0.into_iter().filter_map(guard).collect()
    }
}

impl Part {
    fn and(&mut self, other: Self) {
        self.absent &= other.absent;
        self.values = match (self.values.take(), other.values) {
            (Some(mut mine), Some(theirs)) => {
                mine.retain(|value| theirs.contains(value));
                Some(mine)
            }
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// Whether the part still says something.
    fn or(&mut self, other: Self) -> bool {
        self.absent |= other.absent;
        match (&mut self.values, other.values) {
            (Some(mine), Some(mut theirs)) => {
                // Long chains of `||` grow by one: move the smaller set.
                if theirs.len() > mine.len() {
                    std::mem::swap(mine, &mut theirs);
                }
                mine.extend(theirs);
                mine.len() <= MAX_VALUES
            }
            _ => {
                self.values = None;
                !self.absent
            }
        }
    }
}
