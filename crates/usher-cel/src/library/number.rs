//! Numbers to text and back as Go's `strconv` and `fmt` do it, and as `golang.org/x/text` does it for American English, which is what
//! `format` of the strings library prints.

use std::fmt::Write;

/// Shortest text that reads back as the same double: Go's `%g`, for example `1.5`, `1e-05`, `1.23456789e+08`, `+Inf`.
pub(crate) fn general(value: f64) -> String {
    if let Some(text) = not_finite(value) {
        return text.to_owned();
    }
    let shortest = format!("{value:e}");
    let (digits, exponent) = split_exponent(&shortest);
    // Go's rule for the shortest form: six digits decide, however many are printed.
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let mut text = digits.to_owned();
    push_exponent(&mut text, exponent);
    text
}

/// Shortest text without an exponent: Go's `strconv.FormatFloat(x, 'f', -1, 64)`.
pub(super) fn shortest_fixed(value: f64) -> String {
    not_finite(value).map_or_else(|| format!("{value}"), str::to_owned)
}

/// Go's `%.6f`.
pub(super) fn six_decimals(value: f64) -> String {
    not_finite(value).map_or_else(|| format!("{value:.6}"), str::to_owned)
}

/// `%.Nf` of x/text: thousands separated by commas, `∞` for infinity. It rounds to `precision` places but pads with zeros only to
/// the remainder of `precision` by 256.
pub(super) fn grouped_fixed(value: f64, precision: u64) -> String {
    if let Some(text) = localized_not_finite(value) {
        return text.to_owned();
    }
    // No double has more decimal places than that, and Rust refuses to format with more than 65,535.
    const MOST_PLACES: u64 = 1074;
    let plain = format!("{:.*}", precision.min(MOST_PLACES) as usize, value.abs());
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let fraction = fraction.trim_end_matches('0');

    let mut text = String::with_capacity(plain.len() + whole.len() / 3 + 1);
    if value < 0.0 {
        text.push('-');
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    let places = fraction.len().max((precision % 256) as usize);
    if places > 0 {
        text.push('.');
        text.push_str(fraction);
        text.extend(std::iter::repeat_n('0', places - fraction.len()));
    }
    text
}

/// `%Ne` of x/text: `1.052033×10⁰³`. N is the least width, not a precision: cel-go 0.29 builds its format string so. The width is taken
/// by 65,536.
pub(super) fn superscript_scientific(value: f64, width: u64) -> String {
    let mut text = String::new();
    if let Some(special) = localized_not_finite(value) {
        text.push_str(special);
    } else {
        let value = if value == 0.0 { 0.0 } else { value };
        let plain = format!("{value:.6e}");
        let (digits, exponent) = split_exponent(&plain);
        text.push_str(digits);
        text.push_str("×10");
        if exponent < 0 {
            text.push('⁻');
        }
        for digit in format!("{:02}", exponent.unsigned_abs()).bytes() {
            const SUPERSCRIPT: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
            text.push(SUPERSCRIPT[usize::from(digit.saturating_sub(b'0')).min(9)]);
        }
    }
    let missing = ((width % 65_536) as usize).saturating_sub(text.chars().count());
    " ".repeat(missing) + &text
}

/// Go's `strconv.ParseFloat`: decimal or hexadecimal with `_` between digits, infinity and NaN in any case; `None` for a syntax
/// error or a number beyond the range.
pub(super) fn parse_double(text: &str) -> Option<f64> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'+' => (false, &text[1..]),
        b'-' => (true, &text[1..]),
        _ => (false, text),
    };
    let signed = |value: f64| if negative { -value } else { value };
    if unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity") {
        return Some(signed(f64::INFINITY));
    }
    if text.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    if !underscores_separate_digits(unsigned) {
        return None;
    }
    let digits = unsigned.replace('_', "");
    let value = match digits.get(..2) {
        Some("0x" | "0X") => parse_hexadecimal(&digits[2..])?,
        _ if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') => digits.parse().ok()?,
        _ => return None,
    };
    value.is_finite().then(|| signed(value))
}

