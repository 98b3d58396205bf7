//! Text to [`Quantity`]. apimachinery `resource.ParseQuantity`, its two paths included: which one a text takes decides whether the
//! quantity counts as an integer.

use std::fmt;

use super::decimal::Decimal;
use super::quantity::{Amount, Quantity};
use crate::eval::{Arena, EvalError};

/// Powers of ten that surely fit an `int64`.
const MAX_INT_DIGITS: i64 = 18;
/// Nothing smaller than this power of ten is kept.
const NANO: i32 = -9;

/// Why a text is no quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotAQuantity {
    Form,
    Number,
    Suffix,
}

/// Reads a quantity, rounding up to nano and capping binary ones at the largest `int64`.
///
/// # Errors
/// The outer error when the arena or the digits are exhausted.
pub(super) fn parse<'a>(
    text: &str,
    arena: &'a Arena,
) -> Result<Result<Quantity<'a>, NotAQuantity>, Box<EvalError>> {
    if text.is_empty() {
        return Ok(Err(NotAQuantity::Form));
    }
    let parts = match split(text) {
        Ok(parts) => parts,
        Err(error) => return Ok(Err(error)),
    };
    let Some(suffix) = Suffix::parse(parts.suffix) else { return Ok(Err(NotAQuantity::Suffix)) };
    if let Some(quantity) = parse_int(&parts, suffix) {
        return Ok(Ok(quantity));
    }
    if parts.has_no_digits {
        return Ok(Err(NotAQuantity::Number));
    }
    parse_decimal(&parts, suffix, arena).map(Ok)
}

struct Parts<'t> {
    negative: bool,
    /// Digits before the point without leading zeros; "0" when there are none.
    whole: &'t str,
    fraction: &'t str,
    suffix: &'t str,
    /// `.`, `-.`: passes for zero on the fast path only.
    has_no_digits: bool,
}

fn split(text: &str) -> Result<Parts<'_>, NotAQuantity> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let stripped = unsigned.trim_start_matches('0');
    let (whole, rest) = split_digits(stripped);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    let exponent = suffix.trim_start_matches(|char| "eEinumkKMGTP".contains(char));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NotAQuantity::Form);
    }
    Ok(Parts {
        negative: text.starts_with('-'),
        whole: if whole.is_empty() { "0" } else { whole },
        fraction,
        suffix,
        has_no_digits: whole.is_empty() && fraction.is_empty() && stripped.len() == unsigned.len(),
    })
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Suffix {
    Decimal(i32),
    Binary(u32),
}

impl Suffix {
    fn parse(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "" => Self::Decimal(0),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            // The exponent is cut to 32 bits, as upstream does.
            _ => Self::Decimal(suffix.strip_prefix(['e', 'E'])?.parse::<i64>().ok()? as i32),
        })
    }
}

/// The fast path: what is sure to fit.
fn parse_int<'a>(parts: &Parts<'_>, suffix: Suffix) -> Option<Quantity<'a>> {
    let digits = (parts.whole.len() + parts.fraction.len()) as i64;
    let (mantissa, scale) = match suffix {
        Suffix::Decimal(exponent) if digits <= MAX_INT_DIGITS => {
            (1_i64, exponent.wrapping_sub(parts.fraction.len() as i32))
        }
        Suffix::Binary(exponent) if parts.fraction.is_empty() => {
            // A power of two has about three decimal digits for ten binary ones.
            if 15 - digits - i64::from(exponent) * 3 / 10 - 1 < 0 {
                return None;
            }
            (1_i64 << exponent, 0)
        }
        _ => return None,
    };
    if scale < NANO {
        return None;
    }
    let digits = parts.whole.bytes().chain(parts.fraction.bytes());
    let value =
        digits.fold(0_i64, |value, digit| value * 10 + i64::from(digit - b'0')).checked_mul(mantissa)?;
    Some(Quantity::int(if parts.negative { -value } else { value }, scale))
}

