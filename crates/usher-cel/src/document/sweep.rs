//! Checking a value without looking at its tokens one by one.
//!
//! The loop over tokens spends most of its time on branches that no processor foresees: what comes next, and how long it is. Here a block
//! of 64 bytes is judged by the same few dozen operations whatever it holds. In JSON without white space every byte outside of strings is a
//! token or part of a number or literal, so the grammar is about neighbours: which byte may stand behind which. What is not
//! about neighbours is left to loops: brackets, which need a stack, escapes, numbers and literals.
//!
//! Whatever this does not know to be right, be it white space or an error, is left to the loop over tokens, which knows what to say.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};

use super::MAX_DEPTH;
use super::blocks::{BLOCK, InStrings, Marks, Strings};
use super::lex::{Lexer, escape};

/// The offset behind the list or object that begins at `at`, `outside` levels deep in others, if it is known to be right.
pub(super) fn behind_checked(text: &str, at: usize, outside: usize) -> Option<usize> {
    // What a word of levels may add must stay below the limit.
    if outside + BLOCK > MAX_DEPTH {
        return None;
    }
    dispatch!(Level::new(), simd => by_blocks(simd, text, at))
}

#[inline(always)]
fn by_blocks<S: Simd>(simd: S, text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut sweep = Sweep {
        text,
        levels: NO_LEVEL,
        strings: Strings::default(),
        // As if the value stood behind a colon.
        before: Last { before_start: u64::MAX, ..Last::default() },
    };
    let mut base = at;
    while let Some(rest) = bytes.get(base..).filter(|rest| !rest.is_empty()) {
        match sweep.block(&Marks::of(simd, rest), base)? {
            Some(end) => return Some(end),
            None => base += BLOCK,
        }
    }
    None
}

/// See [`Sweep::levels`].
const NO_LEVEL: u64 = 1;

struct Sweep<'b> {
    text: &'b str,
    /// Which of the open lists and objects are objects: a bit each, the innermost lowest, above them a 1 that marks their end.
    levels: u64,
    strings: Strings,
    before: Last,
}

/// Marks of the block before, of which the last byte matters.
#[derive(Default)]
struct Last {
    /// Behind which a value or key may stand: opening brackets, colons and commas.
    before_start: u64,
    /// Behind which a key must stand, or nothing: curly brackets that open, and commas between members.
    before_key: u64,
    /// Last bytes of values: closing brackets, closing quotes, and every byte of numbers and literals.
    value_ends: u64,
    opens: u64,
    scalars: u64,
    key_ends: u64,
    /// Whether the string around the end of the block is a key.
    in_key: bool,
}

/// What a block's brackets say.
struct Brackets {
    /// Commas of objects.
    member_commas: u64,
    /// The bytes of the block that belong to the value.
    value: u64,
    /// Behind the value's own closing bracket.
    end: Option<usize>,
}

