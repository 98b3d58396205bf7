//! A text 64 bytes at a time: which bytes are what, a bit each, the first byte lowest.

use fearless_simd::prelude::*;
use fearless_simd::u8x64;

pub(super) const BLOCK: usize = u64::BITS as usize;

/// The bytes of one block that JSON cares about, wherever they stand.
pub(super) struct Marks {
    pub(super) quotes: u64,
    pub(super) backslashes: u64,
    pub(super) has_controls: bool,
    pub(super) opens: u64,
    pub(super) closes: u64,
    /// Tells curly brackets from square ones; says nothing about other bytes.
    pub(super) curly: u64,
    pub(super) colons: u64,
    pub(super) commas: u64,
}

impl Marks {
    /// Of the first block of `rest`; what is missing at the end counts as white space.
    #[inline(always)]
    pub(super) fn of<S: Simd>(simd: S, rest: &[u8]) -> Self {
        match rest.first_chunk::<BLOCK>() {
            Some(block) => Self::of_block(simd, block),
            None => {
                let mut block = [b' '; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                Self::of_block(simd, &block)
            }
        }
    }

    #[inline(always)]
    fn of_block<S: Simd>(simd: S, block: &[u8; BLOCK]) -> Self {
        let bytes = u8x64::load_array(simd, *block);
        let is = |byte: u8| bytes.simd_eq(byte).to_bitmask();
        // Square brackets differ from curly ones by this bit; no other byte becomes one of them.
        let curled = bytes | (b'{' ^ b'[');
        Self {
            quotes: is(b'"'),
            backslashes: is(b'\\'),
            has_controls: bytes.simd_lt(b' ').any_true(),
            opens: curled.simd_eq(b'{').to_bitmask(),
            closes: curled.simd_eq(b'}').to_bitmask(),
            curly: bytes.simd_ge(b'{').to_bitmask(),
            colons: is(b':'),
            commas: is(b','),
        }
    }
}

/// Follows strings from block to block.
#[derive(Default)]
pub(super) struct Strings {
    /// All ones if the block begins inside a string.
    open: u64,
    /// 1 if the block's first byte is escaped.
    escaped: u64,
}

/// The strings of one block.
pub(super) struct InStrings {
    /// From the opening quote to the last character.
    pub(super) inside: u64,
    /// The quotes around strings.
    pub(super) quotes: u64,
    /// The backslashes that begin an escape.
    pub(super) escapes: u64,
}

impl Strings {
    #[inline(always)]
    pub(super) fn of(&mut self, marks: &Marks) -> InStrings {
        let mut escaped = self.escaped;
        let mut escapes = 0;
        let mut backslashes = marks.backslashes & !escaped;
        self.escaped = 0;
        while backslashes != 0 {
            let backslash = backslashes & backslashes.wrapping_neg();
            escapes |= backslash;
            escaped |= backslash << 1;
            self.escaped = backslash >> (BLOCK - 1);
            backslashes &= !(backslash | backslash << 1);
        }
        let quotes = marks.quotes & !escaped;
        // Each bit becomes the parity of the quotes up to it.
        let mut inside = quotes;
        for distance in [1, 2, 4, 8, 16, 32] {
            inside ^= inside << distance;
        }
        inside ^= self.open;
        self.open = 0_u64.wrapping_sub(inside >> (BLOCK - 1));
        InStrings { inside, quotes, escapes }
    }
}
