//! Whether the process can do its work, and what is missing.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Closed until what it stands for has happened once; cheap to ask.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    is_open: Arc<AtomicBool>,
}

impl Gate {
    /// A gate that is open from the beginning.
    pub fn opened() -> Self {
        let gate = Self::default();
        gate.open();
        gate
    }

    pub fn open(&self) {
        self.is_open.store(true, Ordering::Release);
    }

    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }
}

/// Says what is missing, or nothing.
type Check = dyn Fn() -> Result<(), String> + Send + Sync;

/// Named checks, asked anew each time.
#[derive(Clone, Default)]
pub struct Readiness {
    checks: Vec<(&'static str, Arc<Check>)>,
}

impl Readiness {
    /// Adds a check; its error says what is missing.
    #[must_use]
    pub fn with(
        mut self,
        name: &'static str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.checks.push((name, Arc::new(check)));
        self
    }

    /// Adds a check that fails until `gate` is open.
    #[must_use]
    pub fn with_gate(self, name: &'static str, gate: Gate, missing: &'static str) -> Self {
        self.with(name, move || if gate.is_open() { Ok(()) } else { Err(missing.to_owned()) })
    }

    /// The result of each check, in the order in which they were added.
    pub fn results(&self) -> Vec<(&'static str, Result<(), String>)> {
        self.checks.iter().map(|(name, check)| (*name, check())).collect()
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.checks.iter().map(|(name, _)| name)).finish()
    }
}
