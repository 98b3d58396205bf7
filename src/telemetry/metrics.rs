//! The registry's basics: registering, and what describes the process itself.

use prometheus::core::Collector;
use prometheus::process_collector::ProcessCollector;
use prometheus::{IntGauge, Opts, Registry, Result};

/// Registers a collector and gives it back for use.
///
/// # Errors
/// When the registry has one of the same name.
pub fn registered<C: Collector + Clone + 'static>(registry: &Registry, collector: C) -> Result<C> {
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}

/// `usher_build_info` and the `process_` metrics.
#[derive(Debug)]
pub struct ProcessMetrics;

impl ProcessMetrics {
    /// # Errors
    /// When the registry has metrics of these names.
    pub fn register(registry: &Registry) -> Result<Self> {
        let build = Opts::new("usher_build_info", "The version that runs; always 1.")
            .const_label("version", env!("CARGO_PKG_VERSION"));
        registered(registry, IntGauge::with_opts(build)?)?.set(1);
        registry.register(Box::new(ProcessCollector::for_self()))?;
        Ok(Self)
    }
}
