//! Decimals of any size in an arena: what a quantity becomes when it does not fit an `int64` and a scale.
//!
//! Every operation is linear in the digits, and digits are bounded, so no text and no sum can be made to run away.

use std::cmp::Ordering;

use crate::eval::{Arena, ErrorKind, EvalError};

/// More digits than this are refused. Texts of requests are far shorter; exponents are not (`1e2000000000`).
const MAX_DIGITS: usize = 100_000;

/// Digits of the longest `int64`.
pub(super) const I64_DIGITS: usize = 19;

type Result<T> = std::result::Result<T, Box<EvalError>>;

/// `±digits · 10^-scale`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal<'a> {
    negative: bool,
    /// From 0 to 9, most significant first, without leading zeros; empty for zero.
    digits: &'a [u8],
    scale: i64,
}

impl<'a> Decimal<'a> {
    pub(super) fn from_i64(value: i64, scale: i64, arena: &'a Arena) -> Result<Self> {
        let text = value.unsigned_abs().to_string();
        Self::from_ascii(value < 0, text.as_bytes(), scale, arena)
    }

    /// From ASCII digits.
    pub(super) fn from_ascii(negative: bool, text: &[u8], scale: i64, arena: &'a Arena) -> Result<Self> {
        let mut digits = Digits::with_capacity(text.len(), arena)?;
        for digit in text {
            digits.push(digit - b'0')?;
        }
        Ok(digits.into_decimal(negative, scale))
    }

    /// Without an arena: the digits live in `buffer`.
    pub(super) fn from_i64_in(value: i64, scale: i64, buffer: &'a mut [u8; I64_DIGITS]) -> Self {
        let mut rest = value.unsigned_abs();
        let mut first = I64_DIGITS;
        while rest > 0 {
            first -= 1;
            buffer[first] = (rest % 10) as u8;
            rest /= 10;
        }
        Self { negative: value < 0, digits: &buffer[first..], scale }
    }

    pub(super) fn magnitude(self) -> Self {
        Self { negative: false, ..self }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative && !self.is_zero()
    }

    pub(super) fn scale(&self) -> i64 {
        self.scale
    }

    /// The digits as a number, without sign and scale.
    pub(super) fn unscaled_text(&self) -> String {
        if self.is_zero() {
            "0".into()
        } else {
            self.digits.iter().map(|digit| char::from(b'0' + digit)).collect()
        }
    }

    /// `self · 2^exponent`; `exponent` is at most 60.
    pub(super) fn shift_left(&self, exponent: u32, arena: &'a Arena) -> Result<Self> {
        const EXTRA_DIGITS: usize = 20;
        let mut reversed = Vec::with_capacity(self.digits.len() + EXTRA_DIGITS);
        let mut carry = 0u128;
        for digit in self.digits.iter().rev() {
            carry += u128::from(*digit) << exponent;
            reversed.push((carry % 10) as u8);
            carry /= 10;
        }
        while carry > 0 {
            reversed.push((carry % 10) as u8);
            carry /= 10;
        }
        Self::from_reversed(self.negative, &reversed, self.scale, arena)
    }

    /// The same value with `scale` digits behind the point; what is cut off rounds away from zero.
    pub(super) fn round_up(&self, scale: i64, arena: &'a Arena) -> Result<Self> {
        if scale >= self.scale {
            return self.with_scale(scale, arena);
        }
        let cut = usize::try_from(self.scale - scale).unwrap_or(usize::MAX).min(self.digits.len());
        let (kept, rest) = self.digits.split_at(self.digits.len() - cut);
        // When more is cut than there is, all of it is behind the point.
        let mut reversed: Vec<u8> = kept.iter().rev().copied().collect();
        if rest.iter().any(|digit| *digit != 0) {
            increment(&mut reversed);
        }
        Self::from_reversed(self.negative, &reversed, scale, arena)
    }

    pub(super) fn negated(self) -> Self {
        Self { negative: !self.negative, ..self }
    }

    pub(super) fn add(&self, other: &Self, arena: &'a Arena) -> Result<Self> {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.with_scale(scale, arena)?, other.with_scale(scale, arena)?);
        if a.negative == b.negative {
            return Self::from_reversed(a.negative, &sum(a.digits, b.digits), scale, arena);
        }
        let (larger, smaller) = if compare_digits(a.digits, b.digits).is_ge() { (a, b) } else { (b, a) };
        Self::from_reversed(larger.negative, &difference(larger.digits, smaller.digits), scale, arena)
    }

    pub(super) fn compare(&self, other: &Decimal<'_>) -> Ordering {
        match (self.signum(), other.signum()) {
            (-1, -1) => self.compare_magnitudes(other).reverse(),
            (1, 1) => self.compare_magnitudes(other),
            (a, b) => a.cmp(&b),
        }
    }

