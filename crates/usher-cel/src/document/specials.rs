//! Where strings stop being plain.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};

/// The quotes, backslashes and control characters of one block of a text, a bit each.
///
/// A reader keeps the block that it is in, so that finding the end of a string is a shift and a count of zeros. Looking at the bytes
/// from the start of each string took twice as long: every string begins where the last one ended, so no load could begin before
/// the last search was over, while whole blocks are loaded ahead.
#[derive(Clone, Debug)]
pub(super) struct Specials {
    /// Offset of the block, a multiple of its size.
    base: usize,
    bits: u64,
}

const BLOCK: usize = u64::BITS as usize;

impl Specials {
    /// Before any block: the first search loads one.
    pub(super) fn new() -> Self {
        Self { base: usize::MAX - BLOCK, bits: 0 }
    }

    /// The offset of the first byte from `at` on that is a quote, a backslash or a control character, or the end.
    #[inline(always)]
    pub(super) fn first_from(&mut self, bytes: &[u8], at: usize) -> usize {
        let mut from = at;
        loop {
            if from.wrapping_sub(self.base) >= BLOCK {
                if from >= bytes.len() {
                    return bytes.len();
                }
                *self = Self::of_block(bytes, from - from % BLOCK);
            }
            let ahead = self.bits >> (from % BLOCK);
            if ahead != 0 {
                return from + ahead.trailing_zeros() as usize;
            }
            from = from - from % BLOCK + BLOCK;
        }
    }

    #[inline]
    fn of_block(bytes: &[u8], base: usize) -> Self {
        let rest = bytes.get(base..).unwrap_or_default();
        let bits = match rest.first_chunk::<BLOCK>() {
            Some(block) => dispatch!(Level::new(), simd => special_bits(simd, block)),
            None => {
                // Filled up with control characters, so that every search ends at the end of the text.
                let mut block = [0; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                dispatch!(Level::new(), simd => special_bits(simd, &block))
            }
        };
        Self { base, bits }
    }
}

#[inline(always)]
fn special_bits<S: Simd>(simd: S, block: &[u8; BLOCK]) -> u64 {
    let bytes = u8x64::load_array(simd, *block);
    (bytes.simd_eq(b'"') | bytes.simd_eq(b'\\') | bytes.simd_lt(b' ')).to_bitmask()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_special_byte_is_found_wherever_it_stands() {
        for len in [0, 1, 15, 16, 63, 64, 65, 128, 200] {
            for special in (0..0x20).chain([b'"', b'\\']) {
                for place in 0..len {
                    let mut bytes: Vec<u8> = (0..len).map(|n| [b'a', 0x20, 0x7f, 0xc3][n % 4]).collect();
                    bytes[place] = special;
                    for from in [0, place / 2, place] {
                        assert_eq!(Specials::new().first_from(&bytes, from), place);
                    }
                    let mut specials = Specials::new();
                    specials.first_from(&bytes, place);
                    assert_eq!(specials.first_from(&bytes, place + 1), len, "{len} {place}");
                }
            }
        }
    }
}
