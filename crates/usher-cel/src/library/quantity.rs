//! Quantities: `quantity('1.5Gi')`, their arithmetic and order. apiserver `pkg/cel/library/quantity.go` over apimachinery
//! `pkg/api/resource`.
//!
//! As upstream, a quantity is an `int64` with a scale for as long as that fits, else a decimal of any size; `isInteger` tells only the
//! first kind, whatever the value.

use std::cmp::Ordering;

use super::cost;
use super::decimal::{Decimal, I64_DIGITS};
use super::opaque::OpaqueValue;
use super::overload::{Call, Overload, Ty};
use super::quantity_text::{self, NotAQuantity};
use crate::eval::{Arena, EvalError, EvalResult, Value};

const TYPE: Ty = Ty::Opaque("kubernetes.Quantity");

const SINCE: u8 = 28;
const TEXT: &[Ty] = &[Ty::String];
const ONE: &[Ty] = &[TYPE];
const TWO: &[Ty] = &[TYPE, TYPE];
const AND_INT: &[Ty] = &[TYPE, Ty::Int];

pub(super) const OVERLOADS: &[Overload] = &[
    Overload::global(SINCE, "quantity", TEXT, TYPE, quantity),
    Overload::global(SINCE, "isQuantity", TEXT, Ty::Bool, is_quantity),
    // Declared as a global function upstream, whatever the documentation says.
    Overload::global(SINCE, "sign", ONE, Ty::Int, sign),
    Overload::member(SINCE, "isInteger", ONE, Ty::Bool, is_integer),
    Overload::member(SINCE, "asInteger", ONE, Ty::Int, as_integer),
    Overload::member(SINCE, "asApproximateFloat", ONE, Ty::Double, as_approximate_float),
    Overload::member(SINCE, "add", TWO, TYPE, add),
    Overload::member(SINCE, "add", AND_INT, TYPE, add),
    Overload::member(SINCE, "sub", TWO, TYPE, sub),
    Overload::member(SINCE, "sub", AND_INT, TYPE, sub),
    Overload::member(SINCE, "isGreaterThan", TWO, Ty::Bool, |call, args| {
        Ok(Value::Bool(compare(call, args)?.is_gt()))
    }),
    Overload::member(SINCE, "isLessThan", TWO, Ty::Bool, |call, args| {
        Ok(Value::Bool(compare(call, args)?.is_lt()))
    }),
    Overload::member(SINCE, "compareTo", TWO, Ty::Int, |call, args| {
        Ok(Value::Int(compare(call, args)? as i64))
    }),
];

/// A number of something, exact.
#[derive(Clone, Copy, Debug)]
pub struct Quantity<'a>(pub(super) Amount<'a>);

#[derive(Clone, Copy, Debug)]
pub(super) enum Amount<'a> {
    /// `value · 10^scale`.
    Int {
        value: i64,
        scale: i32,
    },
    Decimal(Decimal<'a>),
}

impl<'a> Quantity<'a> {
    pub(super) const fn int(value: i64, scale: i32) -> Self {
        Self(Amount::Int { value, scale })
    }

    fn into_value(self, arena: &'a Arena) -> EvalResult<'a> {
        OpaqueValue::Quantity(self).into_value(arena)
    }

    fn signum(&self) -> i64 {
        match &self.0 {
            Amount::Int { value, .. } => value.signum(),
            Amount::Decimal(decimal) => decimal.signum(),
        }
    }

    /// The value if it is kept as an integer and fits.
    fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Amount::Int { value, scale } if scale >= 0 => scale_up(value, scale),
            _ => None,
        }
    }

    fn as_f64(&self) -> f64 {
        let (base, exponent) = match &self.0 {
            Amount::Int { value, scale } => (*value as f64, i64::from(*scale)),
            Amount::Decimal(decimal) => {
                // Digits parse to the nearest double, as upstream's conversion does.
                let base: f64 = decimal.unscaled_text().parse().unwrap_or(f64::INFINITY);
                (if decimal.is_negative() { -base } else { base }, -decimal.scale())
            }
        };
        if exponent == 0 { base } else { base * power_of_ten(exponent) }
    }

    fn decimal(&self, arena: &'a Arena) -> Result<Decimal<'a>, Box<EvalError>> {
        match self.0 {
            Amount::Int { value, scale } => Decimal::from_i64(value, -i64::from(scale), arena),
            Amount::Decimal(decimal) => Ok(decimal),
        }
    }

    fn add(&self, other: &Self, arena: &'a Arena) -> Result<Self, Box<EvalError>> {
        if let (Amount::Int { value: a, scale: a_scale }, Amount::Int { value: b, scale: b_scale }) =
            (self.0, other.0)
            && let Some(sum) = add_ints(a, a_scale, b, b_scale)
        {
            return Ok(sum);
        }
        Ok(Self(Amount::Decimal(self.decimal(arena)?.add(&other.decimal(arena)?, arena)?)))
    }

    fn sub(&self, other: &Self, arena: &'a Arena) -> Result<Self, Box<EvalError>> {
        // Upstream wraps as well: taking the least int64 from an int of zero or more adds it.
        if let (Amount::Int { value: a, scale: a_scale }, Amount::Int { value: b, scale: b_scale }) =
            (self.0, other.0)
            && let Some(difference) = add_ints(a, a_scale, b.wrapping_neg(), b_scale)
        {
            return Ok(difference);
        }
        Ok(Self(Amount::Decimal(self.decimal(arena)?.add(&other.decimal(arena)?.negated(), arena)?)))
    }

    /// By value, whatever the suffixes were.
    pub(super) fn compare(&self, other: &Quantity<'_>) -> Ordering {
        match (&self.0, &other.0) {
            (Amount::Int { value: a, scale: a_scale }, Amount::Int { value: b, scale: b_scale })
                if a_scale == b_scale =>
            {
                a.cmp(b)
            }
            (Amount::Decimal(a), Amount::Decimal(b)) => a.compare(b),
            (a, b) => {
                let (mut a_digits, mut b_digits) = ([0; I64_DIGITS], [0; I64_DIGITS]);
                a.as_decimal(&mut a_digits).compare(&b.as_decimal(&mut b_digits))
            }
        }
    }
}

