//! What an evaluation may spend: cost in Kubernetes' units, time through an interrupt, depth of nested programs.

use std::fmt;

use super::error::{ErrorKind, EvalError};

/// Loop iterations between two looks at the interrupt; Kubernetes' `CheckFrequency` (apiserver `pkg/apis/cel/config.go`).
const INTERRUPT_CHECK_FREQUENCY: u32 = 100;

/// Programs inside programs at most. Each may nest as deep as the parser allows, and all share one stack: 16 times 250 levels of
/// less than 1 KiB fit the 8 MiB that the server gives its threads.
const MAX_DEPTH: u32 = 16;

/// Comparisons that one evaluation may make and that Kubernetes' costs do not count: fifty of the largest object with itself, or a few
/// tenths of a second.
const MAX_WORK: u64 = 20_000_000;

/// The budget of one evaluation. Costs are in Kubernetes' cost units (cel-go `interpreter/runtimecost.go`).
pub struct Meter<'m> {
    spent: u64,
    limit: u64,
    until_check: u32,
    work: u64,
    depth: u32,
    interrupt: Option<&'m dyn Fn() -> bool>,
}

impl<'m> Meter<'m> {
    /// May spend `limit` units and runs to its end.
    pub fn new(limit: u64) -> Self {
        Self { spent: 0, limit, until_check: INTERRUPT_CHECK_FREQUENCY, work: 0, depth: 0, interrupt: None }
    }

    /// As [`Meter::new`], but stops when `interrupt` answers true; it is asked every 100 loop iterations, and before each
    /// regular expression that has to be compiled.
    pub fn with_interrupt(limit: u64, interrupt: &'m dyn Fn() -> bool) -> Self {
        Self { interrupt: Some(interrupt), ..Self::new(limit) }
    }

    /// Units spent so far; more than the limit once the limit was hit.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Spends `units`.
    ///
    /// # Errors
    /// [`ErrorKind::CostLimit`] when that is more than the limit allows.
    #[inline]
    pub fn charge(&mut self, units: u64) -> Result<(), Box<EvalError>> {
        self.spent = self.spent.saturating_add(units);
        if self.spent > self.limit {
            return Err(cost_exceeded());
        }
        Ok(())
    }

    /// Takes back what turned out to be part of another charge.
    #[inline]
    pub(crate) fn refund(&mut self, units: u64) {
        self.spent = self.spent.saturating_sub(units);
    }

    /// Runs something that costs `units`, whatever it charges itself.
    ///
    /// # Errors
    /// As [`Meter::charge`], and those of what runs.
    pub(crate) fn flat<T>(
        &mut self,
        units: u64,
        run: impl FnOnce(&mut Self) -> Result<T, Box<EvalError>>,
    ) -> Result<T, Box<EvalError>> {
        self.charge(units)?;
        let (spent, limit) = (self.spent, std::mem::replace(&mut self.limit, u64::MAX));
        let result = run(self);
        (self.spent, self.limit) = (spent, limit);
        result
    }

    /// Counts one loop iteration.
    ///
    /// # Errors
    /// [`ErrorKind::Deadline`] when the interrupt says so.
    #[inline]
    pub fn tick(&mut self) -> Result<(), Box<EvalError>> {
        self.until_check -= 1;
        if self.until_check == 0 {
            self.until_check = INTERRUPT_CHECK_FREQUENCY;
            return self.check_interrupt();
        }
        Ok(())
    }

    /// Counts work that has no cost in Kubernetes, so that it is bounded all the same.
    ///
    /// # Errors
    /// [`ErrorKind::CostLimit`] when it is too much, [`ErrorKind::Deadline`] when the interrupt says so.
    #[inline]
    pub(crate) fn work(&mut self, steps: u64) -> Result<(), Box<EvalError>> {
        self.work = self.work.saturating_add(steps);
        if self.work > MAX_WORK {
            return Err(cost_exceeded());
        }
        self.tick()
    }

    /// Enters a program; a variable that is an expression enters one inside another.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] when programs nest too deeply for the thread's stack.
    pub(crate) fn enter(&mut self) -> Result<(), Box<EvalError>> {
        if self.depth == MAX_DEPTH {
            return Err(EvalError::new(
                ErrorKind::Memory,
                format!("variables refer to each other more than {MAX_DEPTH} deep"),
            ));
        }
        self.depth += 1;
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Asks the interrupt at once: before a step that takes as long as thousands of loop iterations.
    ///
    /// # Errors
    /// [`ErrorKind::Deadline`] when the interrupt says so.
    #[cold]
    pub(crate) fn check_interrupt(&self) -> Result<(), Box<EvalError>> {
        match self.interrupt {
            Some(interrupt) if interrupt() => {
                Err(EvalError::new(ErrorKind::Deadline, "operation interrupted"))
            }
            _ => Ok(()),
        }
    }
}

#[cold]
fn cost_exceeded() -> Box<EvalError> {
    // cel-go's text.
    EvalError::new(ErrorKind::CostLimit, "operation cancelled: actual cost limit exceeded")
}

impl fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter")
            .field("spent", &self.spent)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
