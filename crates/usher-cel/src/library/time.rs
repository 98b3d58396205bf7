//! Timestamps and durations: how Go reads a duration, and the accessors `getFullYear` … `getMilliseconds`.
//! cel-go `common/stdlib` and `common/types`; every accessor costs 1. Without a zone they answer in UTC.

use jiff::tz::TimeZone;

use super::overload::{Call, Form, Implementation, Overload, Ty};
use crate::eval::civil::Civil;
use crate::eval::{EvalError, EvalResult, Timestamp, Value};

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

const TIMESTAMP: &[Ty] = &[Ty::Timestamp];
const TIMESTAMP_IN_ZONE: &[Ty] = &[Ty::Timestamp, Ty::String];
const DURATION: &[Ty] = &[Ty::Duration];

pub(super) const OVERLOADS: &[Overload] = &[
    member("getFullYear", TIMESTAMP, |call, args| read(call, args, |time| time.year)),
    member("getFullYear", TIMESTAMP_IN_ZONE, |call, args| read(call, args, |time| time.year)),
    // Months and days count from 0, except in `getDate`.
    member("getMonth", TIMESTAMP, |call, args| read(call, args, |time| time.month - 1)),
    member("getMonth", TIMESTAMP_IN_ZONE, |call, args| read(call, args, |time| time.month - 1)),
    member("getDayOfYear", TIMESTAMP, |call, args| read(call, args, Civil::day_of_year)),
    member("getDayOfYear", TIMESTAMP_IN_ZONE, |call, args| read(call, args, Civil::day_of_year)),
    member("getDayOfMonth", TIMESTAMP, |call, args| read(call, args, |time| time.day - 1)),
    member("getDayOfMonth", TIMESTAMP_IN_ZONE, |call, args| read(call, args, |time| time.day - 1)),
    member("getDate", TIMESTAMP, |call, args| read(call, args, |time| time.day)),
    member("getDate", TIMESTAMP_IN_ZONE, |call, args| read(call, args, |time| time.day)),
    member("getDayOfWeek", TIMESTAMP, |call, args| read(call, args, Civil::day_of_week)),
    member("getDayOfWeek", TIMESTAMP_IN_ZONE, |call, args| read(call, args, Civil::day_of_week)),
    member("getHours", TIMESTAMP, |call, args| read(call, args, |time| time.second_of_day / 3600)),
    member("getHours", TIMESTAMP_IN_ZONE, |call, args| read(call, args, |time| time.second_of_day / 3600)),
    member("getHours", DURATION, |call, args| total(call, args, HOUR)),
    member("getMinutes", TIMESTAMP, |call, args| read(call, args, |time| time.second_of_day / 60 % 60)),
    member("getMinutes", TIMESTAMP_IN_ZONE, |call, args| {
        read(call, args, |time| time.second_of_day / 60 % 60)
    }),
    member("getMinutes", DURATION, |call, args| total(call, args, MINUTE)),
    member("getSeconds", TIMESTAMP, |call, args| read(call, args, |time| time.second_of_day % 60)),
    member("getSeconds", TIMESTAMP_IN_ZONE, |call, args| read(call, args, |time| time.second_of_day % 60)),
    member("getSeconds", DURATION, |call, args| total(call, args, SECOND)),
    member("getMilliseconds", TIMESTAMP, |call, args| read(call, args, |time| time.millisecond)),
    member("getMilliseconds", TIMESTAMP_IN_ZONE, |call, args| read(call, args, |time| time.millisecond)),
    // The whole duration, as in Kubernetes; the CEL specification wants only what exceeds full seconds.
    member("getMilliseconds", DURATION, |call, args| total(call, args, SECOND / 1000)),
];

const fn member(name: &'static str, params: &'static [Ty], call: Implementation) -> Overload {
    Overload {
        name,
        form: Form::Member,
        params,
        result: Ty::Int,
        since: 23,
        until: u8::MAX,
        call,
        prepare: None,
    }
}

fn read<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>], part: fn(&Civil) -> i64) -> EvalResult<'a> {
    call.charge(1)?;
    let civil = match args {
        [Value::Timestamp(time)] => Civil::new(*time, 0),
        [Value::Timestamp(time), Value::String(zone)] => Civil::new(*time, offset_in(zone, *time)?),
        _ => return Err(EvalError::no_such_overload()),
    };
    Ok(Value::Int(part(&civil)))
}

