//! The text that a user gets to see. apiserver `validating/validator.go`.

use usher_cel::eval::Value;

use super::rule::{Message, Route};

/// `MaxEvaluatedMessageExpressionSizeBytes`.
const MOST_BYTES: usize = 5 * 1024;

/// The text of a route's message, given what its `messageExpression` gave, if it has one and gave anything.
pub(super) fn text(route: &Route, message: &Message, evaluated: Option<Value<'_>>) -> String {
    if let Some(Value::String(text)) = evaluated
        && let Some(text) = usable(text)
    {
        return text.to_owned();
    }
    if let Some(text) = message.text.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        return text.to_owned();
    }
    match &route.predicate {
        Some(predicate) if route.holds_when => format!("matched expression: {}", predicate.source()),
        Some(predicate) => format!("failed expression: {}", predicate.source()),
        None => format!("refused by {}", route.name),
    }
}

fn usable(text: &str) -> Option<&str> {
    let trimmed = text.trim();
    (text.len() <= MOST_BYTES && !trimmed.is_empty() && !trimmed.contains('\n')).then_some(trimmed)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::engine::testing::{mk_reject, mk_route};

    #[rstest]
    #[case::trimmed("  no  ", "no")]
    #[case::empty("  ", "fallback")]
    #[case::two_lines("a\nb", "fallback")]
    #[case::newline_at_the_end("a\n", "a")]
    #[case::tab("a\tb", "a\tb")]
    fn an_expression_that_gives_no_usable_text_falls_back(#[case] text: &str, #[case] expected: &str) {
        let message = Message { text: Some(" fallback ".into()), expression: None };
        let route = mk_route("r", mk_reject("unused"));
        assert_eq!(super::text(&route, &message, Some(Value::String(text))), expected);
    }

    #[test]
    fn a_text_of_more_than_5_kib_falls_back() {
        let route = mk_route("r", mk_reject("unused"));
        let text =
            |length| super::text(&route, &Message::default(), Some(Value::String(&"x".repeat(length))));
        assert_eq!(text(5 * 1024).len(), 5 * 1024);
        assert_eq!(text(5 * 1024 + 1), "refused by r");
    }
}
