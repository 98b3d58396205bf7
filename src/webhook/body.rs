//! Reading a request's body within its bounds: of one body, of all bodies together, and of time.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt;
use prometheus::IntGauge;
use tokio::time::{Instant, timeout_at};

/// Of a body that is too large, the first look for the uid is taken after so much, the next after twice as much.
const FIRST_LOOK: usize = 1024;

/// Bodies up to this size have a quarter of the memory to themselves, so that a few large reviews, or peers that only announce them, do not
/// keep ordinary ones out.
const SMALL: usize = 64 * 1024;

/// Bounds of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// Of one body. The API server takes objects of 3 MiB, sends two of them, and writes `<`, `>` and `&` as six bytes each; what is larger
    /// cannot come from it.
    pub max_bytes: usize,
    /// Of all bodies that are being read or decided.
    pub max_total_bytes: usize,
    /// From the end of the head to the end of the body.
    pub timeout: Duration,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self {
            max_bytes: 32 * 1024 * 1024,
            max_total_bytes: 128 * 1024 * 1024,
            timeout: Duration::from_secs(10),
        }
    }
}

/// The memory that all bodies share. What is used is shown by a gauge too.
#[derive(Clone, Debug)]
pub(super) struct MemoryBudget {
    used: Arc<AtomicUsize>,
    shown: IntGauge,
    limit: usize,
}

impl MemoryBudget {
    pub(super) fn new(limit: usize, shown: IntGauge) -> Self {
        Self { used: Arc::default(), shown, limit }
    }

    /// How much may be in use for a body of `bytes` to find room.
    fn limit_of(&self, bytes: usize) -> usize {
        if bytes <= SMALL { self.limit } else { large_share(self.limit) }
    }

    fn reserve(&self) -> Reservation {
        Reservation { budget: self.clone(), bytes: 0 }
    }
}

/// What bodies of more than [`SMALL`] bytes may take of the memory of all.
pub(super) fn large_share(total: usize) -> usize {
    total / 4 * 3
}

/// A part of a [`MemoryBudget`], given back on drop.
#[derive(Debug)]
struct Reservation {
    budget: MemoryBudget,
    bytes: usize,
}

impl Reservation {
    /// Whether there was room for a body of `bytes`. What was reserved before is part of it.
    fn grow_to(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 {
            return true;
        }
        let used = self.budget.used.fetch_add(more, Relaxed).saturating_add(more);
        self.bytes += more;
        self.budget.shown.add(gauged(more));
        used <= self.budget.limit_of(bytes)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Relaxed);
        self.budget.shown.sub(gauged(self.bytes));
    }
}

fn gauged(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// A whole body, holding its part of the memory budget.
#[derive(Debug)]
pub(super) struct WholeBody {
    pub(super) bytes: Bytes,
    _reservation: Reservation,
}

/// Why there is no whole body, and what was read of it.
#[derive(Debug)]
pub(super) enum BodyFault {
    TooLarge {
        prefix: Vec<u8>,
    },
    TimedOut {
        prefix: Vec<u8>,
    },
    /// The memory that all bodies share is used up.
    NoMemory,
    /// The connection or the transfer coding broke.
    Broken(String),
}

/// Reads `body` to its end. When it is larger than allowed, reading stops as soon as `is_enough` is content with the prefix.
pub(super) async fn read<B>(
    body: B,
    limits: &BodyLimits,
    memory: &MemoryBudget,
    deadline: Instant,
    is_enough: impl Fn(&[u8]) -> bool,
) -> Result<WholeBody, BodyFault>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let body = std::pin::pin!(body);
    let mut reader = Reader { body, parts: Parts::None, reservation: memory.reserve() };
    let read = timeout_at(deadline, reader.read(declared, limits.max_bytes, is_enough)).await;
    let Reader { parts, reservation, .. } = reader;
    match read {
        Ok(Ok(())) => Ok(WholeBody { bytes: parts.into_bytes(), _reservation: reservation }),
        Ok(Err(Stop::TooLarge)) => Err(BodyFault::TooLarge { prefix: parts.into_bytes().into() }),
        Ok(Err(Stop::NoMemory)) => Err(BodyFault::NoMemory),
        Ok(Err(Stop::Broken(error))) => Err(BodyFault::Broken(error)),
        Err(_) => Err(BodyFault::TimedOut { prefix: parts.into_bytes().into() }),
    }
}

enum Stop {
    TooLarge,
    NoMemory,
    Broken(String),
}

struct Reader<'p, B> {
    body: Pin<&'p mut B>,
    parts: Parts,
    reservation: Reservation,
}