impl Amount<'_> {
    /// Without an arena, for comparisons.
    fn as_decimal<'d>(&'d self, digits: &'d mut [u8; I64_DIGITS]) -> Decimal<'d> {
        match self {
            Self::Int { value, scale } => Decimal::from_i64_in(*value, -i64::from(*scale), digits),
            Self::Decimal(decimal) => *decimal,
        }
    }
}

fn add_ints<'a>(a: i64, a_scale: i32, b: i64, b_scale: i32) -> Option<Quantity<'a>> {
    if b == 0 {
        return Some(Quantity::int(a, a_scale));
    }
    if a == 0 {
        return Some(Quantity::int(b, b_scale));
    }
    let scale = a_scale.min(b_scale);
    let a = scale_up(a, a_scale.checked_sub(scale)?)?;
    let b = scale_up(b, b_scale.checked_sub(scale)?)?;
    Some(Quantity::int(a.checked_add(b)?, scale))
}

/// `value · 10^scale` if that is an `int64`.
fn scale_up(value: i64, scale: i32) -> Option<i64> {
    if value == 0 {
        return Some(0);
    }
    10_i64.checked_pow(u32::try_from(scale).ok()?)?.checked_mul(value)
}

/// Go's `math.Pow10`: products of two table entries, not always the nearest double.
fn power_of_ten(exponent: i64) -> f64 {
    const SMALL: [f64; 32] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31,
    ];
    const LARGE: [f64; 10] = [1e0, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288];
    const TINY: [f64; 11] =
        [1e0, 1e-32, 1e-64, 1e-96, 1e-128, 1e-160, 1e-192, 1e-224, 1e-256, 1e-288, 1e-320];
    let at = usize::try_from(exponent.unsigned_abs()).unwrap_or(usize::MAX);
    match exponent {
        0..=308 => LARGE[at / 32] * SMALL[at % 32],
        -323..=-1 => TINY[at / 32] / SMALL[at % 32],
        309.. => f64::INFINITY,
        _ => 0.0,
    }
}

fn quantity<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    match parse(call, args)? {
        Ok(quantity) => quantity.into_value(call.arena),
        Err(error) => Err(EvalError::invalid(error.to_string())),
    }
}

fn is_quantity<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    Ok(Value::Bool(parse(call, args)?.is_ok()))
}

fn parse<'a>(
    call: &mut Call<'_, '_, 'a>,
    args: &[Value<'a>],
) -> Result<Result<Quantity<'a>, NotAQuantity>, Box<EvalError>> {
    let [Value::String(text)] = *args else { return Err(EvalError::no_such_overload()) };
    call.charge(cost::traversal(cost::size(text)))?;
    quantity_text::parse(text, call.arena)
}

fn sign<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(Value::Int(receiver(args)?.signum()))
}

fn is_integer<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(Value::Bool(receiver(args)?.as_i64().is_some()))
}

fn as_integer<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    match receiver(args)?.as_i64() {
        Some(int) => Ok(Value::Int(int)),
        None => Err(EvalError::invalid("cannot convert value to integer")),
    }
}

fn as_approximate_float<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(Value::Double(receiver(args)?.as_f64()))
}

fn add<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    receiver(args)?.add(&operand(args)?, call.arena)?.into_value(call.arena)
}

fn sub<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    receiver(args)?.sub(&operand(args)?, call.arena)?.into_value(call.arena)
}

