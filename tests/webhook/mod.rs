//! The webhook server over real TLS connections.

mod certificates;
mod child;
pub(crate) mod client;
mod connections;
mod corpus;
mod descriptors;
mod drain;
mod exhaustion;
mod hangup;
mod http;
mod logs;
mod memory;
mod overload;
mod own_kinds;
mod ping;
mod process;
mod reviews;
mod routing;
pub(crate) mod server;
