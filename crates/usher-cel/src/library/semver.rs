//! Semantic versions: `semver`, `isSemver` and their order. apiserver `pkg/cel/library/semverlib.go` over `blang/semver` v4.
//!
//! The crate `semver` is not used: versions must live in the arena, and error texts and corner cases (numbers of 64 bits, an empty
//! patch number) are those of `blang/semver`.

use std::cmp::Ordering;

use super::cost;
use super::opaque::OpaqueValue;
use super::overload::{Call, Overload, Ty};
use super::quote::Quoted;
use crate::eval::{EvalError, EvalResult, Value};

const TYPE: Ty = Ty::Opaque("kubernetes.Semver");

const SINCE: u8 = 33;
const TEXT: &[Ty] = &[Ty::String];
const TEXT_AND_NORMALIZE: &[Ty] = &[Ty::String, Ty::Bool];
const VERSION: &[Ty] = &[TYPE];
const VERSIONS: &[Ty] = &[TYPE, TYPE];

pub(super) const OVERLOADS: &[Overload] = &[
    Overload::global(SINCE, "semver", TEXT, TYPE, semver),
    Overload::global(SINCE, "semver", TEXT_AND_NORMALIZE, TYPE, semver),
    Overload::global(SINCE, "isSemver", TEXT, Ty::Bool, is_semver),
    Overload::global(SINCE, "isSemver", TEXT_AND_NORMALIZE, Ty::Bool, is_semver),
    Overload::member(SINCE, "major", VERSION, Ty::Int, |call, args| {
        number(call, args, |version| version.major)
    }),
    Overload::member(SINCE, "minor", VERSION, Ty::Int, |call, args| {
        number(call, args, |version| version.minor)
    }),
    Overload::member(SINCE, "patch", VERSION, Ty::Int, |call, args| {
        number(call, args, |version| version.patch)
    }),
    Overload::member(SINCE, "isGreaterThan", VERSIONS, Ty::Bool, |call, args| {
        Ok(Value::Bool(compare(call, args)?.is_gt()))
    }),
    Overload::member(SINCE, "isLessThan", VERSIONS, Ty::Bool, |call, args| {
        Ok(Value::Bool(compare(call, args)?.is_lt()))
    }),
    Overload::member(SINCE, "compareTo", VERSIONS, Ty::Int, |call, args| {
        Ok(Value::Int(compare(call, args)? as i64))
    }),
];

/// A version. Equality and order ignore the build metadata.
#[derive(Clone, Copy, Debug)]
pub struct Semver<'a> {
    major: u64,
    minor: u64,
    patch: u64,
    /// Valid identifiers between dots; empty for a release.
    pre_release: &'a str,
    build: &'a str,
}

impl<'a> Semver<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".into());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(patch)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let (major, minor) = (parse_number("Major", major)?, parse_number("Minor", minor)?);
        let (patch, build) = split(patch, '+');
        let (patch, pre_release) = split(patch, '-');
        let patch = parse_number("Patch", patch)?;
        for identifier in pre_release.iter().flat_map(|pre_release| pre_release.split('.')) {
            check_pre_release(identifier)?;
        }
        for identifier in build.iter().flat_map(|build| build.split('.')) {
            if identifier.is_empty() {
                return Err("Build meta data is empty".into());
            }
            if !is_alphanumeric(identifier) {
                return Err(format!("Invalid character(s) found in build meta data {}", Quoted(identifier)));
            }
        }
        Ok(Self {
            major,
            minor,
            patch,
            pre_release: pre_release.unwrap_or_default(),
            build: build.unwrap_or_default(),
        })
    }

    /// Precedence as semver.org defines it.
    pub(super) fn compare(&self, other: &Semver<'_>) -> Ordering {
        (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch)).then_with(
            || match (self.pre_release, other.pre_release) {
                ("", "") => Ordering::Equal,
                ("", _) => Ordering::Greater,
                (_, "") => Ordering::Less,
                (a, b) => compare_pre_releases(a, b),
            },
        )
    }
}

/// `1.02`, `v1.2.3`, `1` to what [`Semver::parse`] reads.
fn normalize(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_leading_zeros).collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".into());
        }
        parts.resize(3, "0".into());
    }
    Ok(parts.join("."))
}

