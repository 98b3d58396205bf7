//! What a document may cost. The bounds hold for every text of 3 MiB, the most that the API server takes from a client.

use super::*;

const SIZE: usize = 3 << 20;

/// `item` as often as fits, each with its number, between brackets.
fn filled(open: &str, item: impl Fn(usize) -> String, close: &str) -> String {
    let mut text = String::from(open);
    for number in 0.. {
        let item = item(number);
        if text.len() + item.len() + 1 > SIZE {
            break;
        }
        if number > 0 {
            text.push(',');
        }
        text.push_str(&item);
    }
    text + close
}

#[test]
fn no_text_needs_more_than_30_times_its_size_with_all_that_is_held_while_it_is_read() {
    for (name, text) in [
        ("tiny objects", filled("[", |_| r#"{"a":0}"#.into(), "]")),
        ("distinct keys", filled("{", |n| format!(r#""{n:x}":0"#), "}")),
        (
            "keys in no order",
            filled("{", |n| format!(r#""{:x}":0"#, (n as u32).wrapping_mul(2_654_435_761) >> 12), "}"),
        ),
        ("one key", filled("{", |_| r#""":0"#.into(), "}")),
        ("every key twice", filled("{", |n| format!(r#""{:x}":0"#, n / 2), "}")),
        ("small repeated keys", filled("[", |_| r#"{"":0,"":0}"#.into(), "]")),
        ("indexed repeated keys", filled("[", |_| format!("{{{}\"\":0}}", r#""":0,"#.repeat(12)), "]")),
        ("numbers", filled("[", |_| "0".into(), "]")),
        ("empty lists", filled("[", |_| "[]".into(), "]")),
        ("short lists", filled("[", |_| "[0]".into(), "]")),
        ("escaped strings", filled("[", |_| r#""\n""#.into(), "]")),
    ] {
        let arena = Arena::with_limit(30 * text.len());
        let value = parse(&text, &arena, Options::default()).map(|_| ());
        assert_eq!(value, Ok(()), "{name}: {:.1} times", arena.allocated_bytes() as f64 / text.len() as f64);
    }
}

#[test]
fn a_full_arena_is_an_error_before_the_text_is_read_to_its_end() {
    let text = filled("[", |_| "0".into(), "]");
    let arena = Arena::with_limit(1 << 20);
    let error = parse(&text, &arena, Options::default()).unwrap_err();
    assert_eq!(error.kind, JsonErrorKind::Memory);
    assert!(error.offset < text.len() / 2, "stopped at {}", error.offset);
    assert!(arena.allocated_bytes() <= 1 << 20);
    let text = filled("{", |n| format!(r#""{n:x}":0"#), "}");
    assert_eq!(parse(&text, &arena, Options::default()).unwrap_err().kind, JsonErrorKind::Memory);
}

#[test]
fn ten_thousand_levels_are_read_and_one_more_is_refused() {
    let nested = |open: &str, inner: &str, close: &str, levels: usize| {
        open.repeat(levels) + inner + &close.repeat(levels)
    };
    let arena = Arena::default();
    for (open, inner, close) in [("[", "", "]"), (r#"{"a":"#, "1", "}"), ("[", "1,2", "]")] {
        let fine = nested(open, inner, close, MAX_DEPTH);
        let value = parse(&fine, &arena, Options::default()).unwrap();
        assert_eq!(written(&value), fine);
        assert_eq!(Scanner::new(&fine).skip().unwrap(), fine);
        let deeper = nested(open, inner, close, MAX_DEPTH + 1);
        let error = parse(&deeper, &arena, Options::default()).unwrap_err();
        assert_eq!((error.offset, error.kind.clone()), (open.len() * MAX_DEPTH, JsonErrorKind::TooDeep));
        assert_eq!(Scanner::new(&deeper).skip().unwrap_err(), error);
        assert_eq!(
            error.to_string(),
            format!("invalid JSON at byte {}: nested more than 10000 levels deep", error.offset)
        );
    }
    // Levels around managed fields count. Those around a skipped value do not: the API server counts an object's own, not those of the
    // review that carries it.
    let mut scanner = Scanner::new(r#"{"a":[["#);
    scanner.begin_object().unwrap();
    scanner.next_key().unwrap();
    assert!(scanner.skip().is_err());
    for (levels, fine) in [(MAX_DEPTH - 2, true), (MAX_DEPTH - 1, false)] {
        let inner = nested("[", "", "]", levels);
        let text = format!(r#"{{"metadata":{{"managedFields":{inner}}}}}"#);
        assert_eq!(parse(&text, &arena, SKIPPING).is_ok(), fine);
        assert_eq!(parse(&text, &arena, Options::default()).is_ok(), fine);
    }
    for (levels, fine) in [(MAX_DEPTH - 1, true), (MAX_DEPTH, false)] {
        let text = format!(r#"{{"object":{{"a":{}}}}}"#, nested("[", "", "]", levels));
        let mut scanner = Scanner::new(&text);
        scanner.begin_object().unwrap();
        scanner.next_key().unwrap();
        assert_eq!(scanner.skip().is_ok(), fine);
    }
}

#[test]
fn a_mixture_of_lists_and_objects_closes_in_order_at_any_depth() {
    // Deeper than one word of the bit stack, with both kinds in every position of it.
    for seed in 0_u64..50 {
        let mut bits = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let (mut open, mut close) = (String::new(), Vec::new());
        for _ in 0..300 {
            bits = bits.rotate_left(7).wrapping_mul(0x2545_F491_4F6C_DD1D) | 1;
            if bits >> 63 == 0 {
                open.push('[');
                close.push("]");
            } else {
                open.push_str(r#"{"k":"#);
                close.push("}");
            }
        }
        close.reverse();
        let text = format!("{open}1{}", close.concat());
        let arena = Arena::default();
        assert_eq!(written(&parse(&text, &arena, Options::default()).unwrap()), text);
        for at in [0, 63, 64, 65, 128, 299] {
            let mut wrong = close.clone();
            wrong[at] = if wrong[at] == "]" { "}" } else { "]" };
            let text = format!("{open}1{}", wrong.concat());
            assert!(parse(&text, &arena, Options::default()).is_err(), "{text}");
            assert!(Scanner::new(&text).skip().is_err(), "{text}");
        }
    }
}
