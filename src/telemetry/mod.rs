//! What the process tells about itself: logs, metrics, readiness. Used by the outer ring only.

mod logs;
mod metrics;
mod readiness;
mod writer;

pub use logs::{LogFormat, LogsError, init_logs};
pub use metrics::{ProcessMetrics, registered};
pub use readiness::{Gate, Readiness};
pub use writer::LogGuard;
