use crate::engine::{FailurePolicy, Phase};

/// One of the four paths that are registered: the rules of one failure policy in one phase. An outage of Usher means for each of them what
/// its author wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hook {
    MutateFail,
    MutateIgnore,
    ValidateFail,
    ValidateIgnore,
}

impl Hook {
    /// In the order in which they are registered.
    pub const ALL: [Self; 4] =
        [Self::MutateFail, Self::MutateIgnore, Self::ValidateFail, Self::ValidateIgnore];

    pub fn of(phase: Phase, class: FailurePolicy) -> Self {
        match (phase, class) {
            (Phase::Mutating, FailurePolicy::Fail) => Self::MutateFail,
            (Phase::Mutating, FailurePolicy::Ignore) => Self::MutateIgnore,
            (Phase::Validating, FailurePolicy::Fail) => Self::ValidateFail,
            (Phase::Validating, FailurePolicy::Ignore) => Self::ValidateIgnore,
        }
    }

    pub fn is_mutating(self) -> bool {
        matches!(self, Self::MutateFail | Self::MutateIgnore)
    }

    /// Whether requests are to be refused while Usher does not answer.
    pub fn fails_closed(self) -> bool {
        matches!(self, Self::MutateFail | Self::ValidateFail)
    }

    /// The path that answers for it.
    pub fn path(self) -> &'static str {
        match self {
            Self::MutateFail => "/mutate/fail",
            Self::MutateIgnore => "/mutate/ignore",
            Self::ValidateFail => "/validate/fail",
            Self::ValidateIgnore => "/validate/ignore",
        }
    }

    /// Name of its entry in the webhook configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::MutateFail => "fail.mutate.usher.dev",
            Self::MutateIgnore => "ignore.mutate.usher.dev",
            Self::ValidateFail => "fail.validate.usher.dev",
            Self::ValidateIgnore => "ignore.validate.usher.dev",
        }
    }

    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// Some of the four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks(u8);

impl Hooks {
    pub fn contains(self, hook: Hook) -> bool {
        self.0 & (1 << hook.index()) != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Hook> {
        Hook::ALL.into_iter().filter(move |hook| self.contains(*hook))
    }
}

impl FromIterator<Hook> for Hooks {
    fn from_iter<I: IntoIterator<Item = Hook>>(hooks: I) -> Self {
        Self(hooks.into_iter().fold(0, |set, hook| set | 1 << hook.index()))
    }
}
