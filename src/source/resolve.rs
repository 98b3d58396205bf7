//! What a plain scalar means. YAML files go through the rules that kubectl uses (`sigs.k8s.io/yaml` over
//! `go.yaml.in/yaml/v2`, `resolve.go`), which are YAML 1.1 with octal numbers of both spellings.

use serde_json::{Number, Value};

/// What a scalar means, or why it has no meaning in JSON.
pub(super) enum Resolved {
    Value(Value),
    Unsupported(String),
}

/// A plain scalar of a YAML file.
pub(super) fn yaml(text: &str) -> Resolved {
    Resolved::Value(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf"
        | "-.Inf" | "-.INF" => {
            return Resolved::Unsupported(format!("the number {text} cannot be written in JSON"));
        }
        _ => number(text).unwrap_or_else(|| Value::String(text.to_owned())),
    })
}

/// A scalar without quotes in a JSON text.
pub(super) fn json(text: &str) -> Resolved {
    match serde_json::from_str(text) {
        // serde_json reads fractions in a hurry, which may miss the nearest one.
        Ok(Value::Number(number)) if number.is_f64() => {
            let exact = text.parse().ok().and_then(Number::from_f64);
            Resolved::Value(Value::Number(exact.unwrap_or(number)))
        }
        Ok(value) => Resolved::Value(value),
        // JSON files are read as YAML is: a value without quotes that JSON does not know is a text there.
        Err(_) => yaml(text),
    }
}

/// A scalar with a tag of YAML's own, such as `!!str`.
pub(super) fn tagged(kind: &str, text: &str) -> Resolved {
    let mismatch = || Resolved::Unsupported(format!("`{text}` is not of the type !!{kind}"));
    if kind == "str" {
        return Resolved::Value(Value::String(text.to_owned()));
    }
    let Resolved::Value(value) = yaml(text) else { return yaml(text) };
    match (kind, &value) {
        ("null", Value::Null) | ("bool", Value::Bool(_)) | ("float", Value::Number(_)) => {
            Resolved::Value(value)
        }
        ("int", Value::Number(number)) if !number.is_f64() => Resolved::Value(value),
        ("null" | "bool" | "int" | "float", _) => mismatch(),
        _ => Resolved::Unsupported(format!("the tag !!{kind} has no meaning in Kubernetes")),
    }
}

fn number(text: &str) -> Option<Value> {
    match text.as_bytes().first()? {
        b'.' => float(text),
        b'0'..=b'9' | b'+' | b'-' => {
            let plain = text.replace('_', "");
            integer(&plain).or_else(|| float(&plain))
        }
        _ => None,
    }
}

/// Decimal, `0x`, `0b`, `0o`, or octal by a leading zero, with an optional sign, as Go's `strconv.ParseInt(_, 0, 64)`.
fn integer(text: &str) -> Option<Value> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // `from_str_radix` takes a sign of its own.
    if !digits.bytes().next()?.is_ascii_alphanumeric() {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if !negative {
        // ParseUint takes no sign, so `+` reaches only to the largest signed number.
        return (!text.starts_with('+') || i64::try_from(magnitude).is_ok()).then(|| Value::from(magnitude));
    }
    0_i64.checked_sub_unsigned(magnitude).map(Value::from)
}

/// A decimal fraction. A whole one becomes an integer, because Go writes the JSON number 1.0 as `1`.
fn float(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let decimal = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if exponent.is_empty() || whole.len() + fraction.len() == 0 {
        return None;
    }
    if !(decimal(whole) && decimal(fraction) && decimal(exponent)) {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    // Go writes numbers below 1e21 without an exponent; the API server then reads what fits as an integer.
    if value.fract() == 0.0 && value.abs() < 9.2e18 {
        #[allow(clippy::cast_possible_truncation)]
        return Some(Value::from(value as i64));
    }
    Number::from_f64(value).map(Value::Number)
}
