use std::time::Instant;

/// How many writes may be made: so many a second, and a few at once after a rest.
#[derive(Debug)]
pub(super) struct Bucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    /// Full.
    pub(super) fn new(per_second: f64, burst: f64, now: Instant) -> Self {
        Self { per_second, burst, tokens: burst, filled: now }
    }

    /// Whether one write may be made now.
    pub(super) fn has_one(&mut self, now: Instant) -> bool {
        let elapsed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + elapsed * self.per_second).min(self.burst);
        self.filled = now;
        self.tokens >= 1.0
    }

    /// One was made.
    pub(super) fn take_one(&mut self) {
        self.tokens -= 1.0;
    }
}
