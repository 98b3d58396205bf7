//! Ranges of sizes and of costs. cel-go `checker/cost.go` (`SizeEstimate`, `CostEstimate`).

use std::fmt;

/// How large a value can be: code points of a string, bytes, elements of a list, entries of a map; 1 for what has no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SizeEstimate {
    pub min: u64,
    /// [`u64::MAX`] where nothing bounds it.
    pub max: u64,
}

/// What an evaluation can cost, in Kubernetes' cost units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CostEstimate {
    pub min: u64,
    /// [`u64::MAX`] where nothing bounds it.
    pub max: u64,
}

impl SizeEstimate {
    /// Any size.
    pub const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    /// Exactly this size.
    pub const fn exactly(size: u64) -> Self {
        Self { min: size, max: size }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// The sizes of both.
    pub(super) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// What it costs, by a function that grows with the size.
    pub(super) fn cost(self, of: impl Fn(u64) -> u64) -> CostEstimate {
        CostEstimate { min: of(self.min), max: of(self.max) }
    }

    /// What both together cost, by a function that grows with either.
    pub(super) fn cost_with(self, other: Self, of: impl Fn(u64, u64) -> u64) -> CostEstimate {
        CostEstimate { min: of(self.min, other.min), max: of(self.max, other.max) }
    }

    /// So many times `cost`.
    pub(super) fn times_cost(self, cost: CostEstimate) -> CostEstimate {
        self.cost_with(Self { min: cost.min, max: cost.max }, u64::saturating_mul)
    }
}

impl CostEstimate {
    /// Exactly this cost.
    pub const fn exactly(cost: u64) -> Self {
        Self { min: cost, max: cost }
    }

    /// The identity of [`CostEstimate::union`].
    pub(super) const NONE: Self = Self { min: u64::MAX, max: 0 };

    pub(super) fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    /// The costs of both.
    pub(super) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

impl fmt::Display for CostEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { min, max: u64::MAX } => write!(f, "{min} or more"),
            Self { min, max } if min == max => write!(f, "{min}"),
            Self { min, max } => write!(f, "{min} to {max}"),
        }
    }
}