fn without_leading_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.into();
    }
    let rest = part.trim_start_matches('0');
    if rest.starts_with(|first: char| first.is_ascii_digit()) { rest.into() } else { format!("0{rest}") }
}

fn split(text: &str, mark: char) -> (&str, Option<&str>) {
    match text.split_once(mark) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn parse_number(name: &str, digits: &str) -> Result<u64, String> {
    if !is_numeric(digits) {
        let name = name.to_lowercase();
        return Err(format!("Invalid character(s) found in {name} number {}", Quoted(digits)));
    }
    if has_leading_zero(digits) {
        return Err(format!("{name} number must not contain leading zeroes {}", Quoted(digits)));
    }
    parse_digits(digits)
}

fn check_pre_release(identifier: &str) -> Result<(), String> {
    if identifier.is_empty() {
        return Err("Prerelease is empty".into());
    }
    if is_numeric(identifier) {
        if has_leading_zero(identifier) {
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {}",
                Quoted(identifier)
            ));
        }
        return parse_digits(identifier).map(|_| ());
    }
    if !is_alphanumeric(identifier) {
        return Err(format!("Invalid character(s) found in prerelease {}", Quoted(identifier)));
    }
    Ok(())
}

fn parse_digits(digits: &str) -> Result<u64, String> {
    digits.parse().map_err(|_| {
        let why = if digits.is_empty() { "invalid syntax" } else { "value out of range" };
        format!("strconv.ParseUint: parsing {}: {why}", Quoted(digits))
    })
}

fn is_numeric(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_alphanumeric(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn has_leading_zero(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

fn compare_pre_releases(a: &str, b: &str) -> Ordering {
    // The iterators' own comparison ranks a prefix lower, which is the rule here too.
    a.split('.').map(Identifier::of).cmp(b.split('.').map(Identifier::of))
}

/// Numbers come before words.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Identifier<'a> {
    Number(u64),
    Word(&'a str),
}

impl<'a> Identifier<'a> {
    fn of(text: &'a str) -> Self {
        text.parse().map_or(Self::Word(text), Self::Number)
    }
}

fn parse_args<'a>(
    call: &mut Call<'_, '_, 'a>,
    args: &[Value<'a>],
) -> Result<Result<Semver<'a>, String>, Box<EvalError>> {
    let (text, normalized) = match *args {
        [Value::String(text)] => (text, false),
        [Value::String(text), Value::Bool(normalized)] => (text, normalized),
        _ => return Err(EvalError::no_such_overload()),
    };
    call.charge(cost::traversal(cost::size(text)))?;
    if !normalized {
        return Ok(Semver::parse(text));
    }
    Ok(match normalize(text) {
        Ok(normal) => Semver::parse(call.arena.alloc_str(&normal)?),
        Err(error) => Err(error),
    })
}

fn semver<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    OpaqueValue::Semver(parse_args(call, args)?.map_err(EvalError::invalid)?).into_value(call.arena)
}

fn is_semver<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>]) -> EvalResult<'a> {
    Ok(Value::Bool(parse_args(call, args)?.is_ok()))
}