    pub(super) fn signum(&self) -> i64 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// Neither is zero.
    fn compare_magnitudes(&self, other: &Decimal<'_>) -> Ordering {
        let whole_digits = |decimal: &Decimal<'_>| decimal.digits.len() as i64 - decimal.scale;
        whole_digits(self).cmp(&whole_digits(other)).then_with(|| {
            let length = self.digits.len().max(other.digits.len());
            let padded = |digits: &[u8], at: usize| digits.get(at).copied().unwrap_or(0);
            (0..length)
                .map(|at| padded(self.digits, at).cmp(&padded(other.digits, at)))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }

    /// The same value with more digits behind the point.
    fn with_scale(&self, scale: i64, arena: &'a Arena) -> Result<Self> {
        let zeros = usize::try_from(scale - self.scale).unwrap_or(0);
        if zeros == 0 || self.is_zero() {
            return Ok(Self { scale, ..*self });
        }
        let mut digits = Digits::with_capacity(self.digits.len().saturating_add(zeros), arena)?;
        digits.list.extend(self.digits)?;
        digits.list.extend_with(0, zeros)?;
        Ok(digits.into_decimal(self.negative, scale))
    }

    fn from_reversed(negative: bool, reversed: &[u8], scale: i64, arena: &'a Arena) -> Result<Self> {
        let mut digits = Digits::with_capacity(reversed.len(), arena)?;
        for digit in reversed.iter().rev() {
            digits.push(*digit)?;
        }
        Ok(digits.into_decimal(negative, scale))
    }
}

/// Digits on their way into the arena.
struct Digits<'a> {
    list: crate::eval::ListBuilder<'a, u8>,
}

impl<'a> Digits<'a> {
    fn with_capacity(capacity: usize, arena: &'a Arena) -> Result<Self> {
        if capacity > MAX_DIGITS {
            return Err(EvalError::new(
                ErrorKind::Overflow,
                format!("a quantity of more than {MAX_DIGITS} digits is not supported"),
            ));
        }
        Ok(Self { list: arena.list(capacity)? })
    }

    fn push(&mut self, digit: u8) -> Result<()> {
        if digit == 0 && self.list.is_empty() { Ok(()) } else { self.list.push(digit) }
    }

    fn into_decimal(self, negative: bool, scale: i64) -> Decimal<'a> {
        Decimal { negative, digits: self.list.finish(), scale }
    }
}

/// Least significant digit first.
fn increment(reversed: &mut Vec<u8>) {
    for digit in reversed.iter_mut() {
        if *digit < 9 {
            *digit += 1;
            return;
        }
        *digit = 0;
    }
    reversed.push(1);
}

/// Whole numbers.
fn compare_digits(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Least significant digit first.
fn sum(a: &[u8], b: &[u8]) -> Vec<u8> {
    let length = a.len().max(b.len());
    let mut carry = 0;
    let mut reversed = Vec::with_capacity(length + 1);
    for at in 0..length {
        let total = from_end(a, at) + from_end(b, at) + carry;
        reversed.push(total % 10);
        carry = total / 10;
    }
    reversed.push(carry);
    reversed
}

/// Least significant digit first; `a` is not less than `b`.
fn difference(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut borrow = 0;
    let mut reversed = Vec::with_capacity(a.len());
    for at in 0..a.len() {
        let (have, take) = (from_end(a, at), from_end(b, at) + borrow);
        borrow = u8::from(have < take);
        reversed.push(have + 10 * borrow - take);
    }
    reversed
}

fn from_end(digits: &[u8], at: usize) -> u8 {
    digits.len().checked_sub(at + 1).map_or(0, |at| digits[at])
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn decimal<'a>(text: &str, arena: &'a Arena) -> Decimal<'a> {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{fraction}");
        Decimal::from_ascii(negative, digits.as_bytes(), fraction.len() as i64, arena).expect("fits")
    }

    #[rstest]
    #[case("1", "2", "3")]
    #[case("1.5", "-0.25", "1.25")]
    #[case("-1", "1", "0")]
    #[case("999999999999999999999999", "1", "1000000000000000000000000")]
    #[case("1", "-1000000000000000000000000", "-999999999999999999999999")]
    #[case("-0.1", "-0.01", "-0.11")]
    fn decimals_add_exactly(#[case] a: &str, #[case] b: &str, #[case] sum: &str) {
        let arena = Arena::default();
        let [a, b, sum] = [a, b, sum].map(|text| decimal(text, &arena));
        assert!(a.add(&b, &arena).expect("fits").compare(&sum).is_eq());
        assert!(b.add(&a, &arena).expect("fits").compare(&sum).is_eq());
    }

    #[test]
    fn decimals_are_ordered_by_value() {
        let arena = Arena::default();
        let ascending =
            ["-10", "-1.5", "-1", "0", "0.001", "0.01", "1.0", "1.01", "2", "10", "1000000000000000000000"];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(decimal(a, &arena).compare(&decimal(b, &arena)), i.cmp(&j), "{a} {b}");
            }
        }
    }

    #[rstest]
    #[case("1.21", 1, "1.3")]
    #[case("-1.21", 1, "-1.3")]
    #[case("1.2", 1, "1.2")]
    #[case("9.99", 0, "10")]
    #[case("0.001", 0, "1")]
    #[case("5", 2, "5")]
    fn what_is_cut_off_rounds_away_from_zero(#[case] text: &str, #[case] scale: i64, #[case] rounded: &str) {
        let arena = Arena::default();
        let answer = decimal(text, &arena).round_up(scale, &arena).expect("fits");
        assert!(answer.compare(&decimal(rounded, &arena)).is_eq(), "{answer:?}");
        assert_eq!(answer.scale(), scale);
    }

    #[test]
    fn powers_of_two_multiply_exactly() {
        let arena = Arena::default();
        let shifted = decimal("12345678901234567890.5", &arena).shift_left(60, &arena).expect("fits");
        assert_eq!(shifted.unscaled_text(), "142335986942043633769865675030166241280");
    }
}
