//! How large the automaton of an expression becomes, before it is built.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Bytes of one state.
const STATE: usize = 32;

/// Bytes that the states of an expression take, about.
pub(super) fn of_automaton(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => STATE,
        HirKind::Literal(literal) => literal.0.len().saturating_mul(STATE),
        HirKind::Class(Class::Unicode(class)) => {
            let ranges = class.ranges().iter();
            ranges.fold(STATE, |sum, range| sum + of_range(range.start().len_utf8(), range.end().len_utf8()))
        }
        HirKind::Class(Class::Bytes(class)) => STATE + class.ranges().len().saturating_mul(STATE / 2),
        HirKind::Repetition(repetition) => {
            let copies = repetition.max.unwrap_or(repetition.min).max(1) as usize;
            (of_automaton(&repetition.sub) + STATE).saturating_mul(copies)
        }
        HirKind::Capture(capture) => of_automaton(&capture.sub).saturating_add(2 * STATE),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().fold(STATE, |sum, part| sum.saturating_add(of_automaton(part) + STATE))
        }
    }
}

/// A range of characters that take so many bytes in UTF-8.
fn of_range(first: usize, last: usize) -> usize {
    if first == last {
        // Neighbours share the states of their first bytes.
        return first * 2 * STATE / 3;
    }
    // All of the characters of two, three and four bytes are that many chains of states.
    (first..=last).map(|bytes| [0, 1, 2, 6, 12].get(bytes).copied().unwrap_or_default() * 3 * STATE / 2).sum()
}
