//! One binary for all integration tests: linking is what costs.

// The lint's exception for tests does not reach the functions that tests share.
#![allow(clippy::unwrap_used)]

mod architecture;
mod certs;
mod cli;
mod cluster;
mod controls;
mod deploy;
mod faults;
mod policies;
mod transport;
mod webhook;