fn compare(call: &mut Call<'_, '_, '_>, args: &[Value<'_>]) -> Result<Ordering, Box<EvalError>> {
    call.charge(1)?;
    Ok(receiver(args)?.compare(&operand(args)?))
}

fn receiver<'a>(args: &[Value<'a>]) -> Result<Quantity<'a>, Box<EvalError>> {
    match args {
        [Value::Opaque(OpaqueValue::Quantity(quantity)), ..] => Ok(*quantity),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn operand<'a>(args: &[Value<'a>]) -> Result<Quantity<'a>, Box<EvalError>> {
    match args {
        [_, Value::Opaque(OpaqueValue::Quantity(quantity))] => Ok(*quantity),
        [_, Value::Int(int)] => Ok(Quantity::int(*int, 0)),
        _ => Err(EvalError::no_such_overload()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::{Library, show, string};
    use super::*;

    fn of<'a>(library: &'a Library<'_>, text: &'a str) -> Value<'a> {
        library.global("quantity", &[string(text)]).expect("a quantity")
    }

    #[rstest]
    #[case("1Gi", "1024Mi", 0)]
    #[case("1k", "1000", 0)]
    #[case("1500m", "1.5", 0)]
    #[case("0.1", "100m", 0)]
    #[case("1e100", "1E", 1)]
    #[case("-1", "0.5", -1)]
    #[case("9Ei", "9223372036854775807", 0)]
    #[case("12345678901234567890123", "12345678901234567890124", -1)]
    #[case("0", "0e5", 0)]
    fn quantities_compare_by_value(#[case] a: &str, #[case] b: &str, #[case] order: i64) {
        let library = Library::default();
        let (a, b) = (of(&library, a), of(&library, b));
        assert_eq!(show(library.member("compareTo", &[a, b])), order.to_string());
        assert_eq!(show(library.member("compareTo", &[b, a])), (-order).to_string());
        assert_eq!(show(library.member("isLessThan", &[a, b])), (order < 0).to_string());
        assert_eq!(show(library.member("isGreaterThan", &[a, b])), (order > 0).to_string());
        assert_eq!(crate::eval::equal(&a, &b), order == 0);
    }

    #[rstest]
    #[case("1Gi", "1Mi", "1025Mi", "1023Mi")]
    #[case("1.5", "500m", "2", "1")]
    #[case("9223372036854775807", "1", "9223372036854775808", "9223372036854775806")]
    #[case("1e18", "9e18", "1e19", "-8e18")]
    #[case("1n", "1E", "1000000000000000000.000000001", "-999999999999999999.999999999")]
    #[case("0", "5m", "5m", "-5m")]
    fn sums_and_differences_are_exact(
        #[case] a: &str,
        #[case] b: &str,
        #[case] sum: &str,
        #[case] difference: &str,
    ) {
        let library = Library::default();
        let (a, b) = (of(&library, a), of(&library, b));
        for (function, expected) in [("add", sum), ("sub", difference)] {
            let answer = library.member(function, &[a, b]).expect("a quantity");
            assert!(crate::eval::equal(&answer, &of(&library, expected)), "{function}: {answer:?}");
        }
    }

    #[test]
    fn ints_can_be_added_and_subtracted() {
        let library = Library::default();
        let quantity = of(&library, "1.5");
        let more = library.member("add", &[quantity, Value::Int(2)]).expect("a quantity");
        let less = library.member("sub", &[quantity, Value::Int(2)]).expect("a quantity");
        assert!(crate::eval::equal(&more, &of(&library, "3500m")));
        assert!(crate::eval::equal(&less, &of(&library, "-0.5")));
    }

    #[rstest]
    #[case("50k", "50000")]
    #[case("1E", "1000000000000000000")]
    #[case("10E", "cannot convert value to integer")]
    #[case("1.5", "cannot convert value to integer")]
    #[case("1000m", "cannot convert value to integer")]
    fn integers_are_what_is_kept_as_such(#[case] text: &str, #[case] answer: &str) {
        let library = Library::default();
        let quantity = of(&library, text);
        assert_eq!(show(library.member("asInteger", &[quantity])), answer);
        let is_integer = (!answer.starts_with("cannot")).to_string();
        assert_eq!(show(library.member("isInteger", &[quantity])), is_integer);
    }

    #[test]
    fn costs_are_one_each_and_the_text_for_parsing() {
        let library = Library::default();
        let quantity = of(&library, "100000000000");
        assert_eq!(library.spent(), 2);
        library.member("add", &[quantity, quantity]).expect("a quantity");
        library.global("sign", &[quantity]).expect("a sign");
        assert_eq!(library.spent(), 4);
    }

    #[test]
    fn sums_that_would_need_endless_digits_are_an_error() {
        let library = Library::default();
        let answer = library.member("add", &[of(&library, "1e2000000000"), of(&library, "1")]);
        assert_eq!(show(answer), "a quantity of more than 100000 digits is not supported");
    }
}