fn number<'a>(call: &mut Call<'_, '_, 'a>, args: &[Value<'a>], of: fn(&Semver<'a>) -> u64) -> EvalResult<'a> {
    call.charge(1)?;
    match args {
        // Upstream's conversion wraps as well.
        [Value::Opaque(OpaqueValue::Semver(version))] => Ok(Value::Int(of(version) as i64)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn compare(call: &mut Call<'_, '_, '_>, args: &[Value<'_>]) -> Result<Ordering, Box<EvalError>> {
    call.charge(1)?;
    match args {
        [Value::Opaque(OpaqueValue::Semver(a)), Value::Opaque(OpaqueValue::Semver(b))] => Ok(a.compare(b)),
        _ => Err(EvalError::no_such_overload()),
    }
}

impl std::fmt::Display for Semver<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre_release.is_empty() {
            write!(f, "-{}", self.pre_release)?;
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::testing::{Library, show, string};
    use super::*;

    #[rstest]
    #[case("1.2.3")]
    #[case("0.0.0")]
    #[case("1.2.3-rc.1+build.5")]
    #[case("1.2.3-x-y--")]
    #[case("1.2.3+001")]
    #[case("18446744073709551615.0.0")]
    fn versions_are_read_and_printed(#[case] text: &str) {
        assert_eq!(Semver::parse(text).expect("a version").to_string(), text);
    }

    #[rstest]
    #[case("", "Version string empty")]
    #[case("1.2", "No Major.Minor.Patch elements found")]
    #[case("v1.2.3", "Invalid character(s) found in major number \"v1\"")]
    #[case("01.2.3", "Major number must not contain leading zeroes \"01\"")]
    #[case("1.x.3", "Invalid character(s) found in minor number \"x\"")]
    #[case("1.2.03", "Patch number must not contain leading zeroes \"03\"")]
    #[case("1.2.", "strconv.ParseUint: parsing \"\": invalid syntax")]
    #[case(
        "1.2.99999999999999999999",
        "strconv.ParseUint: parsing \"99999999999999999999\": value out of range"
    )]
    #[case("1.2.3-", "Prerelease is empty")]
    #[case("1.2.3-a..b", "Prerelease is empty")]
    #[case("1.2.3-01", "Numeric PreRelease version must not contain leading zeroes \"01\"")]
    #[case("1.2.3-a_b", "Invalid character(s) found in prerelease \"a_b\"")]
    #[case("1.2.3+", "Build meta data is empty")]
    #[case("1.2.3+a_b", "Invalid character(s) found in build meta data \"a_b\"")]
    fn what_is_no_version_is_an_error(#[case] text: &str, #[case] error: &str) {
        let library = Library::default();
        assert_eq!(show(library.global("semver", &[string(text)])), error);
        assert_eq!(show(library.global("isSemver", &[string(text)])), "false");
    }

    #[rstest]
    #[case("v1.2.3", "1.2.3")]
    #[case("1", "1.0.0")]
    #[case("v01.002", "1.2.0")]
    #[case("00.01.002-rc", "0.1.2-rc")]
    #[case("1.2.-rc", "1.2.0-rc")]
    fn normalization_forgives(#[case] text: &str, #[case] normal: &str) {
        let library = Library::default();
        let version = library.global("semver", &[string(text), Value::Bool(true)]).expect("a version");
        let Value::Opaque(OpaqueValue::Semver(version)) = version else { panic!("no version: {version:?}") };
        assert_eq!(version.to_string(), normal);
    }

    #[rstest]
    #[case("1.1-rc", "short version cannot contain PreRelease/Build meta data")]
    #[case("vv1.2.3", "Invalid character(s) found in major number \"0v1\"")]
    #[case("", "strconv.ParseUint: parsing \"\": invalid syntax")]
    fn normalization_has_limits(#[case] text: &str, #[case] error: &str) {
        let library = Library::default();
        assert_eq!(show(library.global("semver", &[string(text), Value::Bool(true)])), error);
        assert_eq!(show(library.global("isSemver", &[string(text), Value::Bool(true)])), "false");
    }

    #[test]
    fn versions_are_ordered_by_precedence() {
        let ascending = [
            "0.9.9",
            "1.0.0-1",
            "1.0.0-2",
            "1.0.0-10",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0",
            "1.0.1",
            "1.10.0",
            "2.0.0",
        ];
        let library = Library::default();
        let versions = ascending.map(|text| library.global("semver", &[string(text)]).expect("a version"));
        for (i, a) in versions.iter().enumerate() {
            for (j, b) in versions.iter().enumerate() {
                let order = i.cmp(&j);
                assert_eq!(show(library.member("compareTo", &[*a, *b])), (order as i64).to_string());
                assert_eq!(show(library.member("isLessThan", &[*a, *b])), order.is_lt().to_string());
                assert_eq!(show(library.member("isGreaterThan", &[*a, *b])), order.is_gt().to_string());
            }
        }
    }

    #[test]
    fn build_metadata_does_not_count() {
        let library = Library::default();
        let [a, b] =
            ["1.0.0+a", "1.0.0+b"].map(|text| library.global("semver", &[string(text)]).expect("a version"));
        assert!(crate::eval::equal(&a, &b));
        assert_eq!(library.spent(), 2);
    }

    #[test]
    fn numbers_are_ints() {
        let library = Library::default();
        let version = library.global("semver", &[string("1.2.3")]).expect("a version");
        let numbers = ["major", "minor", "patch"].map(|name| show(library.member(name, &[version])));
        assert_eq!((numbers.join("."), library.spent()), ("1.2.3".into(), 4));
    }
}
