//! Versions of Kubernetes that expressions can be compiled for.

use std::fmt;
use std::str::FromStr;

/// A minor version of Kubernetes: what an expression may use, and how what changed since then behaves.
///
/// Functions and macros are those of the API server's environment for new expressions (apiserver `pkg/cel/environment/base.go`); up to 1.36 it
/// is built with cel-go 0.26, from 1.37 on with 0.29.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KubernetesVersion {
    minor: u8,
}

impl KubernetesVersion {
    /// The first with ValidatingAdmissionPolicies that are stable.
    pub const OLDEST: Self = Self { minor: 30 };
    pub const NEWEST: Self = Self { minor: 37 };

    /// Every version, from the oldest on.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        (Self::OLDEST.minor..=Self::NEWEST.minor).map(|minor| Self { minor })
    }

    /// 34 of 1.34.
    pub const fn minor(self) -> u8 {
        self.minor
    }

    /// Whether something is there that came with this minor version.
    pub(crate) fn has(self, since: u8) -> bool {
        since <= self.minor
    }

    /// Whether the API server is built with cel-go 0.26.
    pub(crate) fn is_before_1_37(self) -> bool {
        self.minor < 37
    }
}

/// The newest.
impl Default for KubernetesVersion {
    fn default() -> Self {
        Self::NEWEST
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

/// No version of Kubernetes that Usher knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownVersion;

impl fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (oldest, newest) = (KubernetesVersion::OLDEST, KubernetesVersion::NEWEST);
        write!(f, "write a version of Kubernetes from {oldest} to {newest}, such as 1.34")
    }
}

impl std::error::Error for UnknownVersion {}

impl FromStr for KubernetesVersion {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        Self::all().find(|version| version.to_string() == text).ok_or(UnknownVersion)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::oldest("1.30", Some(30))]
    #[case::newest("1.37", Some(37))]
    #[case::too_old("1.29", None)]
    #[case::not_yet("1.38", None)]
    #[case::with_a_patch("1.34.1", None)]
    #[case::with_a_letter("v1.34", None)]
    #[case::spaces(" 1.34", None)]
    fn versions_are_read(#[case] text: &str, #[case] minor: Option<u8>) {
        assert_eq!(text.parse().ok().map(KubernetesVersion::minor), minor);
    }
}
