//! Type conversions: `int`, `uint`, `double`, `string`, `bytes`, `bool`, `timestamp`, `duration`, `type`, `dyn`. cel-go `common/types`;
//! they cost 1, between strings and bytes 0.1 per code point or byte.

use super::cost;
use super::number::{general, parse_double, shortest_fixed};
use super::overload::{Call, Form, Overload, Ty};
use super::time::parse_duration;
use crate::eval::{ErrorKind, EvalError, EvalResult, Timestamp, Value, type_name};

pub(super) const OVERLOADS: &[Overload] = &[
    global("bool", &[Ty::Bool], Ty::Bool, identity),
    global("bool", &[Ty::String], Ty::Bool, to_bool),
    global("bytes", &[Ty::Bytes], Ty::Bytes, identity),
    global("bytes", &[Ty::String], Ty::Bytes, to_bytes),
    global("double", &[Ty::Double], Ty::Double, identity),
    global("double", &[Ty::Int], Ty::Double, to_double),
    global("double", &[Ty::String], Ty::Double, to_double),
    global("double", &[Ty::Uint], Ty::Double, to_double),
    global("duration", &[Ty::Duration], Ty::Duration, identity),
    // It is declared and refuses every number.
    global("duration", &[Ty::Int], Ty::Duration, to_duration).before_1_37(),
    global("duration", &[Ty::String], Ty::Duration, to_duration),
    global("dyn", &[Ty::Param("A")], Ty::Dyn, identity),
    global("int", &[Ty::Int], Ty::Int, identity),
    global("int", &[Ty::Double], Ty::Int, to_int),
    global("int", &[Ty::Duration], Ty::Int, to_int),
    global("int", &[Ty::String], Ty::Int, to_int),
    global("int", &[Ty::Timestamp], Ty::Int, to_int),
    global("int", &[Ty::Uint], Ty::Int, to_int),
    global("string", &[Ty::String], Ty::String, identity),
    global("string", &[Ty::Bool], Ty::String, to_string),
    global("string", &[Ty::Bytes], Ty::String, to_string),
    global("string", &[Ty::Double], Ty::String, to_string),
    global("string", &[Ty::Duration], Ty::String, to_string),
    global("string", &[Ty::Int], Ty::String, to_string),
    global("string", &[Ty::Timestamp], Ty::String, to_string),
    global("string", &[Ty::Uint], Ty::String, to_string),
    global("timestamp", &[Ty::Timestamp], Ty::Timestamp, identity),
    global("timestamp", &[Ty::Int], Ty::Timestamp, to_timestamp),
    global("timestamp", &[Ty::String], Ty::Timestamp, to_timestamp),
    global("type", &[Ty::Param("A")], Ty::Type, to_type),
    global("uint", &[Ty::Uint], Ty::Uint, identity),
    global("uint", &[Ty::Double], Ty::Uint, to_uint),
    global("uint", &[Ty::Int], Ty::Uint, to_uint),
    global("uint", &[Ty::String], Ty::Uint, to_uint),
];

const fn global(
    name: &'static str,
    params: &'static [Ty],
    result: Ty,
    call: super::Implementation,
) -> Overload {
    Overload { name, form: Form::Global, params, result, since: 23, until: u8::MAX, call, prepare: None }
}

/// The text of a value as `string(x)` gives it, for the types that it takes.
///
/// # Errors
/// For bytes that are not UTF-8, and for types that have no text.
pub(super) fn text_of(value: &Value<'_>) -> Result<String, Box<EvalError>> {
    Ok(match value {
        Value::String(text) => (*text).to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => general(*value),
        Value::Bytes(bytes) => utf8(bytes)?.to_owned(),
        Value::Timestamp(time) => time.to_string(),
        Value::Duration(nanoseconds) => format!("{}s", shortest_fixed(seconds(*nanoseconds))),
        Value::Type(name) => (*name).to_owned(),
        _ => return Err(conversion_error(value, "string")),
    })
}

fn identity<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(*only(args)?)
}

fn to_bool<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    match only(args)? {
        Value::String("1" | "t" | "T" | "TRUE" | "true" | "True") => Ok(Value::Bool(true)),
        Value::String("0" | "f" | "F" | "FALSE" | "false" | "False") => Ok(Value::Bool(false)),
        other => Err(conversion_error(other, "bool")),
    }
}

fn to_bytes<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let value = only(args)?;
    let Value::String(text) = value else { return Err(conversion_error(value, "bytes")) };
    call.charge(cost::traversal(cost::size(text)))?;
    Ok(Value::Bytes(text.as_bytes()))
}

