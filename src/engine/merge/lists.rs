//! The order of two merged lists: structured-merge-diff's (`typed/merge.go`, `visitListItems`).

use std::collections::{HashMap, HashSet};

use super::items::Key;

/// Where an item of the merged list comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Live(usize),
    /// An item of the patch that the live list does not have, or has more than once.
    Patch(usize),
    /// An item of both.
    Both {
        live: usize,
        patch: usize,
    },
}

/// The items of the merged list. Live items that the patch does not have keep their places, those that it has come in its order,
/// and its own come where they stand between these. `patch` has no key twice.
pub(super) fn order(live: &[Key], patch: &[Key]) -> Vec<Source> {
    // `None`: there are several.
    let mut in_live: HashMap<&str, Option<usize>> = HashMap::with_capacity(live.len());
    for (index, key) in live.iter().enumerate() {
        in_live.entry(key).and_modify(|first| *first = None).or_insert(Some(index));
    }
    let in_patch: HashSet<&str> = patch.iter().map(String::as_str).collect();
    let mut shared = patch.iter().filter(|key| in_live.contains_key(key.as_str()));
    let mut next_shared = shared.next();
    let merged = |at: usize| match in_live.get(patch[at].as_str()).copied().flatten() {
        Some(live) => Source::Both { live, patch: at },
        None => Source::Patch(at),
    };
    let mut done: HashSet<&str> = HashSet::with_capacity(patch.len());
    let mut out = Vec::with_capacity(live.len().max(patch.len()));
    let (mut l, mut p) = (0, 0);
    while l < live.len() || p < patch.len() {
        if let (Some(left), Some(right)) = (live.get(l), patch.get(p)) {
            if left == right {
                done.insert(right);
                out.push(merged(p));
                l += 1;
                p += 1;
                next_shared = shared.next();
                continue;
            }
            if in_patch.contains(left.as_str()) && next_shared.is_some_and(|next| next != left) {
                // Its turn comes with the patch.
                l += 1;
                continue;
            }
        }
        if let Some(left) = live.get(l) {
            if !in_patch.contains(left.as_str()) {
                out.push(Source::Live(l));
                l += 1;
                continue;
            }
            if done.contains(left.as_str()) {
                l += 1;
            }
        }
        if let Some(right) = patch.get(p) {
            done.insert(right);
            out.push(merged(p));
            p += 1;
            if next_shared == Some(right) {
                next_shared = shared.next();
            }
        }
    }
    out
}

/// Whether all live items are in the merged list, in their order: then it comes of insertions alone.
pub(super) fn is_insertion(order: &[Source], live: usize) -> bool {
    let mut kept = order.iter().filter_map(|source| match source {
        Source::Live(live) | Source::Both { live, .. } => Some(*live),
        Source::Patch(_) => None,
    });
    (0..live).all(|index| kept.next() == Some(index)) && kept.next().is_none()
}