/// The part of Go's syntax that says where `_` may stand: after a digit or a base prefix, and before a digit.
fn underscores_separate_digits(text: &str) -> bool {
    let mut after_digit = false;
    let mut after_underscore = false;
    let hexadecimal = text.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("0x"));
    for (index, byte) in text.bytes().enumerate() {
        let is_digit = byte.is_ascii_digit() || (hexadecimal && (index == 1 || byte.is_ascii_hexdigit()));
        if byte == b'_' {
            if !after_digit {
                return false;
            }
            (after_digit, after_underscore) = (false, true);
        } else {
            if after_underscore && !is_digit {
                return false;
            }
            (after_digit, after_underscore) = (is_digit, false);
        }
    }
    !after_underscore
}

/// `1.8p3`: hexadecimal digits, then a binary exponent, which must be there. Rounds to the nearest double, ties to even.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (digits, exponent) = text.split_once(['p', 'P'])?;
    if !exponent.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent: i64 = match exponent.parse() {
        Ok(exponent) => exponent,
        // Too many digits: whatever the mantissa, zero or out of range.
        Err(_) if exponent.len() > 2 && exponent.starts_with('-') => i64::MIN / 2,
        Err(_) if exponent.len() > 1 && exponent.ends_with(|c: char| c.is_ascii_digit()) => i64::MAX / 2,
        Err(_) => return None,
    };
    let (mut mantissa, mut scale, mut inexact) = (0_u64, 0_i64, false);
    let (mut seen_digit, mut seen_dot) = (false, false);
    for c in digits.chars() {
        if c == '.' && !seen_dot {
            seen_dot = true;
            continue;
        }
        let digit = u64::from(c.to_digit(16)?);
        seen_digit = true;
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
            scale -= i64::from(seen_dot) * 4;
        } else {
            inexact |= digit != 0;
            scale += i64::from(!seen_dot) * 4;
        }
    }
    if !seen_digit {
        return None;
    }
    Some(assemble(mantissa, scale.saturating_add(exponent), inexact))
}

/// `mantissa · 2^exponent`, a bit more when `inexact`, rounded to the nearest double.
fn assemble(mantissa: u64, exponent: i64, inexact: bool) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    // Position of the highest bit; a double keeps 53 bits from there, fewer below 2^-1022.
    let top = exponent.saturating_add(63 - i64::from(mantissa.leading_zeros()));
    if top > 1023 {
        return f64::INFINITY;
    }
    let lowest = (top - 52).max(-1074);
    let drop = lowest - exponent;
    let kept = if drop <= 0 {
        mantissa << -drop
    } else if drop > 64 {
        0
    } else {
        let wide = u128::from(mantissa) << 1 | u128::from(inexact);
        // `wide` has one bit more on the right, so that what is dropped still knows about `inexact`.
        let (kept, rest) = (wide >> (drop + 1), wide & ((1 << (drop + 1)) - 1));
        let half = 1 << drop;
        let up = rest > half || (rest == half && kept & 1 == 1);
        u64::try_from(kept).unwrap_or(u64::MAX) + u64::from(up)
    };
    // Exact: at most 54 bits, times a power of two in two steps because 2^-1074 is not a normal number.
    let half = lowest / 2;
    kept as f64 * power_of_two(half) * power_of_two(lowest - half)
}

fn power_of_two(exponent: i64) -> f64 {
    2_f64.powi(i32::try_from(exponent).unwrap_or(0))
}

fn not_finite(value: f64) -> Option<&'static str> {
    special(value, ["NaN", "+Inf", "-Inf"])
}

fn localized_not_finite(value: f64) -> Option<&'static str> {
    special(value, ["NaN", "∞", "-∞"])
}

