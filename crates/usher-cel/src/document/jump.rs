//! Moving over a value that is known to be JSON.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch};

use super::blocks::{BLOCK, Marks, Strings};

/// The offset behind the list or object that begins at `at`, found by counting brackets outside of strings and nothing else; `None` when
/// it does not end.
///
/// Checks nothing, and so takes far less time than a check: 64 bytes a step, with no branch that depends on where tokens begin.
pub(super) fn behind_brackets(bytes: &[u8], at: usize) -> Option<usize> {
    dispatch!(Level::new(), simd => by_blocks(simd, bytes, at))
}

#[inline(always)]
fn by_blocks<S: Simd>(simd: S, bytes: &[u8], at: usize) -> Option<usize> {
    let mut strings = Strings::default();
    let mut depth = 0;
    let mut base = at;
    while let Some(rest) = bytes.get(base..).filter(|rest| !rest.is_empty()) {
        let marks = Marks::of(simd, rest);
        let outside = !strings.of(&marks).inside;
        let (opens, closes) = (marks.opens & outside, marks.closes & outside);
        // Unless this block may be the last one, only the sums matter.
        if closes.count_ones() < depth {
            depth = depth + opens.count_ones() - closes.count_ones();
        } else {
            let mut brackets = opens | closes;
            while brackets != 0 {
                let place = brackets.trailing_zeros();
                brackets &= brackets - 1;
                if opens >> place & 1 == 1 {
                    depth += 1;
                } else if depth <= 1 {
                    return Some(base + place as usize + 1);
                } else {
                    depth -= 1;
                }
            }
        }
        base += BLOCK;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Scanner;
    use super::super::tests::json_of;
    use super::*;

    /// JSON with many of the characters that matter.
    fn json() -> impl Strategy<Value = String> {
        let text = r#"([a\[\]{}:, é]|\\\\|\\"|\\u005c){0,70}"#;
        let leaf = prop_oneof![text.prop_map(|text| format!("\"{text}\"")), Just("1.5e3".to_owned())];
        json_of(leaf, text)
    }

    proptest! {
        #[test]
        fn a_jump_ends_where_a_check_ends(value in json(), before in " {0,70}", behind in r#"[\]}" \\]{0,70}"#) {
            let text = format!("{before}{value}{behind}");
            let checked = Scanner::new(&text).skip().unwrap();
            prop_assert_eq!(checked, &value);
            prop_assert_eq!(behind_brackets(text.as_bytes(), before.len()), Some(before.len() + value.len()));
            for end in before.len()..before.len() + value.len() {
                prop_assert_eq!(behind_brackets(&text.as_bytes()[..end], before.len()), None);
            }
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(prop::sample::select(br#"{}[]"\a"#.to_vec()), 0..300)) {
            let end = behind_brackets(&bytes, 0);
            prop_assert!(end.is_none_or(|end| end <= bytes.len()));
        }
    }
}
