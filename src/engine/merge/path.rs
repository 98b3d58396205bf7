//! Where a check is: made of its callers' frames, so that it costs nothing until there is something to tell.

use std::fmt;

/// A place in a configuration, below another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path<'p> {
    Root,
    Field(&'p Self, &'p str),
    Index(&'p Self, usize),
    /// An item by what tells it apart, brackets included.
    Key(&'p Self, &'p str),
}

/// As structured-merge-diff writes paths: `.spec.containers[name="a"]`.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut places = Vec::new();
        let mut at = self;
        while let Self::Field(parent, _) | Self::Index(parent, _) | Self::Key(parent, _) = at {
            places.push(at);
            at = parent;
        }
        places.into_iter().rev().try_for_each(|place| match place {
            Self::Root => Ok(()),
            Self::Field(_, name) => write!(f, ".{name}"),
            Self::Index(_, index) => write!(f, "[{index}]"),
            Self::Key(_, key) => f.write_str(key),
        })
    }
}
