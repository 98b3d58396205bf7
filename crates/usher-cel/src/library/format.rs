//! Named formats: `format.dns1123Label().validate(text)`. apiserver `pkg/cel/library/format.go`.
//!
//! `validate` gives none for a valid text, else the faults in the API machinery's words.

use std::sync::LazyLock;

use regex::Regex;

use super::opaque::OpaqueValue;
use super::overload::{Call, Overload, Ty};
use super::{cost, names, net_url};
use crate::eval::{EvalError, EvalResult, Value};

const TYPE: Ty = Ty::Opaque("kubernetes.NamedFormat");

const SINCE: u8 = 31;

pub(super) const OVERLOADS: &[Overload] = &[
    Overload::global(SINCE, "format.named", &[Ty::String], Ty::Optional(&TYPE), named),
    Overload::member(SINCE, "validate", &[TYPE, Ty::String], Ty::Optional(&Ty::List(&Ty::String)), validate),
    constant("format.dns1123Label", |call, _| of(call, Format::Dns1123Label)),
    constant("format.dns1123Subdomain", |call, _| of(call, Format::Dns1123Subdomain)),
    constant("format.dns1035Label", |call, _| of(call, Format::Dns1035Label)),
    constant("format.qualifiedName", |call, _| of(call, Format::QualifiedName)),
    constant("format.dns1123LabelPrefix", |call, _| of(call, Format::Dns1123LabelPrefix)),
    constant("format.dns1123SubdomainPrefix", |call, _| of(call, Format::Dns1123SubdomainPrefix)),
    constant("format.dns1035LabelPrefix", |call, _| of(call, Format::Dns1035LabelPrefix)),
    constant("format.labelValue", |call, _| of(call, Format::LabelValue)),
    constant("format.uri", |call, _| of(call, Format::Uri)),
    constant("format.uuid", |call, _| of(call, Format::Uuid)),
    constant("format.byte", |call, _| of(call, Format::Byte)),
    constant("format.date", |call, _| of(call, Format::Date)),
    constant("format.datetime", |call, _| of(call, Format::Datetime)),
];

/// A format that texts can be held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Dns1123Label,
    Dns1123Subdomain,
    Dns1035Label,
    QualifiedName,
    Dns1123LabelPrefix,
    Dns1123SubdomainPrefix,
    Dns1035LabelPrefix,
    LabelValue,
    Uri,
    Uuid,
    Byte,
    Date,
    Datetime,
}

impl Format {
    /// The format of that name, for `format.named`.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "dns1123Label" => Self::Dns1123Label,
            "dns1123Subdomain" => Self::Dns1123Subdomain,
            "dns1035Label" => Self::Dns1035Label,
            "qualifiedName" => Self::QualifiedName,
            "dns1123LabelPrefix" => Self::Dns1123LabelPrefix,
            "dns1123SubdomainPrefix" => Self::Dns1123SubdomainPrefix,
            "dns1035LabelPrefix" => Self::Dns1035LabelPrefix,
            "labelValue" => Self::LabelValue,
            "uri" => Self::Uri,
            "uuid" => Self::Uuid,
            "byte" => Self::Byte,
            "date" => Self::Date,
            "datetime" => Self::Datetime,
            _ => return None,
        })
    }

    /// What upstream takes for the length of the regular expression behind the format.
    pub(super) fn regex_size(self) -> u64 {
        match self {
            Self::Dns1123Label | Self::Dns1035Label | Self::Dns1123LabelPrefix | Self::Dns1035LabelPrefix => {
                30
            }
            Self::Dns1123Subdomain | Self::Dns1123SubdomainPrefix | Self::QualifiedName => 60,
            Self::LabelValue => 40,
            Self::Uri => 1103,
            Self::Byte => 84,
            Self::Uuid => UUID.len() as u64,
            // Upstream counts the pattern of times for dates as well.
            Self::Date | Self::Datetime => TIME.len() as u64,
        }
    }

    /// What is wrong with a text; nothing when it is valid.
    fn faults(self, text: &str) -> Vec<String> {
        let unless = |valid: bool, fault: &str| if valid { Vec::new() } else { vec![fault.to_owned()] };
        match self {
            Self::Dns1123Label => names::check_dns1123_label(text),
            Self::Dns1123Subdomain => names::check_dns1123_subdomain(text),
            Self::Dns1035Label => names::check_dns1035_label(text),
            Self::QualifiedName => names::check_qualified_name(text),
            Self::Dns1123LabelPrefix => names::check_dns1123_label(&names::mask_trailing_dash(text)),
            Self::Dns1123SubdomainPrefix => names::check_dns1123_subdomain(&names::mask_trailing_dash(text)),
            Self::Dns1035LabelPrefix => names::check_dns1035_label(&names::mask_trailing_dash(text)),
            Self::LabelValue => names::check_label_value(text),
            Self::Uri => net_url::check_request_uri(text).err().into_iter().collect(),
            Self::Uuid => unless(is_uuid(text), "does not match the UUID format"),
            Self::Byte => unless(is_base64(text), "invalid base64"),
            Self::Date => unless(is_date(text), "invalid date"),
            Self::Datetime => unless(is_datetime(text), "invalid datetime"),
        }
    }
}