impl Sweep<'_> {
    /// `None`: not known to be right. `Some(None)`: right so far.
    #[inline(always)]
    fn block(&mut self, marks: &Marks, base: usize) -> Option<Option<usize>> {
        let InStrings { inside, quotes, escapes } = self.strings.of(marks);
        let outside = !inside;
        let (opens, closes) = (marks.opens & outside, marks.closes & outside);
        let (colons, commas) = (marks.colons & outside, marks.commas & outside);
        let Brackets { member_commas, value, end } =
            self.brackets(opens, closes, marks.curly, commas, base)?;

        let (string_starts, string_ends) = (quotes & inside, quotes & outside);
        let scalars = outside & !(string_ends | opens | closes | colons | commas);
        let before = &self.before;
        let behind = |bits: u64, before: u64| bits << 1 | before >> (BLOCK - 1);
        let scalar_starts = scalars & !behind(scalars, before.scalars);
        let value_ends = closes | string_ends | scalars;
        let before_start = opens | colons | commas;
        let before_key = opens & marks.curly | member_commas;

        let keys = behind(before_key, before.before_key);
        let key_starts = string_starts & keys;
        // A bit added to the start of a string's run of ones clears the run and comes out behind it, at the closing quote.
        let (run_over, in_key) = inside.overflowing_add(key_starts | u64::from(before.in_key));
        let key_ends = run_over & string_ends;

        let starts = opens | string_starts | scalar_starts;
        let behind_value = behind(value_ends, before.value_ends);
        let wrong = starts & !behind(before_start, before.before_start)
            | (opens | scalar_starts) & keys
            | colons ^ behind(key_ends, before.key_ends)
            | commas & !behind_value
            | closes & !(behind_value | behind(opens, before.opens));
        if wrong & value != 0 || marks.has_controls && has_controls(self.text, base, end) {
            return None;
        }
        self::escapes(self.text, escapes & value, base)?;
        self::scalars(self.text, scalar_starts & value, base)?;

        self.before = Last { before_start, before_key, value_ends, opens, scalars, key_ends, in_key };
        Some(end)
    }

    /// Opens and closes levels. `None` for a bracket of the wrong kind, or more levels than a word has bits.
    ///
    /// But for the end of the value nothing here branches on what a bracket is, which no processor foresees.
    #[inline(always)]
    fn brackets(
        &mut self,
        opens: u64,
        closes: u64,
        curly: u64,
        commas: u64,
        base: usize,
    ) -> Option<Brackets> {
        if self.levels.leading_zeros() < opens.count_ones() {
            return None;
        }
        // Brackets with nothing between them change nothing, as half of those of `managedFields`. (The value itself may be such a pair.)
        let empty = opens & closes >> 1 & !(curly ^ curly >> 1) & !u64::from(self.levels == NO_LEVEL);
        let mut left = (opens | closes) & !(empty | empty << 1);
        let mut levels = self.levels;
        let (mut member_commas, mut wrong, mut seen) = (0, 0, 0);
        while left != 0 {
            let place = left.trailing_zeros();
            let so_far = left ^ (left - 1);
            left &= left - 1;
            let in_object = levels & 1;
            member_commas |= commas & so_far & !seen & 0_u64.wrapping_sub(in_object);
            seen = so_far;
            let (is_open, is_curly) = (opens >> place & 1, curly >> place & 1);
            wrong |= (is_open ^ 1) & (in_object ^ is_curly);
            levels = if is_open == 1 { levels << 1 | is_curly } else { levels >> 1 };
            if levels == NO_LEVEL {
                let end = base + place as usize + 1;
                return (wrong == 0).then_some(Brackets { member_commas, value: seen, end: Some(end) });
            }
        }
        member_commas |= commas & !seen & 0_u64.wrapping_sub(levels & 1);
        self.levels = levels;
        (wrong == 0).then_some(Brackets { member_commas, value: u64::MAX, end: None })
    }
}

/// Whether a control character is in the value, and not only behind it.
#[cold]
fn has_controls(text: &str, base: usize, end: Option<usize>) -> bool {
    let of_value = end.and_then(|end| text.as_bytes().get(base..end));
    of_value.is_none_or(|bytes| bytes.iter().any(|byte| *byte < 0x20))
}

/// Whether these escapes are escapes.
#[inline(always)]
fn escapes(text: &str, mut escapes: u64, base: usize) -> Option<()> {
    while escapes != 0 {
        escape(text, base + escapes.trailing_zeros() as usize + 1).ok()?;
        escapes &= escapes - 1;
    }
    Some(())
}

/// Whether these are starts of numbers and literals.
#[inline(always)]
fn scalars(text: &str, mut starts: u64, base: usize) -> Option<()> {
    while starts != 0 {
        scalar(text, base + starts.trailing_zeros() as usize)?;
        starts &= starts - 1;
    }
    Some(())
}

/// A number or literal that ends where it must.
fn scalar(text: &str, at: usize) -> Option<()> {
    let mut lexer = Lexer::starting_at(text, at);
    match lexer.peek() {
        b'-' | b'0'..=b'9' => lexer.number().map(|_| ()),
        b't' => lexer.literal("true"),
        b'f' => lexer.literal("false"),
        b'n' => lexer.literal("null"),
        _ => return None,
    }
    .ok()?;
    matches!(text.as_bytes().get(lexer.offset()), Some(b',' | b']' | b'}')).then_some(())
}

#[cfg(test)]
mod tests;
