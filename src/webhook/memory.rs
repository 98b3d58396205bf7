//! How the memory that the process may use is divided.

use std::time::Duration;

use super::body::{BodyLimits, large_share};
use crate::engine::MemoryLimits;

/// Without a limit of memory: enough for what an API server sends in earnest, and no more than a workstation can spare.
const WITHOUT_LIMIT: usize = 512 << 20;
/// The idle server with a thousand rules holds 25 MiB; 64 connections in the middle of large reviews, and what the allocator keeps of what was
/// given back to it, were seen to hold twice as much again.
const IDLE: usize = 80 << 20;
/// The most that an evaluation off the accept threads is meant to get: what two objects of 3 MiB of the worst kind need.
const WHOLE: usize = 180 << 20;

/// How reviews are evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationLimits {
    /// Of one evaluation.
    pub memory: MemoryLimits,
    /// Reviews larger than this are not evaluated on the accept threads: reading them alone would hold everybody up. So what documents hold
    /// there is bounded by 30 times as much for each thread.
    pub most_inline_bytes: usize,
    /// What is not decided on an accept thread within this time begins anew in the slow lane.
    pub slice: Duration,
    /// Evaluations in the slow lane at a time.
    pub slow_lane: usize,
}

impl Default for EvaluationLimits {
    fn default() -> Self {
        Self {
            memory: MemoryLimits::default(),
            most_inline_bytes: 256 << 10,
            slice: Duration::from_millis(2),
            slow_lane: 1,
        }
    }
}

/// The limits of reviews.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewLimits {
    pub bodies: BodyLimits,
    pub evaluation: EvaluationLimits,
}

impl ReviewLimits {
    /// What fits into `limit` bytes of memory on so many processors.
    ///
    /// A process that is idle needs [`IDLE`]. Of the rest, two sevenths are for bodies, four for what the slow lane reads them into, and one
    /// is for the buffers of connections, for what expressions make, and for what the allocator has not given back.
    #[must_use]
    pub fn within(limit: Option<usize>, processors: usize) -> Self {
        let limit = limit.unwrap_or(WITHOUT_LIMIT);
        let spare = limit.saturating_sub(IDLE).max(limit / 4);
        let documents = spare / 7 * 4;
        // Half of the processors stay with what is quick.
        let slow_lane = (documents / WHOLE).clamp(1, (processors / 2).max(1));
        let all = MemoryLimits::default();
        let memory = MemoryLimits {
            documents: all.documents.min(documents / slow_lane),
            rule: all.rule.min(spare / 8),
        };
        let evaluation = EvaluationLimits { memory, slow_lane, ..EvaluationLimits::default() };
        let bodies = BodyLimits::default();
        let total = spare / 7 * 2;
        let bodies = BodyLimits {
            max_bytes: bodies.max_bytes.min(large_share(total)),
            max_total_bytes: total,
            ..bodies
        };
        Self { bodies, evaluation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn everything_together_fits_into_the_limit() {
        for (limit, processors) in [(64, 1), (128, 2), (256, 2), (512, 8), (4096, 64)] {
            let ReviewLimits { bodies, evaluation } = ReviewLimits::within(Some(limit * MIB), processors);
            let documents = evaluation.slow_lane * evaluation.memory.documents;
            let most = bodies.max_total_bytes + documents + (IDLE / MIB).min(limit * 3 / 4) * MIB;
            assert!(most <= limit * MIB, "{limit} MiB: {} MiB", most / MIB);
            assert!(bodies.max_bytes <= large_share(bodies.max_total_bytes));
            assert!((1..=(processors / 2).max(1)).contains(&evaluation.slow_lane));
        }
    }

    #[test]
    fn a_hostile_review_of_3_mib_is_read_with_192_mib() {
        let ReviewLimits { bodies, evaluation } = ReviewLimits::within(Some(192 * MIB), 2);
        // 3 MiB of `{"a":0},`: a value of 24 bytes while the list is read, with half as much again for growth, and 72 in the end.
        assert!(evaluation.memory.documents >= (3 * MIB / 8) * (24 * 4 / 3 + 72));
        assert!(bodies.max_bytes >= 15 * MIB);
        assert_eq!(evaluation.slow_lane, 1);
    }

    #[test]
    fn without_a_limit_it_is_as_with_512_mib() {
        assert_eq!(ReviewLimits::within(None, 4), ReviewLimits::within(Some(WITHOUT_LIMIT), 4));
    }
}