fn total<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>], unit: i64) -> EvalResult<'a> {
    call.charge(1)?;
    match args {
        [Value::Duration(nanoseconds)] => Ok(Value::Int(nanoseconds / unit)),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// Seconds east of UTC that clocks in `zone` show at `time`. A zone is the name of an IANA time zone, exactly as written there, or
/// hours and minutes with an optional sign.
fn offset_in(zone: &str, time: Timestamp) -> Result<i64, Box<EvalError>> {
    if let Some((hours, minutes)) = zone.split_once(':') {
        let (hours, minutes) = (offset_part(hours)?, offset_part(minutes)?);
        // Go computes in nanoseconds and lets them wrap.
        let total = if zone.starts_with('-') {
            hours.wrapping_mul(60).wrapping_sub(minutes)
        } else {
            hours.wrapping_mul(60).wrapping_add(minutes)
        };
        return Ok(total.wrapping_mul(MINUTE) / SECOND);
    }
    // A server of Kubernetes runs in UTC, which `Local` means there.
    if matches!(zone, "" | "UTC" | "Local") {
        return Ok(0);
    }
    if zone.starts_with(['/', '\\']) || zone.contains("..") {
        return Err(EvalError::invalid("time: invalid location name"));
    }
    TimeZone::get(zone)
        .ok()
        // jiff takes a name in any case.
        .filter(|found| found.iana_name() == Some(zone))
        .map(|found| i64::from(found.to_offset(nearest(time)).seconds()))
        .ok_or_else(|| EvalError::invalid(format!("unknown time zone {zone}")))
}

fn offset_part(text: &str) -> Result<i64, Box<EvalError>> {
    text.parse().map_err(|_| {
        // Go reads from the left as an unsigned number, and stops at what comes first.
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let begin = digits.bytes().take_while(u8::is_ascii_digit).count();
        let too_large = digits[..begin].parse::<u64>().is_err() && begin > 0;
        let cause = if too_large || (begin == digits.len() && begin > 0) {
            "value out of range"
        } else {
            "invalid syntax"
        };
        EvalError::invalid(format!("strconv.Atoi: parsing {text:?}: {cause}"))
    })
}

/// The nearest time that jiff can hold: its range ends a day before CEL's.
fn nearest(time: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_second(time.seconds()).unwrap_or(jiff::Timestamp::MAX)
}

/// Reads a duration as Go's `time.ParseDuration`: nanoseconds, or `None` for a syntax error or more than 292 years.
pub(super) fn parse_duration(text: &str) -> Option<i64> {
    const LIMIT: u64 = 1 << 63;
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        let (whole, after_whole) = split_digits(rest);
        let (fraction, after) = match after_whole.strip_prefix('.') {
            Some(after_dot) => split_digits(after_dot),
            None => ("", after_whole),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit_length = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let unit = unit_of(&after[..unit_length])?;
        rest = &after[unit_length..];

        let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()? };
        let mut value = whole.checked_mul(unit).filter(|value| *value <= LIMIT)?;
        let (digits, scale) = fraction_of(fraction);
        value += (digits as f64 * (unit as f64 / scale)) as u64;
        total = total.checked_add(value).filter(|total| *total <= LIMIT && value <= LIMIT)?;
    }
    if negative { Some((total as i64).wrapping_neg()) } else { i64::try_from(total).ok() }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// The digits of a fraction and the power of ten to divide them by; digits that no longer fit are dropped.
fn fraction_of(digits: &str) -> (u64, f64) {
    let (mut value, mut scale) = (0_u64, 1.0);
    for digit in digits.bytes().map(|byte| u64::from(byte - b'0')) {
        let next = value.checked_mul(10).and_then(|shifted| shifted.checked_add(digit));
        let Some(next) = next.filter(|next| value <= (i64::MAX / 10) as u64 && *next <= 1 << 63) else {
            break;
        };
        (value, scale) = (next, scale * 10.0);
    }
    (value, scale)
}

fn unit_of(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        // The micro sign and the Greek letter.
        "us" | "µs" | "μs" => 1000,
        "ms" => 1_000_000,
        "s" => SECOND.unsigned_abs(),
        "m" => MINUTE.unsigned_abs(),
        "h" => HOUR.unsigned_abs(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