impl<B> Reader<'_, B>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    async fn read(
        &mut self,
        declared: usize,
        max: usize,
        is_enough: impl Fn(&[u8]) -> bool,
    ) -> Result<(), Stop> {
        // A body that says how long it is has its place before any of it is read, or is sent away at once: many that were all let in and all
        // cut short would be work for nothing. A small one takes its place as it comes.
        if (SMALL + 1..=max).contains(&declared) && !self.reservation.grow_to(declared) {
            return Err(Stop::NoMemory);
        }
        let mut look_at = FIRST_LOOK;
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| Stop::Broken(error.to_string()))?;
            let Ok(data) = frame.into_data() else { continue };
            let len = self.parts.as_slice().len() + data.len();
            if !self.reservation.grow_to(len) {
                return Err(Stop::NoMemory);
            }
            self.parts.push(data, declared.min(max));
            if len > max {
                return Err(Stop::TooLarge);
            }
            if declared > max && len >= look_at {
                if is_enough(self.parts.as_slice()) {
                    return Err(Stop::TooLarge);
                }
                look_at = len * 2;
            }
        }
        Ok(())
    }
}

/// What has come. A body that comes in one piece is not copied.
enum Parts {
    None,
    One(Bytes),
    Many(Vec<u8>),
}

impl Parts {
    fn push(&mut self, data: Bytes, declared: usize) {
        match self {
            Self::None => *self = Self::One(data),
            Self::One(first) => {
                // Memory that is not written yet costs nothing, and none is moved as the body grows.
                let mut many = Vec::with_capacity(declared.max(first.len() + data.len()));
                many.extend_from_slice(first);
                many.extend_from_slice(&data);
                *self = Self::Many(many);
            }
            Self::Many(many) => many.extend_from_slice(&data),
        }
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::None => &[],
            Self::One(data) => data,
            Self::Many(data) => data,
        }
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::None => Bytes::new(),
            Self::One(data) => data,
            Self::Many(data) => data.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::task::{Context, Poll};

    use http_body::Frame;
    use http_body_util::Full;

    use super::*;

    /// Comes in these pieces; an empty one stands for a sender who never goes on.
    struct Pieces(Vec<&'static str>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.0.first() {
                None => Poll::Ready(None),
                Some(&"") => Poll::Pending,
                Some(_) => {
                    Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(self.0.remove(0).as_bytes())))))
                }
            }
        }
    }

    fn limits(max_bytes: usize) -> BodyLimits {
        BodyLimits { max_bytes, ..BodyLimits::default() }
    }

    async fn read_pieces(
        pieces: &[&'static str],
        max: usize,
        memory: &MemoryBudget,
    ) -> Result<WholeBody, BodyFault> {
        let deadline = Instant::now() + Duration::from_secs(10);
        read(Pieces(pieces.to_vec()), &limits(max), memory, deadline, |_| false).await
    }

    #[tokio::test]
    async fn pieces_are_put_together_up_to_the_limit() {
        let memory = MemoryBudget::new(100, IntGauge::new("bytes", "bytes").unwrap());
        for pieces in [&["abcdef"][..], &["abc", "def"], &["a", "b", "c", "def"]] {
            let body = read_pieces(pieces, 6, &memory).await.unwrap();
            assert_eq!(body.bytes, "abcdef");
            let fault = read_pieces(pieces, 5, &memory).await.unwrap_err();
            assert!(matches!(fault, BodyFault::TooLarge { prefix } if prefix == b"abcdef"));
        }
        assert_eq!(read_pieces(&[], 5, &memory).await.unwrap().bytes, "");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_body_is_given_up_with_what_came() {
        let memory = MemoryBudget::new(100, IntGauge::new("bytes", "bytes").unwrap());
        let fault = read_pieces(&["abc", ""], 10, &memory).await.unwrap_err();
        assert!(matches!(fault, BodyFault::TimedOut { prefix } if prefix == b"abc"));
    }

    #[tokio::test]
    async fn all_bodies_share_one_budget_and_give_it_back() {
        let memory = MemoryBudget::new(10, IntGauge::new("bytes", "bytes").unwrap());
        let held = read_pieces(&["abcdef"], 10, &memory).await.unwrap();
        assert!(matches!(read_pieces(&["abcdef"], 10, &memory).await, Err(BodyFault::NoMemory)));
        drop(held);
        assert!(read_pieces(&["abcdef"], 10, &memory).await.is_ok());
        assert_eq!(memory.used.load(Relaxed), 0);
    }

    #[tokio::test]
    async fn large_bodies_are_sent_away_unread_and_leave_room_for_small_ones() {
        let memory = MemoryBudget::new(4 * SMALL, IntGauge::new("bytes", "bytes").unwrap());
        let deadline = Instant::now() + Duration::from_secs(10);
        let limits = BodyLimits::default();
        let announced = |bytes: usize| {
            read(Full::new(Bytes::from(vec![b'x'; bytes])), &limits, &memory, deadline, |_| false)
        };
        let held = announced(2 * SMALL).await.unwrap();
        assert!(matches!(announced(SMALL + SMALL / 2).await, Err(BodyFault::NoMemory)));
        let small = announced(SMALL).await.unwrap();
        assert!(matches!(announced(SMALL + 1).await, Err(BodyFault::NoMemory)));
        drop(held);
        assert_eq!(announced(SMALL + 1).await.unwrap().bytes.len(), SMALL + 1);
        drop(small);
        assert_eq!(memory.used.load(Relaxed), 0);
    }
}
