//! What both sides know about sizes when they estimate costs.

use usher_cel::check::Type;
use usher_cel::cost::{Path, SizeEstimate, Sizes};

/// By path: the smallest and the largest.
pub(crate) const STATED: &[(&str, [u64; 2])] = &[
    ("object", [7, 7]),
    ("object.l", [0, 3]),
    ("object.l.@items", [0, 40]),
    ("object.m", [2, 2]),
    ("object.m.@values", [1, 100]),
    ("object.m.@keys", [1, 1]),
];

pub(crate) struct Stated;

impl Sizes for Stated {
    fn size(&self, path: Option<Path<'_>>, _ty: &Type) -> Option<SizeEstimate> {
        let path = path?.segments().join(".");
        let (_, [min, max]) = *STATED.iter().find(|(known, _)| *known == path)?;
        Some(SizeEstimate { min, max })
    }
}
