//! The stack of open lists and objects.

use super::MAX_DEPTH;

/// Which of the values around the position are objects: a bit each.
pub(super) struct Nesting {
    /// How many more levels may be opened.
    room: usize,
    /// The innermost levels, the innermost lowest, above them a 1 that marks their end.
    bits: u64,
    /// Full words of the levels around those, marks included.
    spilled: Vec<u64>,
}

/// No level.
const MARK: u64 = 1;

impl Nesting {
    pub(super) fn new(outside: usize) -> Self {
        Self { room: MAX_DEPTH.saturating_sub(outside), bits: MARK, spilled: Vec::new() }
    }

    /// Levels around the position, those around the whole value included.
    pub(super) fn depth(&self) -> usize {
        MAX_DEPTH - self.room
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.room == 0
    }

    #[inline(always)]
    pub(super) fn push(&mut self, object: bool) {
        if self.bits.leading_zeros() == 0 {
            self.spilled.push(self.bits);
            self.bits = MARK;
        }
        self.bits = self.bits << 1 | u64::from(object);
        self.room = self.room.saturating_sub(1);
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.bits >>= 1;
        self.room += 1;
        if self.bits == MARK {
            self.bits = self.spilled.pop().unwrap_or(MARK);
        }
    }

    #[inline(always)]
    pub(super) fn inside(&self) -> bool {
        self.bits != MARK
    }

    #[inline(always)]
    pub(super) fn in_object(&self) -> bool {
        self.bits & 1 == 1
    }
}
