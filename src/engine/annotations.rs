//! Audit annotations within the API server's limits.

use std::collections::BTreeSet;

use serde::Serialize;

use super::rule::{Actions, Origin, Rule};

/// Bytes of a value; Kubernetes cuts there.
const MOST_VALUE_BYTES: usize = 10 * 1024;

/// Entries of [`FAILURES`], as in Kubernetes 1.37.
const MOST_FAILURES: usize = 50;

/// The key under which rejections stand that only Audit tells of; Kubernetes' name.
const FAILURES: &str = "validation_failure";

/// Whether the API server accepts a key of a webhook's annotation: it becomes the name part of a qualified name.
pub fn is_annotation_key(key: &str) -> bool {
    let bytes = key.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    bytes.len() <= 63
        && ends.into_iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// The annotations of one decision.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    entries: Vec<(String, Vec<String>)>,
    failures: Vec<Failure>,
}

/// One rejection that is only told to the audit log.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Failure {
    message: String,
    policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    binding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expression_index: Option<usize>,
    validation_actions: Vec<&'static str>,
}

impl Annotations {
    /// Adds a value; different values of one key are joined, as Kubernetes does. Illegal keys were refused when the rule was compiled.
    pub(super) fn add(&mut self, key: &str, value: String) {
        match self.entries.iter_mut().find(|(known, _)| known == key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => self.entries.push((key.to_owned(), vec![value])),
        }
    }

    pub(super) fn add_failure(&mut self, failure: Failure) {
        if self.failures.len() < MOST_FAILURES {
            self.failures.push(failure);
        }
    }

    pub(super) fn finish(mut self) -> Vec<(String, String)> {
        if !self.failures.is_empty()
            && let Ok(text) = serde_json::to_string(&self.failures)
        {
            self.add(FAILURES, text);
        }
        debug_assert!(
            self.entries.iter().map(|(key, _)| key).collect::<BTreeSet<_>>().len() == self.entries.len()
        );
        self.entries.into_iter().map(|(key, values)| (key, values.join(", "))).collect()
    }
}

impl Failure {
    pub(super) fn new(rule: &Rule, route: Option<usize>, actions: Actions, message: String) -> Self {
        let names = [(actions.deny, "Deny"), (actions.warn, "Warn"), (actions.audit, "Audit")];
        let validation_actions = names.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect();
        let (policy, binding) = match &rule.origin {
            Origin::RoutingRule => (&rule.name, None),
            Origin::ValidatingAdmissionPolicy { policy, binding, .. }
            | Origin::MutatingAdmissionPolicy { policy, binding } => (policy, Some(binding.to_string())),
        };
        let is_route = rule.origin == Origin::RoutingRule;
        Self {
            message,
            policy: policy.to_string(),
            binding,
            route: route
                .filter(|_| is_route)
                .and_then(|at| rule.routes.get(at))
                .map(|route| route.name.to_string()),
            expression_index: route.filter(|_| !is_route),
            validation_actions,
        }
    }
}

/// A value as it is sent, or `None` when there is nothing to send.
pub(super) fn value(text: &str) -> Option<String> {
    let text = text.trim();
    let end = text.floor_char_boundary(MOST_VALUE_BYTES);
    (!text.is_empty()).then(|| text[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a", true)]
    #[case("why.x_y-z1", true)]
    #[case("", false)]
    #[case("-a", false)]
    #[case("a.", false)]
    #[case("a/b", false)]
    #[case("é", false)]
    fn keys_are_the_name_part_of_a_qualified_name(#[case] key: &str, #[case] ok: bool) {
        assert_eq!(is_annotation_key(key), ok);
        assert!(is_annotation_key(&"k".repeat(63)));
        assert!(!is_annotation_key(&"k".repeat(64)));
    }

    #[test]
    fn different_values_of_one_key_are_joined() {
        let mut annotations = Annotations::default();
        for (key, value) in [("a", "1"), ("b", "2"), ("a", "3"), ("a", "1")] {
            annotations.add(key, value.to_owned());
        }
        let expected = [("a", "1, 3"), ("b", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(annotations.finish(), expected);
    }

    #[test]
    fn values_are_trimmed_and_cut_between_characters() {
        assert_eq!(value("  x "), Some("x".to_owned()));
        assert_eq!(value(" \t"), None);
        let long = value(&"é".repeat(6_000)).map(|text| text.len());
        assert_eq!(long, Some(10 * 1024));
        let odd = value(&format!("x{}", "é".repeat(6_000))).map(|text| text.len());
        assert_eq!(odd, Some(10 * 1024 - 1));
    }
}
