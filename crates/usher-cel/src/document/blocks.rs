//! A text 64 bytes at a time: which bytes are what, a bit each, the first byte lowest.

use wide::u8x16;

pub(super) const BLOCK: usize = u64::BITS as usize;

/// The bytes of one block that JSON cares about, wherever they stand.
#[derive(Default)]
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
    pub(super) fn of(rest: &[u8]) -> Self {
        match rest.first_chunk::<BLOCK>() {
            Some(block) => Self::of_block(block),
            None => {
                let mut block = [b' '; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                Self::of_block(&block)
            }
        }
    }

    #[inline(always)]
    fn of_block(block: &[u8; BLOCK]) -> Self {
        let (quarters, _) = block.as_chunks::<16>();
        let mut least = u8x16::new([u8::MAX; 16]);
        let marks = quarters.iter().rev().fold(Self::default(), |marks, quarter| {
            let quarter = u8x16::new(*quarter);
            least = least.min(quarter);
            let with = |bits: u64, mask: u8x16| bits << 16 | u64::from(mask.to_bitmask());
            let is = |byte| quarter.simd_eq(u8x16::new([byte; 16]));
            // Square brackets differ from curly ones by this bit; no other byte becomes one of them.
            let curled = quarter | u8x16::new([b'{' ^ b'['; 16]);
            Self {
                quotes: with(marks.quotes, is(b'"')),
                backslashes: with(marks.backslashes, is(b'\\')),
                has_controls: false,
                opens: with(marks.opens, curled.simd_eq(u8x16::new([b'{'; 16]))),
                closes: with(marks.closes, curled.simd_eq(u8x16::new([b'}'; 16]))),
                // Lifts `{` and what is above it to where the mask looks, the highest bit.
                curly: with(marks.curly, quarter + u8x16::new([0x80 - b'{'; 16])),
                colons: with(marks.colons, is(b':')),
                commas: with(marks.commas, is(b',')),
            }
        });
        let controls = least.min(u8x16::new([0x1f; 16])).simd_eq(least).to_bitmask();
        Self { has_controls: controls != 0, ..marks }
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
