use rstest::rstest;

use super::super::testing::check;
use super::*;
use Value::{Duration, Int, String};

fn at(text: &str) -> Value<'static> {
    Value::Timestamp(text.parse().unwrap())
}

#[rstest]
#[case("2009-02-13T23:31:30+01:00", "2009-02-13T23:31:30+01:00")]
#[case("2009-02-13T23:31:30.120-08:30", "2009-02-13T23:31:30.12-08:30")]
#[case("2009-02-13T23:31:30+00:00", "2009-02-13T23:31:30Z")]
#[case("2009-02-13T23:31:30+23:60", "2009-02-13T23:31:30+24:00")]
#[case("0000-12-31T23:00:00-01:00", "0000-12-31T23:00:00-01:00")]
fn timestamps_keep_the_offset_that_they_were_read_with(#[case] text: &str, #[case] expected: &str) {
    check("string", Form::Global, &[at(text)], Ok(String(expected.to_owned().leak())), 1);
}

#[rstest]
#[case("1h", Some(3_600_000_000_000))]
#[case("1.5h30m2us3µs4μs5ms", Some(7_200_005_009_000))]
#[case("-1.5s", Some(-1_500_000_000))]
#[case("+.5s", Some(500_000_000))]
#[case("1.s", Some(1_000_000_000))]
#[case("0", Some(0))]
#[case("-0", Some(0))]
#[case("0.9ns", Some(0))]
#[case("0.3333333333333333333h", Some(1_200_000_000_000))]
#[case("9223372036854775807ns", Some(i64::MAX))]
#[case("-9223372036854775808ns", Some(i64::MIN))]
#[case("2562047h47m16.854775807s", Some(i64::MAX))]
#[case("9223372036854775808ns", None)]
#[case("2562047h47m16.854775808s", None)]
#[case("99999999999999999999h", None)]
#[case("9223372036854775807ns9223372036854775807ns9223372036854775807ns", None)]
#[case("1d", None)]
#[case("1H", None)]
#[case("1", None)]
#[case("1 s", None)]
#[case(".s", None)]
#[case("-", None)]
#[case("", None)]
#[case("s", None)]
#[case("é", None)]
fn durations_are_read_as_go_reads_them(#[case] text: &str, #[case] expected: Option<i64>) {
    assert_eq!(parse_duration(text), expected);
}

#[rstest]
#[case("getFullYear", "2009-02-13T23:31:30.678Z", 2009)]
#[case("getMonth", "2009-02-13T23:31:30.678Z", 1)]
#[case("getDayOfYear", "2024-12-31T00:00:00Z", 365)]
#[case("getDayOfMonth", "2009-02-13T23:31:30.678Z", 12)]
#[case("getDate", "2009-02-13T23:31:30.678Z", 13)]
#[case("getDayOfWeek", "2009-02-13T23:31:30.678Z", 5)]
#[case("getDayOfWeek", "9999-12-31T23:59:59Z", 5)]
#[case("getHours", "2009-02-13T23:31:30+12:34", 10)]
#[case("getMinutes", "2009-02-13T23:31:30.678Z", 31)]
#[case("getSeconds", "2009-02-13T23:31:30.678Z", 30)]
#[case("getMilliseconds", "1969-12-31T23:59:59.678Z", 678)]
fn accessors_answer_in_utc(#[case] function: &str, #[case] text: &str, #[case] expected: i64) {
    check(function, Form::Member, &[at(text)], Ok(Int(expected)), 1);
}

#[rstest]
#[case("getHours", "2009-02-13T23:31:30Z", "America/New_York", Ok(18))]
#[case("getHours", "2009-07-13T23:31:30Z", "America/New_York", Ok(19))]
#[case("getHours", "2009-02-13T23:31:30Z", "US/Central", Ok(17))]
#[case("getHours", "2009-02-13T23:31:30Z", "EST", Ok(18))]
#[case("getHours", "2009-02-13T23:31:30Z", "+01:30", Ok(1))]
#[case("getMinutes", "2009-02-13T23:31:30Z", "-01:30", Ok(1))]
#[case("getHours", "2009-02-13T23:31:30Z", "1:3", Ok(0))]
#[case("getHours", "2009-02-13T23:31:30Z", "+99:99", Ok(4))]
#[case("getHours", "2009-02-13T23:31:30Z", "-99:-99", Ok(22))]
#[case("getHours", "2009-02-13T23:31:30Z", "", Ok(23))]
#[case("getFullYear", "9999-12-31T23:59:59Z", "+14:00", Ok(10_000))]
#[case("getFullYear", "0001-01-01T00:00:00Z", "-14:00", Ok(0))]
#[case("getDayOfYear", "0001-01-01T00:00:00Z", "America/New_York", Ok(365))]
#[case("getHours", "9999-12-31T23:59:59Z", "Pacific/Auckland", Ok(12))]
#[case("getHours", "2009-02-13T23:31:30Z", "utc", Err("unknown time zone utc"))]
#[case("getHours", "2009-02-13T23:31:30Z", "Nowhere/Land", Err("unknown time zone Nowhere/Land"))]
#[case("getHours", "2009-02-13T23:31:30Z", "america/new_york", Err("unknown time zone america/new_york"))]
#[case("getHours", "2009-02-13T23:31:30Z", "../etc/passwd", Err("time: invalid location name"))]
#[case("getHours", "2009-02-13T23:31:30Z", ":30", Err("strconv.Atoi: parsing \"\": invalid syntax"))]
#[case("getHours", "2009-02-13T23:31:30Z", "+1:x", Err("strconv.Atoi: parsing \"x\": invalid syntax"))]
fn accessors_answer_in_a_zone(
    #[case] function: &str,
    #[case] text: &str,
    #[case] zone: &'static str,
    #[case] expected: Result<i64, &str>,
) {
    check(function, Form::Member, &[at(text), String(zone)], expected.map(Int), 1);
}

#[rstest]
#[case("getHours", 5_400_000_000_000, 1)]
#[case("getHours", -5_400_000_000_000, -1)]
#[case("getMinutes", 5_400_000_000_000, 90)]
#[case("getSeconds", -1_500_000_000, -1)]
#[case("getMilliseconds", 1_500_000_000, 1500)]
fn durations_are_counted_as_a_whole(#[case] function: &str, #[case] nanoseconds: i64, #[case] expected: i64) {
    check(function, Form::Member, &[Duration(nanoseconds)], Ok(Int(expected)), 1);
}