fn to_double<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let value = only(args)?;
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Uint(value) => Some(*value as f64),
        Value::String(text) => parse_double(text),
        _ => None,
    }
    .map(Value::Double)
    .ok_or_else(|| conversion_error(value, "double"))
}

fn to_duration<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let value = only(args)?;
    match value {
        Value::String(text) => parse_duration(text),
        _ => None,
    }
    .map(Value::Duration)
    .ok_or_else(|| conversion_error(value, "google.protobuf.Duration"))
}

fn to_int<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let value = only(args)?;
    Ok(Value::Int(match value {
        Value::Uint(value) => i64::try_from(*value).map_err(|_| overflow("integer overflow"))?,
        // Both ends are excluded, as in cel-go: -2^63 itself is an error.
        Value::Double(value) if *value > i64::MIN as f64 && *value < i64::MAX as f64 => *value as i64,
        Value::Double(_) => return Err(overflow("integer overflow")),
        Value::Duration(nanoseconds) => *nanoseconds,
        Value::Timestamp(time) => time.seconds(),
        Value::String(text) => text.parse().map_err(|_| conversion_error(value, "int"))?,
        _ => return Err(conversion_error(value, "int")),
    }))
}

fn to_uint<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let value = only(args)?;
    Ok(Value::Uint(match value {
        Value::Int(value) => u64::try_from(*value).map_err(|_| overflow("unsigned integer overflow"))?,
        Value::Double(value) if *value >= 0.0 && *value < u64::MAX as f64 => *value as u64,
        Value::Double(_) => return Err(overflow("unsigned integer overflow")),
        // Go takes no sign here, Rust a plus.
        Value::String(text) if !text.starts_with('+') => {
            text.parse().map_err(|_| conversion_error(value, "uint"))?
        }
        _ => return Err(conversion_error(value, "uint")),
    }))
}

fn to_string<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    let value = only(args)?;
    if let Value::Bytes(bytes) = value {
        call.charge(cost::traversal(bytes.len() as u64))?;
        return Ok(Value::String(utf8(bytes)?));
    }
    call.charge(1)?;
    Ok(Value::String(call.arena.alloc_str(&text_of(value)?)?))
}

fn to_timestamp<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    let value = only(args)?;
    Ok(Value::Timestamp(match value {
        Value::Int(seconds) => Timestamp::from_unix(*seconds, 0)?,
        Value::String(text) => text.parse()?,
        _ => return Err(conversion_error(value, "google.protobuf.Timestamp")),
    }))
}

fn to_type<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    call.charge(1)?;
    Ok(Value::Type(type_name(only(args)?)))
}

fn only<'v, 'a>(args: &'v [Value<'a>]) -> Result<&'v Value<'a>, Box<EvalError>> {
    args.first().ok_or_else(EvalError::no_such_overload)
}

fn utf8(bytes: &[u8]) -> Result<&str, Box<EvalError>> {
    std::str::from_utf8(bytes)
        .map_err(|_| EvalError::invalid("invalid UTF-8 in bytes, cannot convert to string"))
}

/// Seconds as Go's `Duration.Seconds`: whole and fractional part are turned into doubles one by one.
fn seconds(nanoseconds: i64) -> f64 {
    (nanoseconds / 1_000_000_000) as f64 + (nanoseconds % 1_000_000_000) as f64 / 1e9
}

fn conversion_error(value: &Value<'_>, to: &str) -> Box<EvalError> {
    EvalError::invalid(format!("type conversion error from '{}' to '{to}'", type_name(value)))
}