const fn constant(name: &'static str, call: super::overload::Implementation) -> Overload {
    Overload::global(SINCE, name, &[], TYPE, call)
}

fn of<'a>(call: &mut Call<'_, '_, 'a>, format: Format) -> EvalResult<'a> {
    call.charge(1)?;
    OpaqueValue::Format(format).into_value(call.arena)
}

fn named<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let [Value::String(name)] = *args else { return Err(EvalError::no_such_overload()) };
    let Some(format) = Format::named(name) else { return Ok(Value::Optional(None)) };
    let format = OpaqueValue::Format(format).into_value(call.arena)?;
    Ok(Value::Optional(Some(call.arena.alloc(format)?)))
}

fn validate<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::Opaque(OpaqueValue::Format(format)), Value::String(text)] = *args else {
        return Err(EvalError::no_such_overload());
    };
    call.charge(cost::regex(cost::size(text), format.regex_size()))?;
    let faults = format.faults(text);
    if faults.is_empty() {
        return Ok(Value::Optional(None));
    }
    let mut list = call.arena.list(faults.len())?;
    for fault in &faults {
        list.push(Value::String(call.arena.alloc_str(fault)?))?;
    }
    Ok(Value::Optional(Some(call.arena.alloc(Value::List(list.finish()))?)))
}

/// kube-openapi `strfmt`: dashes may be missing.
const UUID: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
const TIME: &str = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";

fn is_uuid(text: &str) -> bool {
    const DIGITS: [usize; 5] = [8, 4, 4, 4, 12];
    let mut rest = text.as_bytes();
    for (group, digits) in DIGITS.into_iter().enumerate() {
        if group > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        match rest.split_at_checked(digits) {
            Some((hex, after)) if hex.iter().all(u8::is_ascii_hexdigit) => rest = after,
            _ => return false,
        }
    }
    rest.is_empty()
}