fn parse_decimal<'a>(
    parts: &Parts<'_>,
    suffix: Suffix,
    arena: &'a Arena,
) -> Result<Quantity<'a>, Box<EvalError>> {
    let digits = [parts.whole.as_bytes(), parts.fraction.as_bytes()].concat();
    let fraction = parts.fraction.len() as i64;
    let mut amount = match suffix {
        Suffix::Decimal(exponent) => {
            Decimal::from_ascii(parts.negative, &digits, fraction - i64::from(exponent), arena)?
        }
        Suffix::Binary(exponent) => {
            Decimal::from_ascii(parts.negative, &digits, fraction, arena)?.shift_left(exponent, arena)?
        }
    };
    if !amount.is_zero() {
        amount = amount.round_up(-i64::from(NANO), arena)?;
    }
    if matches!(suffix, Suffix::Binary(_)) {
        let max = Decimal::from_i64(i64::MAX, 0, arena)?;
        let (magnitude, negative) = (amount.magnitude(), amount.is_negative());
        if magnitude.compare(&max).is_gt() {
            amount = if negative { max.negated() } else { max };
        }
    }
    Ok(Quantity(Amount::Decimal(amount)))
}

impl fmt::Display for NotAQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            Self::Number => "unable to parse numeric part of quantity",
            Self::Suffix => "unable to parse quantity's suffix",
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::{Library, show, string};

    #[rstest]
    #[case("", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    #[case(
        "1 Gi",
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    #[case(
        "1.2.3",
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    #[case(
        "abc",
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    #[case("1K", "unable to parse quantity's suffix")]
    #[case("1e", "unable to parse quantity's suffix")]
    #[case("1ki", "unable to parse quantity's suffix")]
    #[case("1e99999999999999999999", "unable to parse quantity's suffix")]
    #[case(".Ei", "unable to parse numeric part of quantity")]
    #[case("-.n1", "unable to parse quantity's suffix")]
    fn what_is_no_quantity_is_an_error(#[case] text: &str, #[case] error: &str) {
        let library = Library::default();
        assert_eq!(show(library.global("quantity", &[string(text)])), error);
        assert_eq!(show(library.global("isQuantity", &[string(text)])), "false");
    }

    /// Sign, isInteger and asApproximateFloat as apimachinery answers them.
    #[rstest]
    #[case("0", "0", "true", "0.0")]
    #[case(".", "0", "true", "0.0")]
    #[case("-", "0", "true", "0.0")]
    #[case("+5", "1", "true", "5.0")]
    #[case("1.", "1", "true", "1.0")]
    #[case("1.5", "1", "false", "1.5")]
    #[case("1500m", "1", "false", "1.5")]
    #[case("1.0", "1", "false", "1.0")]
    #[case("12e6", "1", "true", "12000000.0")]
    #[case("12E-2", "1", "false", "0.12")]
    #[case("-1Gi", "-1", "true", "-1073741824.0")]
    #[case("1.5Gi", "1", "false", "1610612736.0")]
    #[case("1Ei", "1", "false", "1.152921504606847e18")]
    #[case("9Ei", "1", "false", "9.223372036854776e18")]
    #[case("-9Ei", "-1", "false", "-9.223372036854776e18")]
    #[case("1E", "1", "true", "1e18")]
    #[case("10E", "1", "false", "1e19")]
    #[case("0.1n", "1", "false", "1e-9")]
    #[case("-0.1n", "-1", "false", "-1e-9")]
    #[case("1n", "1", "false", "1e-9")]
    #[case("1.0000000001", "1", "false", "1.000000001")]
    #[case("12345678901234567890123", "1", "false", "1.2345678901234568e22")]
    #[case("1e100", "1", "false", "1e100")]
    fn texts_are_read_as_upstream_does(
        #[case] text: &str,
        #[case] sign: &str,
        #[case] is_integer: &str,
        #[case] float: &str,
    ) {
        let library = Library::default();
        let quantity = library.global("quantity", &[string(text)]).expect("a quantity");
        assert_eq!(show(library.global("sign", &[quantity])), sign);
        assert_eq!(show(library.member("isInteger", &[quantity])), is_integer);
        let Ok(crate::Value::Double(answer)) = library.member("asApproximateFloat", &[quantity]) else {
            panic!("no double")
        };
        let expected: f64 = float.parse().expect("a double");
        assert!((answer - expected).abs() <= expected.abs() * 1e-15, "{answer} is not {expected}");
    }

    #[test]
    fn monstrous_texts_are_refused_or_read_at_once() {
        let library = Library::default();
        let digits = "9".repeat(200_000);
        let answer = show(library.global("quantity", &[string(&digits)]));
        assert_eq!(answer, "a quantity of more than 100000 digits is not supported");
        let tiny = library.global("quantity", &[string("1e-2000000000")]).expect("rounds up to nano");
        let nano = library.global("quantity", &[string("1n")]).expect("a quantity");
        assert!(crate::eval::equal(&tiny, &nano));
    }
}
