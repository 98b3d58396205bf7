//! The paths that take reviews.

use crate::engine::{FailurePolicy, Phase};
use crate::rules::registration::own_kinds;

/// Which webhook is being called: the phase, and whether only rules of one failure policy are asked. With two webhook registrations
/// per phase, one `failurePolicy: Fail` and one `Ignore`, an outage of Usher means for each rule what its author wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Mutate,
    MutateFail,
    MutateIgnore,
    Validate,
    ValidateFail,
    ValidateIgnore,
    /// Usher's own kinds, before they are stored. No rule is asked.
    ValidateRules,
}

impl Endpoint {
    pub const ALL: [Self; 7] = [
        Self::Mutate,
        Self::MutateFail,
        Self::MutateIgnore,
        Self::Validate,
        Self::ValidateFail,
        Self::ValidateIgnore,
        Self::ValidateRules,
    ];

    pub fn path(self) -> &'static str {
        match self {
            Self::Mutate => "/mutate",
            Self::MutateFail => "/mutate/fail",
            Self::MutateIgnore => "/mutate/ignore",
            Self::Validate => "/validate",
            Self::ValidateFail => "/validate/fail",
            Self::ValidateIgnore => "/validate/ignore",
            Self::ValidateRules => own_kinds::PATH,
        }
    }

    /// The metric label and log value: the path without its slash.
    pub fn as_str(self) -> &'static str {
        &self.path()[1..]
    }

    pub fn of_path(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|endpoint| endpoint.path() == path)
    }

    pub fn phase(self) -> Phase {
        match self {
            Self::Mutate | Self::MutateFail | Self::MutateIgnore => Phase::Mutating,
            Self::Validate | Self::ValidateFail | Self::ValidateIgnore | Self::ValidateRules => {
                Phase::Validating
            }
        }
    }

    /// The failure policy of the rules that are asked; `None`: all.
    pub fn class(self) -> Option<FailurePolicy> {
        match self {
            Self::Mutate | Self::Validate | Self::ValidateRules => None,
            Self::MutateFail | Self::ValidateFail => Some(FailurePolicy::Fail),
            Self::MutateIgnore | Self::ValidateIgnore => Some(FailurePolicy::Ignore),
        }
    }

    pub(super) fn index(self) -> usize {
        self as usize
    }
}
