//! `usher serve`.

mod process;

pub use process::{Addresses, Deciding, Process};
