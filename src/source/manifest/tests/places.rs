//! The character of an expression is found in the file, whatever way the expression is written.

use proptest::prelude::*;

use super::*;
use crate::diagnostic::Place;

/// A document whose field `x` is written so, and what is decoded from it.
fn written(value: &str) -> (SourceMap, String) {
    let text = format!("apiVersion: v1\nkind: A\nmetadata:\n  name: a\nlist:\n- x: {value}\nend: 1\n");
    let document = collected(&text).unwrap().remove(0).unwrap();
    let decoded = document.value["list"][0]["x"].as_str().unwrap_or_else(|| panic!("{text}")).to_owned();
    assert_eq!(document.value["end"], 1, "{text}");
    (document.map.unwrap(), decoded)
}

fn place(map: &SourceMap, decoded: &str, at: usize) -> Place {
    let length = decoded[at..].chars().next().map_or(0, char::len_utf8);
    map.place_within("list[0].x", at..at + length)
}

/// Every character is found: itself, its escape, or for a folded space the break; and the places follow each other.
fn check(value: &str) -> String {
    let (map, decoded) = written(value);
    let file = map.source().text();
    let mut last = 0;
    for (at, character) in decoded.char_indices() {
        let place = place(&map, &decoded, at);
        let found = &file[place.span.clone()];
        let itself = found == character.to_string();
        let escaped = found.starts_with('\\') || (found == "''" && character == '\'');
        let folded = character.is_whitespace() && !found.is_empty() && found.trim().is_empty();
        assert!(itself || escaped || folded, "{character:?} at {at} of {decoded:?} is {found:?} in {file}");
        assert!(place.span.start >= last, "{character:?} at {at} of {decoded:?} goes back in {file}");
        last = place.span.end;
        let (line, column) = map.source().line_column(place.span.start);
        assert_eq!((place.line, place.column), (line, column));
    }
    decoded
}

fn indented(text: &str, by: &str) -> String {
    text.split('\n')
        .map(|line| if line.is_empty() { String::new() } else { format!("{by}{line}") })
        .collect::<Vec<_>>()
        .join("\n")
}

fn double_quoted(text: &str, escapes: &[bool]) -> String {
    let mut out = String::from("\"");
    for (at, character) in text.chars().enumerate() {
        let forced = character.is_control() || matches!(character, '"' | '\\');
        match character {
            '\n' => out.push_str("\\n"),
            '"' | '\\' => out.extend(['\\', character]),
            c if forced || escapes.get(at).copied().unwrap_or(false) => {
                let mut halves = [0; 2];
                out.extend(c.encode_utf16(&mut halves).iter().map(|half| format!("\\u{half:04x}")));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[test]
fn a_character_is_found_in_each_way_of_writing() {
    for (value, decoded, at, line, column) in [
        ("a.b == 'é' && c", "a.b == 'é' && c", 14, 6, 19),
        ("'it''s && c'", "it's && c", 8, 6, 16),
        (r#""a\n \"b\" && c""#, "a\n \"b\" && c", 10, 6, 20),
        ("|\n    a &&\n      b\n\n    c\n", "a &&\n  b\n\nc\n", 7, 8, 7),
        ("|-   # why\n\n    a\n", "\na", 1, 8, 5),
        ("|2\n     a\n", " a\n", 1, 7, 6),
        (">-\n    a &&\n    b &&\n\n    c", "a && b &&\nc", 10, 10, 5),
        (">\n    a\n      b\n    c\n", "a\n  b\nc\n", 6, 9, 5),
        ("a &&\n    b &&\n\n    c", "a && b &&\nc", 10, 9, 5),
        ("\"a &&\n    b \\\n    && c\"", "a && b && c", 10, 8, 8),
        ("'a\n\n\n    b'", "a\n\nb", 3, 9, 5),
    ] {
        assert_eq!(check(value), decoded, "{value}");
        let (map, _) = written(value);
        let place = place(&map, decoded, at);
        assert_eq!((place.line, place.column), (line, column), "{value}");
    }
}

#[test]
fn the_end_of_an_expression_is_behind_its_last_character() {
    let (map, decoded) = written("'a &&'");
    let place = map.place_within("list[0].x", decoded.len()..decoded.len());
    assert_eq!((place.line, place.column), (6, 11));
}

#[test]
fn windows_line_ends_do_not_move_a_place() {
    let text = "apiVersion: v1\r\nkind: A\r\nmetadata: {name: a}\r\nx: |\r\n  a &&\r\n  b\r\n";
    let document = collected(text).unwrap().remove(0).unwrap();
    assert_eq!(document.value["x"], "a &&\nb\n");
    let place = document.map.unwrap().place_within("x", 5..6);
    assert_eq!((place.line, place.column), (6, 3));
}

#[test]
fn a_field_that_is_not_there_has_the_place_of_what_is_around_it() {
    let (map, _) = written("1a");
    assert_eq!(map.place("list[0].y").line, 6);
    assert_eq!(map.place("list[7]").line, 6);
    assert_eq!(map.place("").line, 1);
    assert_eq!(map.place("no[such['path").line, 1);
    assert_eq!(map.key_place("list[0].x").column, 3);
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            Just("a".to_owned()),
            Just("==".to_owned()),
            Just("'".to_owned()),
            Just("\"".to_owned()),
            Just("é".to_owned()),
            Just("😀".to_owned()),
            Just(" ".to_owned()),
            Just("\n".to_owned()),
            Just("  ".to_owned()),
            Just("\\".to_owned()),
            Just("#".to_owned()),
            Just(": ".to_owned()),
            Just("{".to_owned()),
            Just("\t".to_owned()),
            Just("word".to_owned()),
        ],
        1..40,
    )
    .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_is_found_in_a_literal_block(text in text()) {
        // Of a block of white space alone the parser does not tell the indentation.
        prop_assume!(!text.trim().is_empty());
        let value = format!("|2-\n{}", indented(&text, "    "));
        let decoded = check(&value);
        prop_assert_eq!(decoded, text.trim_end_matches('\n'));
    }

    #[test]
    fn any_text_is_found_in_double_quotes(text in text(), escapes in proptest::collection::vec(any::<bool>(), 0..60)) {
        prop_assert_eq!(check(&double_quoted(&text, &escapes)), text);
    }

    #[test]
    fn any_text_is_found_in_single_quotes(text in text()) {
        let text = text.replace('\n', " ");
        prop_assert_eq!(check(&format!("'{}'", text.replace('\'', "''"))), text);
    }

    #[test]
    fn any_folded_text_is_found(text in text()) {
        check(&format!(">2-\n{}", indented(&format!("{text}x"), "    ")));
    }

    #[test]
    fn words_over_many_lines_are_found(
        words in proptest::collection::vec("[a-zé'(][a-z.(=&)]{0,5}", 2..12),
        gaps in proptest::collection::vec(prop_oneof![Just(" "), Just("  "), Just("\n     "), Just(" \n    "), Just("\n\n    "), Just("\n  \n\n    ")], 12),
        style in 0..3,
    ) {
        let mut text = String::from("w");
        for (word, gap) in words.iter().zip(gaps) {
            text.push_str(gap);
            text.push_str(word);
        }
        match style {
            0 => check(&text),
            1 => check(&format!("'{}'", text.replace('\'', "''"))),
            _ => check(&format!("\"{text}\"")),
        };
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[-a:?{}\\[\\],&*#|>'\"%@!\n\t \\\\~.0e\u{feff}\r]{0,60}") {
        if let Ok(found) = collected(&text) {
            for document in found.into_iter().flatten() {
                let _ = decode(document);
            }
        }
    }
}
