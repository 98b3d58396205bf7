//! Rules from the API server: watches of rules, of the Namespaces that they match by, and of the objects that they take as parameters.
//!
//! Each watch is a task of its own ([`watching`]) that lists, watches, and starts anew after every error. One task ([`ClusterSource::run`])
//! puts together what they see and tells it as changes: everything at once when the first lists are complete, then one by one. A rule whose
//! parameters are not watched yet is held back until they are. What was known last is kept on disk ([`cache`]), for a start while the API
//! server is away.

mod cache;
mod connect;
mod health;
mod known;
mod parameters;
mod run;
mod watching;

pub use connect::{ConnectError, Connection};
pub use health::{Resource, ResourceHealth, WatchHealth};
pub use run::{ClusterOptions, ClusterSource, Told};
