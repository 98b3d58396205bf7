//! Warnings within the API server's limits: apiserver `endpoints/filters/warning.go`, apimachinery `NewWarningHeader`.

/// Characters of one warning once the total is exceeded; kept to from the start, since other webhooks share the total.
const MOST_EACH: usize = 256;

/// Characters of all warnings of a request.
const MOST_IN_TOTAL: usize = 4096;

/// Kept free for the warning that says how many were left out.
const TAIL: usize = 64;

/// Makes warnings fit for an HTTP header: no control characters, no repetitions, within the limits. What does not fit is counted in a last one.
pub(super) fn fit(warnings: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(warnings.len());
    let mut total = 0;
    let mut left_out = 0_usize;
    for warning in warnings {
        let warning = clean(&warning);
        if warning.is_empty() || kept.contains(&warning) {
            continue;
        }
        let length = warning.chars().count();
        if total + length > MOST_IN_TOTAL - TAIL {
            left_out += 1;
            continue;
        }
        total += length;
        kept.push(warning);
    }
    if left_out > 0 {
        kept.push(format!("{left_out} more warnings were left out"));
    }
    kept
}

/// Control characters, which would make the API server drop the whole warning, become spaces.
fn clean(warning: &str) -> String {
    let printable = |character: char| if character.is_control() { ' ' } else { character };
    let blank = |character: char| character.is_control() || character.is_whitespace();
    let mut text: String = warning.trim_matches(blank).chars().take(MOST_EACH + 1).map(printable).collect();
    if text.chars().count() > MOST_EACH {
        let end = text.char_indices().nth(MOST_EACH - 1).map_or(text.len(), |(at, _)| at);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_characters_become_spaces_and_repetitions_go() {
        let warnings = ["a\nb\tc\u{7f}", " a b c ", "", "\n"].map(str::to_owned);
        assert_eq!(fit(warnings.into()), ["a b c"]);
        assert_eq!(fit(vec!["x".to_owned(), "x".to_owned()]), ["x"]);
    }

    #[test]
    fn long_warnings_are_cut_by_characters() {
        let kept = fit(vec!["🦀".repeat(10_000)]);
        assert_eq!(kept[0].chars().count(), 256);
        assert!(kept[0].ends_with('…'));
    }

    #[test]
    fn warnings_that_do_not_fit_are_counted() {
        let kept = fit((0..50).map(|i| format!("{i:0>200}")).collect());
        assert_eq!(kept.len(), 21);
        assert_eq!(kept[20], "30 more warnings were left out");
    }

    proptest! {
        #[test]
        fn whatever_comes_in_what_goes_out_fits(warnings in prop::collection::vec("\\PC{0,300}|.{0,20}", 0..60)) {
            let kept = fit(warnings);
            prop_assert!(kept.iter().map(|text| text.chars().count()).sum::<usize>() <= MOST_IN_TOTAL);
            for warning in kept {
                prop_assert!(warning.chars().count() <= MOST_EACH);
                prop_assert!(!warning.chars().any(char::is_control));
            }
        }
    }
}
