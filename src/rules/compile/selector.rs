//! Label selectors, checked as the API server checks them.

use super::findings::Findings;
use crate::api::LabelSelector as Written;
use crate::diagnostic::Code;
use crate::engine::matching::{LabelSelector, Requirement};

/// Translates a selector; none selects everything. apimachinery `apis/meta/v1/validation`, `ValidateLabelSelector`.
pub(crate) fn selector(written: Option<&Written>, field: &str, findings: &mut Findings) -> LabelSelector {
    let mut selector = LabelSelector::default();
    let Some(written) = written else { return selector };
    for (key, value) in written.match_labels.iter().flatten() {
        let field = format!("{field}.matchLabels['{key}']");
        check_key(key, &field, findings);
        check_value(value, &field, findings);
        selector
            .requirements
            .push(Requirement::In { key: key.as_str().into(), values: vec![value.as_str().into()] });
    }
    for (index, requirement) in written.match_expressions.iter().flatten().enumerate() {
        let field = format!("{field}.matchExpressions[{index}]");
        check_key(&requirement.key, &format!("{field}.key"), findings);
        let written = requirement.values.as_deref().unwrap_or_default();
        for (index, value) in written.iter().enumerate() {
            check_value(value, &format!("{field}.values[{index}]"), findings);
        }
        let key: Box<str> = requirement.key.as_str().into();
        let values: Vec<Box<str>> = written.iter().map(|value| value.as_str().into()).collect();
        let wants_values = match requirement.operator.as_str() {
            "In" | "NotIn" => true,
            "Exists" | "DoesNotExist" => false,
            other => {
                let operator = format!("{field}.operator");
                let message = format!("`{other}` is no operator of a label selector");
                findings.error(
                    Code::InvalidValue,
                    operator,
                    message,
                    "write In, NotIn, Exists or DoesNotExist",
                );
                continue;
            }
        };
        if wants_values == values.is_empty() {
            let (message, help) = if wants_values {
                ("needs values", "list the values of the label")
            } else {
                ("must have no values", "leave out values, or use In or NotIn")
            };
            let message = format!("the operator {} {message}", requirement.operator);
            findings.error(Code::InvalidValue, format!("{field}.values"), message, help);
        }
        selector.requirements.push(match requirement.operator.as_str() {
            "In" => Requirement::In { key, values },
            "NotIn" => Requirement::NotIn { key, values },
            "Exists" => Requirement::Exists { key },
            _ => Requirement::DoesNotExist { key },
        });
    }
    selector
}

fn check_key(key: &str, field: &str, findings: &mut Findings) {
    if !is_qualified_name(key) {
        let message = format!("`{key}` is no label key");
        findings.error(
            Code::InvalidValue,
            field,
            message,
            "write a name such as `team`, or one with a DNS prefix such as `example.com/team`",
        );
    }
}

fn check_value(value: &str, field: &str, findings: &mut Findings) {
    if !value.is_empty() && !is_name_part(value) {
        findings.error(
            Code::InvalidValue,
            field,
            format!("`{value}` is no label value"),
            "a label value has at most 63 letters, digits, `-`, `_` and `.`, and begins and ends with a letter or digit",
        );
    }
}

/// apimachinery `util/validation`, `IsQualifiedName`: a name, with or without a DNS subdomain and a slash before it.
pub(crate) fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_name_part(name),
        None => is_name_part(text),
    }
}

/// At most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
pub(crate) fn is_name_part(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    text.len() <= 63
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && ends(text.as_bytes().first())
        && ends(text.as_bytes().last())
}

/// RFC 1123, as Kubernetes reads it: lower case, at most 253 characters.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}