fn special(value: f64, [nan, positive, negative]: [&'static str; 3]) -> Option<&'static str> {
    if value.is_nan() {
        Some(nan)
    } else if value.is_infinite() {
        Some(if value > 0.0 { positive } else { negative })
    } else {
        None
    }
}

/// Splits what Rust's `{:e}` prints.
fn split_exponent(text: &str) -> (&str, i32) {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (digits, exponent.parse().unwrap_or(0))
}

/// Appends an exponent as Go writes it: a sign and at least two digits.
fn push_exponent(text: &mut String, exponent: i32) {
    let sign = if exponent < 0 { '-' } else { '+' };
    // Writing to a string cannot fail.
    let _ = write!(text, "e{sign}{:02}", exponent.unsigned_abs());
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0.0, "0")]
    #[case(-0.0, "-0")]
    #[case(1.5, "1.5")]
    #[case(1.5e20, "1.5e+20")]
    #[case(123_456_789.0, "1.23456789e+08")]
    #[case(100_000.0, "100000")]
    #[case(1_000_000.0, "1e+06")]
    #[case(1_234_567.5, "1.2345675e+06")]
    #[case(0.0001, "0.0001")]
    #[case(0.00001, "1e-05")]
    #[case(f64::MIN_POSITIVE, "2.2250738585072014e-308")]
    #[case(f64::INFINITY, "+Inf")]
    #[case(f64::NEG_INFINITY, "-Inf")]
    #[case(f64::NAN, "NaN")]
    fn doubles_print_as_gos_shortest_form(#[case] value: f64, #[case] expected: &str) {
        assert_eq!(general(value), expected);
    }

    #[rstest]
    #[case(1234.5, 6, "1,234.500000")]
    #[case(-1234.5678, 3, "-1,234.568")]
    #[case(2.5, 0, "2")]
    #[case(99_999.5, 0, "100,000")]
    #[case(-0.0, 6, "0.000000")]
    #[case(-0.0001, 2, "-0.00")]
    #[case(1e23, 0, "99,999,999,999,999,991,611,392")]
    #[case(0.1, 20, "0.10000000000000000555")]
    #[case(1.5, 256, "1.5")]
    #[case(1.5, 259, "1.500")]
    #[case(f64::NEG_INFINITY, 6, "-∞")]
    fn fixed_point_is_grouped(#[case] value: f64, #[case] precision: u64, #[case] expected: &str) {
        assert_eq!(grouped_fixed(value, precision), expected);
    }

    #[rstest]
    #[case(1_000_000, 66)]
    #[case(1000, 234)]
    fn precision_wraps_as_in_x_text(#[case] precision: u64, #[case] length: usize) {
        assert_eq!(grouped_fixed(0.1, precision).len(), length);
    }

    #[rstest]
    #[case(1_052.032_911_275, 6, "1.052033×10⁰³")]
    #[case(-1e-100, 6, "-1.000000×10⁻¹⁰⁰")]
    #[case(-0.0, 6, "0.000000×10⁰⁰")]
    #[case(0.1, 20, "      1.000000×10⁻⁰¹")]
    #[case(f64::NAN, 6, "   NaN")]
    #[case(f64::INFINITY, 6, "     ∞")]
    #[case(f64::INFINITY, 0, "∞")]
    fn scientific_notation_is_superscript(#[case] value: f64, #[case] width: u64, #[case] expected: &str) {
        assert_eq!(superscript_scientific(value, width), expected);
    }

    #[rstest]
    #[case("1e3", Some(1000.0))]
    #[case("5.", Some(5.0))]
    #[case(".5", Some(0.5))]
    #[case("+1.5", Some(1.5))]
    #[case("1_0", Some(10.0))]
    #[case("1e-400", Some(0.0))]
    #[case("0x1p-2", Some(0.25))]
    #[case("-0X1.8p3", Some(-12.0))]
    #[case("0x1_0p0", Some(16.0))]
    #[case("0x_1p0", Some(1.0))]
    #[case("0x1p-1074", Some(5e-324))]
    #[case("0x1p-1075", Some(0.0))]
    #[case("0x1.8p-1075", Some(5e-324))]
    #[case("0x1.00000000000008p0", Some(1.0))]
    #[case("0x1.000000000000080000000000001p0", Some(1.000_000_000_000_000_2))]
    #[case("0x1.fffffffffffffp1023", Some(f64::MAX))]
    #[case("0x1p-99999999999999999999", Some(0.0))]
    #[case("iNf", Some(f64::INFINITY))]
    #[case("-Infinity", Some(f64::NEG_INFINITY))]
    #[case("1e400", None)]
    #[case("0x1p1024", None)]
    #[case("0x1p99999999999999999999", None)]
    #[case("1e", None)]
    #[case("0x1", None)]
    #[case("0x.p1", None)]
    #[case("0xp1", None)]
    #[case("1__0", None)]
    #[case("_1", None)]
    #[case("1_", None)]
    #[case("1_.5", None)]
    #[case("+nan", None)]
    #[case("+", None)]
    #[case("", None)]
    #[case(".", None)]
    #[case("--1", None)]
    #[case("1 ", None)]
    #[case("é", None)]
    fn doubles_are_read_as_go_reads_them(#[case] text: &str, #[case] expected: Option<f64>) {
        assert_eq!(parse_double(text), expected);
    }
}
