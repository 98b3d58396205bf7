//! Names as the API machinery judges them, with its texts. apimachinery `pkg/api/validate/content`, `pkg/api/validation`.
//!
//! Scanned by hand: these run on every name of a cluster. The regular expressions stand in the messages.

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

const DNS1123_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS1123_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS1035_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const LABEL_KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const EMPTY: &str = "must be non-empty";

pub(super) fn is_dns1123_label(text: &str) -> bool {
    text.len() <= LABEL_MAX && is_label(text)
}

pub(super) fn is_dns1123_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_MAX && is_subdomain(text)
}

pub(super) fn check_dns1123_label(text: &str) -> Vec<String> {
    let mut faults = too_long(text, LABEL_MAX, "characters");
    if !is_label(text) {
        let fault = if is_subdomain(text) { "must not contain dots" } else { DNS1123_LABEL };
        faults.push(fault.into());
    }
    faults
}

pub(super) fn check_dns1123_subdomain(text: &str) -> Vec<String> {
    subdomain_faults(text, "characters")
}

fn subdomain_faults(text: &str, unit: &str) -> Vec<String> {
    let mut faults = too_long(text, SUBDOMAIN_MAX, unit);
    if !is_subdomain(text) {
        faults.push(DNS1123_SUBDOMAIN.into());
    }
    faults
}

pub(super) fn check_dns1035_label(text: &str) -> Vec<String> {
    let mut faults = too_long(text, LABEL_MAX, "characters");
    if !is_label(text) || text.starts_with(|first: char| first.is_ascii_digit()) {
        faults.push(DNS1035_LABEL.into());
    }
    faults
}

/// A label key, also called a qualified name: `name` or `prefix/name`.
pub(super) fn check_qualified_name(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let name = match text.split_once('/') {
        None => text,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {LABEL_KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            faults.push(format!("prefix part {EMPTY}"));
            name
        }
        Some((prefix, name)) => {
            faults
                .extend(subdomain_faults(prefix, "bytes").iter().map(|fault| format!("prefix part {fault}")));
            name
        }
    };
    if name.is_empty() {
        faults.push(format!("name part {EMPTY}"));
    }
    faults.extend(too_long(name, LABEL_MAX, "bytes").iter().map(|fault| format!("name part {fault}")));
    if name.is_empty() || !is_label_value(name) {
        faults.push(format!("name part {LABEL_KEY}"));
    }
    faults
}

pub(super) fn check_label_value(text: &str) -> Vec<String> {
    let mut faults = too_long(text, LABEL_MAX, "bytes");
    if !is_label_value(text) {
        faults.push(LABEL_VALUE.into());
    }
    faults
}

/// For a prefix that something will be appended to: a dash at its end is fine. Upstream cuts two bytes and appends `a`, which this
/// repeats, since a text with a bad last but one byte passes for that.
pub(super) fn mask_trailing_dash(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut masked = rest.to_owned();
            let last = masked.pop();
            // A cut inside of a code point leaves what no name may contain.
            if last.is_some_and(|last| !last.is_ascii()) {
                masked.push(char::REPLACEMENT_CHARACTER);
            }
            masked.push('a');
            masked
        }
        _ => text.to_owned(),
    }
}

/// Upstream's functions for DNS names speak of characters, those for labels of bytes; all count bytes.
fn too_long(text: &str, max: usize, unit: &str) -> Vec<String> {
    if text.len() > max { vec![format!("must be no more than {max} {unit}")] } else { Vec::new() }
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
fn is_label(text: &str) -> bool {
    let inner = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9');
    match text.as_bytes() {
        [] => false,
        bytes @ [first, .., last] => {
            inner(first) && inner(last) && bytes.iter().all(|byte| inner(byte) || *byte == b'-')
        }
        [only] => inner(only),
    }
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// `(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?`
fn is_label_value(text: &str) -> bool {
    match text.as_bytes() {
        [] => true,
        [only] => only.is_ascii_alphanumeric(),
        bytes @ [first, .., last] => {
            let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() && bytes.iter().all(inner)
        }
    }
}
