//! The commands. What goes wrong here is told to a person, and ends in an exit code.

pub mod serve;
