//! What a connection is doing, and since when: written by the IO below HTTP and the service above it, read by the deadlines.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Nothing was received yet.
    Fresh,
    /// A request's head has begun and is not complete.
    Head,
    /// From the end of the head to the answer; the body has a deadline of its own.
    Answering,
    /// Answered, waiting for the next request.
    Idle,
    /// Nothing more is written; the peer is given time to read what was.
    Ending,
}

impl Moment {
    const ALL: [Self; 5] = [Self::Fresh, Self::Head, Self::Answering, Self::Idle, Self::Ending];
}

/// Shared between the parts of one connection, all of which run in one task; atomic only to be `Sync`.
#[derive(Debug)]
pub(super) struct Activity {
    moment: AtomicU8,
    start: Instant,
    /// When the moment began, in nanoseconds after `start`.
    since: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self { moment: AtomicU8::new(Moment::Fresh as u8), start: Instant::now(), since: AtomicU64::new(0) }
    }

    pub(super) fn moment(&self) -> Moment {
        Moment::ALL[usize::from(self.moment.load(Relaxed))]
    }

    /// The moment and when it began.
    pub(super) fn now(&self) -> (Moment, Instant) {
        (self.moment(), self.start + Duration::from_nanos(self.since.load(Relaxed)))
    }

    pub(super) fn enter(&self, moment: Moment) {
        let since = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.since.store(since, Relaxed);
        self.moment.store(moment as u8, Relaxed);
    }

    /// Bytes came in.
    pub(super) fn received(&self) {
        if matches!(self.moment(), Moment::Fresh | Moment::Idle) {
            self.enter(Moment::Head);
        }
    }
}
