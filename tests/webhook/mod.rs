//! The webhook server over real TLS connections.

mod certificates;
pub(crate) mod client;
mod connections;
mod corpus;
mod drain;
mod http;
mod logs;
mod process;
mod reviews;
mod routing;
mod server;
