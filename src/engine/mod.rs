//! The decision engine: pure, without IO, clock, logging or metrics.

pub mod patch;