/// Standard alphabet, padded, not empty. govalidator `IsBase64`.
fn is_base64(text: &str) -> bool {
    let data = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// `2006-01-02`, and a day that exists.
fn is_date(text: &str) -> bool {
    let shaped = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    shaped && text.parse::<jiff::civil::Date>().is_ok()
}

/// A date, `t` and a time of RFC 3339; leap seconds are refused, and so is nothing behind a second `t`, as upstream.
fn is_datetime(text: &str) -> bool {
    static TIME_REGEX: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(TIME).ok());
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    if text.len() < 4 || !is_date(date) {
        return false;
    }
    let Some(found) = TIME_REGEX.as_ref().and_then(|regex| regex.captures(time)) else { return false };
    &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59"
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::{Library, show, string};
    use super::*;

    const NAMES: [&str; 13] = [
        "dns1123Label",
        "dns1123Subdomain",
        "dns1035Label",
        "qualifiedName",
        "dns1123LabelPrefix",
        "dns1123SubdomainPrefix",
        "dns1035LabelPrefix",
        "labelValue",
        "uri",
        "uuid",
        "byte",
        "date",
        "datetime",
    ];

    #[test]
    fn every_format_can_be_had_by_function_and_by_name() {
        let library = Library::default();
        for name in NAMES {
            let format = library.global(&format!("format.{name}"), &[]).expect(name);
            let Ok(Value::Optional(Some(named))) = library.global("format.named", &[string(name)]) else {
                panic!("no {name}")
            };
            assert!(crate::eval::equal(&format, named), "{name}");
        }
        assert_eq!(show(library.global("format.named", &[string("DNS1123Label")])), "none");
    }

    #[rstest]
    #[case("dns1123Label", "my-name")]
    #[case("dns1123Subdomain", "a.b-c.d")]
    #[case("dns1035Label", "a1")]
    #[case("qualifiedName", "example.com/My_Name.1")]
    #[case("qualifiedName", "name")]
    #[case("dns1123LabelPrefix", "my-prefix-")]
    #[case("dns1123LabelPrefix", "my-")]
    #[case("dns1123LabelPrefix", "a_-")]
    #[case("dns1123SubdomainPrefix", "a.b-")]
    #[case("dns1035LabelPrefix", "a-")]
    #[case("labelValue", "")]
    #[case("labelValue", "A_b.c-1")]
    #[case("uri", "/path")]
    #[case("uri", "https://example.com/x?y")]
    #[case("uuid", "123E4567-e89b-12d3-a456-426614174000")]
    #[case("uuid", "123e4567e89b12d3a456426614174000")]
    #[case("byte", "aGVsbG8=")]
    #[case("byte", "aGVsbA==")]
    #[case("byte", "aGVs")]
    #[case("date", "2024-02-29")]
    #[case("datetime", "2024-02-29T23:59:59Z")]
    #[case("datetime", "2024-02-29t00:00:00.123+01:00")]
    #[case("datetime", "2024-02-29t00:00:00zt and more")]
    fn a_valid_text_has_no_faults(#[case] name: &str, #[case] text: &str) {
        let library = Library::default();
        let format = library.global(&format!("format.{name}"), &[]).expect("a format");
        assert_eq!(show(library.member("validate", &[format, string(text)])), "none");
    }

    #[rstest]
    #[case("dns1123Label", "a.b", &["must not contain dots"])]
    #[case("dns1123Label", "-a", &["a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"])]
    #[case("dns1123Subdomain", "A", &["a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"])]
    #[case("dns1035Label", "1a", &["a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"])]
    #[case("qualifiedName", "a/b/c", &["a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"])]
    #[case("qualifiedName", "/", &["prefix part must be non-empty", "name part must be non-empty", "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"])]
    #[case("labelValue", "-", &["a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"])]
    #[case("uri", "x", &["parse \"x\": invalid URI for request"])]
    #[case("uuid", "123e4567-e89b-12d3-a456-42661417400", &["does not match the UUID format"])]
    #[case("byte", "", &["invalid base64"])]
    #[case("byte", "aGVsbG8", &["invalid base64"])]
    #[case("byte", "aG=sbG8=", &["invalid base64"])]
    #[case("date", "2023-02-29", &["invalid date"])]
    #[case("date", "2024-2-9", &["invalid date"])]
    #[case("datetime", "2024-02-29T24:00:00Z", &["invalid datetime"])]
    #[case("datetime", "2024-02-29T23:59:60Z", &["invalid datetime"])]
    #[case("datetime", "2024-02-29T23:59:59", &["invalid datetime"])]
    fn an_invalid_text_has_faults_in_the_api_machinerys_words(
        #[case] name: &str,
        #[case] text: &str,
        #[case] faults: &[&str],
    ) {
        let library = Library::default();
        let format = library.global(&format!("format.{name}"), &[]).expect("a format");
        let faults = faults.iter().map(|fault| format!("{fault:?}")).collect::<Vec<_>>().join(", ");
        assert_eq!(
            show(library.member("validate", &[format, string(text)])),
            format!("optional([{faults}])")
        );
    }

    #[rstest]
    #[case("dns1123Label", 64, "must be no more than 63 characters")]
    #[case("dns1123Subdomain", 254, "must be no more than 253 characters")]
    #[case("dns1035Label", 64, "must be no more than 63 characters")]
    #[case("qualifiedName", 64, "name part must be no more than 63 bytes")]
    #[case("labelValue", 64, "must be no more than 63 bytes")]
    fn names_have_a_greatest_length(#[case] name: &str, #[case] length: usize, #[case] fault: &str) {
        let library = Library::default();
        let format = library.global(&format!("format.{name}"), &[]).expect("a format");
        let text = "a".repeat(length);
        assert_eq!(
            show(library.member("validate", &[format, string(&text)])),
            format!("optional([{fault:?}])")
        );
        assert_eq!(show(library.member("validate", &[format, string(&text[1..])])), "none");
    }

    #[rstest]
    #[case("dns1123Label", "abc", 8)]
    #[case("uri", "/", 276)]
    #[case("uuid", "x", 18)]
    #[case("datetime", "2024-02-29T23:59:59Z", 3 * 18)]
    fn validation_costs_a_regex_match(#[case] name: &str, #[case] text: &str, #[case] cost: u64) {
        let library = Library::default();
        let format = library.global(&format!("format.{name}"), &[]).expect("a format");
        library.member("validate", &[format, string(text)]).expect("an answer");
        assert_eq!(library.spent(), 1 + cost);
    }
}
