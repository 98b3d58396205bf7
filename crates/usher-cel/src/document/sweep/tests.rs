use proptest::prelude::*;

use super::super::grammar::read;
use super::super::tests::json_of;
use super::super::{JsonError, MAX_DEPTH, grammar};
use super::*;

/// What the loop over tokens says: the offset behind the value.
fn by_tokens(text: &str, at: usize, outside: usize) -> Result<usize, JsonError> {
    let mut lexer = Lexer::starting_at(text, at);
    read(&mut lexer, outside, &mut grammar::Ignore)?;
    Ok(lexer.offset())
}

/// JSON without white space, with all that matters at the ends of blocks.
fn compact() -> impl Strategy<Value = String> {
    let text = r#"([a{}:, é\[\]]|\\\\|\\"|\\n|\\u00e9){0,20}"#;
    let leaf = prop_oneof![
        text.prop_map(|text| format!("\"{text}\"")),
        prop::sample::select(vec!["0", "-1.5e3", "1234567890", "true", "false", "null", "{}", "[]"])
            .prop_map(String::from),
    ];
    json_of(leaf, text)
}

/// A few bytes of what JSON is made of.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{", "}", "[", "]", ":", ",", "\"", "\\", "\"a\"", "\"a\":", "1", "-", "0", "true", "nul", " ", "\n",
        "é", "\\u12", "{}", "[]", ",\"b\":", "\\\"",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn compact_json_is_known_to_be_right(value in compact(), before in "[ \"]{0,70}", behind in r#"[\]}",: \\]{0,70}"#) {
        let text = format!("{before}{value}{behind}");
        prop_assert_eq!(behind_checked(&text, before.len(), 0), Some(before.len() + value.len()));
        prop_assert_eq!(by_tokens(&text, before.len(), 0), Ok(before.len() + value.len()));
    }

    #[test]
    fn nothing_is_taken_that_the_loop_over_tokens_refuses(
        value in compact(), pieces in pieces(), place in any::<prop::sample::Index>(), cut in 0..4_usize,
    ) {
        // Somewhere in it something is put in the place of a few bytes.
        let mut places: Vec<usize> = value.char_indices().map(|(at, _)| at).collect();
        places.push(value.len());
        let from = place.index(places.len());
        let to = (from + cut).min(places.len() - 1);
        let text = format!("{}{pieces}{}", &value[..places[from]], &value[places[to]..]);
        if let Some(end) = behind_checked(&text, 0, 0) {
            prop_assert_eq!(by_tokens(&text, 0, 0), Ok(end), "{}", text);
        }
    }

    #[test]
    fn of_anything_made_of_pieces_only_what_is_right_is_taken(pieces in pieces()) {
        for text in [format!("[{pieces}]"), format!("{{{pieces}}}"), format!(r#"{{"a":{pieces}}}"#)] {
            if let Some(end) = behind_checked(&text, 0, 0) {
                prop_assert_eq!(by_tokens(&text, 0, 0), Ok(end), "{}", text);
            }
        }
    }
}

#[test]
fn every_short_text_is_judged_as_by_the_loop_over_tokens() {
    // All texts of up to six of these, with and without a prefix that moves them over the end of a block.
    const TOKENS: [&str; 9] = ["{", "}", "[", "]", ":", ",", "\"k\"", "7", "\""];
    let prefix = format!("[\"{}\",", "x".repeat(57));
    let mut texts = vec![String::new()];
    for _ in 0..6 {
        texts = texts.iter().flat_map(|text| TOKENS.map(|token| format!("{text}{token}"))).collect();
        for text in &texts {
            for text in [text.clone(), format!("{prefix}{text}]")] {
                if !text.starts_with(['{', '[']) {
                    continue;
                }
                // There is no white space: right and known to be right are the same.
                assert_eq!(behind_checked(&text, 0, 0), by_tokens(&text, 0, 0).ok(), "{text}");
            }
        }
    }
}

#[test]
fn a_review_is_known_to_be_right_and_levels_are_counted() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    // As many as a word holds beside the mark of their end; what is deeper is left to the loop over tokens.
    for (levels, is_known) in [(1, true), (62, true), (63, true), (64, false), (200, false)] {
        assert_eq!(behind_checked(&nested(levels), 0, 0), is_known.then_some(2 * levels), "{levels}");
    }
    assert_eq!(behind_checked(&nested(63), 0, MAX_DEPTH - 64), Some(126));
    assert_eq!(behind_checked(&nested(1), 0, MAX_DEPTH - 63), None);
    let managed = format!(
        r#"{{"f:metadata":{{{}}}}}"#,
        vec![r#""k:{\"name\":\"x\"}":{".":{},"f:a":{}}"#; 50].join(",")
    );
    assert_eq!(behind_checked(&managed, 0, 0), Some(managed.len()));
}
