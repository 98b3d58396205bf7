//! Warnings within what the API server passes on (apiserver `pkg/endpoints/filters/warning.go`).

/// Once the total is exceeded, the API server cuts each warning to this many characters.
const MAX_CHARS: usize = 256;
/// All warnings of one API request together, in characters.
const MAX_TOTAL_CHARS: usize = 4096;
/// Kept free for the line that tells how many were left out.
const TAIL_CHARS: usize = 32;

/// The warnings that fit: without control characters, which would make the API server drop the text silently; each at most
/// 256 characters and together at most 4,096; the last one says how many were left out.
pub(super) fn fitting(warnings: &[String]) -> Vec<String> {
    let mut fitting = Vec::with_capacity(warnings.len());
    let mut total = 0;
    for (index, warning) in warnings.iter().enumerate() {
        let warning = header_safe(warning);
        let chars = warning.chars().count();
        if total + chars > MAX_TOTAL_CHARS - TAIL_CHARS {
            fitting.push(format!("{} more warnings", warnings.len() - index));
            break;
        }
        total += chars;
        fitting.push(warning);
    }
    fitting
}

fn header_safe(warning: &str) -> String {
    let mut chars = warning.chars();
    let mut text: String =
        chars.by_ref().take(MAX_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if chars.next().is_some() {
        text.pop();
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_spaces() {
        assert_eq!(fitting(&["a\nb\tc\u{1b}[31m".to_owned()]), ["a b c [31m"]);
    }

    #[test]
    fn long_warnings_are_cut_between_characters() {
        let warnings = fitting(&["🦀".repeat(10_000)]);
        assert_eq!(warnings[0].chars().count(), 256);
        assert!(warnings[0].ends_with('…'));
    }

    #[test]
    fn the_total_is_bounded_and_the_rest_counted() {
        let warnings = fitting(&vec!["w".repeat(200); 50]);
        assert!(warnings.iter().map(|warning| warning.chars().count()).sum::<usize>() <= 4096);
        assert_eq!(warnings.len(), 21);
        assert_eq!(warnings[20], "30 more warnings");
    }
}