fn overflow(message: &str) -> Box<EvalError> {
    EvalError::new(ErrorKind::Overflow, message)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::{check, time};
    use super::*;
    use Value::{Bool, Bytes, Double, Duration, Int, List, Null, String, Type, Uint};

    #[rstest]
    #[case::int("int", Int(7), Ok(Int(7)))]
    #[case::int_of_double("int", Double(-7.9), Ok(Int(-7)))]
    #[case::int_of_double_too_large("int", Double(9_223_372_036_854_775_807.0), Err("integer overflow"))]
    #[case::int_of_smallest_double("int", Double(-9_223_372_036_854_775_808.0), Err("integer overflow"))]
    #[case::int_of_nan("int", Double(f64::NAN), Err("integer overflow"))]
    #[case::int_of_uint("int", Uint(u64::MAX), Err("integer overflow"))]
    #[case::int_of_string("int", String("+5"), Ok(Int(5)))]
    #[case::int_of_smallest("int", String("-9223372036854775808"), Ok(Int(i64::MIN)))]
    #[case::int_of_hex("int", String("0x10"), Err("type conversion error from 'string' to 'int'"))]
    #[case::int_of_blank("int", String(" 5"), Err("type conversion error from 'string' to 'int'"))]
    #[case::int_of_too_long(
        "int",
        String("9223372036854775808"),
        Err("type conversion error from 'string' to 'int'")
    )]
    #[case::int_of_duration("int", Duration(1_500_000_000), Ok(Int(1_500_000_000)))]
    #[case::int_of_timestamp("int", time(-1, 500_000_000), Ok(Int(-1)))]
    #[case::uint_of_double("uint", Double(3.9), Ok(Uint(3)))]
    #[case::uint_of_negative("uint", Double(-0.5), Err("unsigned integer overflow"))]
    #[case::uint_of_two_to_64("uint", Double(18_446_744_073_709_551_616.0), Err("unsigned integer overflow"))]
    #[case::uint_of_int("uint", Int(-1), Err("unsigned integer overflow"))]
    #[case::uint_of_string("uint", String("18446744073709551615"), Ok(Uint(u64::MAX)))]
    #[case::uint_of_signed("uint", String("+5"), Err("type conversion error from 'string' to 'uint'"))]
    #[case::double_of_int("double", Int(1), Ok(Double(1.0)))]
    #[case::double_of_uint("double", Uint(u64::MAX), Ok(Double(18_446_744_073_709_551_616.0)))]
    #[case::double_of_string("double", String("1e3"), Ok(Double(1000.0)))]
    #[case::double_of_text("double", String("x"), Err("type conversion error from 'string' to 'double'"))]
    #[case::string_of_double("string", Double(1.5e20), Ok(String("1.5e+20")))]
    #[case::string_of_bool("string", Bool(false), Ok(String("false")))]
    #[case::string_of_int("string", Int(i64::MIN), Ok(String("-9223372036854775808")))]
    #[case::string_of_timestamp("string", time(0, 1_000_000), Ok(String("1970-01-01T00:00:00.001Z")))]
    #[case::string_of_duration("string", Duration(1_500_000_000), Ok(String("1.5s")))]
    #[case::string_of_short_duration("string", Duration(-1), Ok(String("-0.000000001s")))]
    #[case::string_of_longest_duration("string", Duration(i64::MAX), Ok(String("9223372036.854776s")))]
    #[case::string_of_bad_bytes(
        "string",
        Bytes(b"\xff"),
        Err("invalid UTF-8 in bytes, cannot convert to string")
    )]
    #[case::string_of_null("string", Null, Err("no such overload"))]
    #[case::bool_of_string("bool", String("True"), Ok(Bool(true)))]
    #[case::bool_of_letter("bool", String("f"), Ok(Bool(false)))]
    #[case::bool_of_yes("bool", String("yes"), Err("type conversion error from 'string' to 'bool'"))]
    #[case::bool_of_mixed_case("bool", String("tRuE"), Err("type conversion error from 'string' to 'bool'"))]
    #[case::timestamp_of_int("timestamp", Int(1), Ok(time(1, 0)))]
    #[case::timestamp_too_late("timestamp", Int(253_402_300_800), Err("timestamp overflow"))]
    #[case::timestamp_of_text(
        "timestamp",
        String("now"),
        Err("type conversion error from 'string' to 'google.protobuf.Timestamp'")
    )]
    #[case::duration_of_text(
        "duration",
        String("1"),
        Err("type conversion error from 'string' to 'google.protobuf.Duration'")
    )]
    #[case::type_of_null("type", Null, Ok(Type("null_type")))]
    #[case::type_of_type("type", Type("int"), Ok(Type("type")))]
    #[case::dyn_of_list("dyn", List(&[]), Ok(List(&[])))]
    fn conversions_answer_as_cel_go(
        #[case] function: &str,
        #[case] value: Value<'static>,
        #[case] expected: Result<Value<'static>, &str>,
    ) {
        check(function, Form::Global, &[value], expected, 1);
    }

    #[rstest]
    #[case("bytes", String("né"), Ok(Bytes("né".as_bytes())), 1)]
    #[case("bytes", String("0123456789x"), Ok(Bytes(b"0123456789x")), 2)]
    #[case("bytes", String(""), Ok(Bytes(b"")), 0)]
    #[case("string", Bytes(b"0123456789x"), Ok(String("0123456789x")), 2)]
    fn conversions_of_texts_cost_by_length(
        #[case] function: &str,
        #[case] value: Value<'static>,
        #[case] expected: Result<Value<'static>, &str>,
        #[case] cost: u64,
    ) {
        check(function, Form::Global, &[value], expected, cost);
    }
}
