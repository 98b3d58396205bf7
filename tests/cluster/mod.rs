//! Usher against a real API server.

mod control_plane;
mod registering;
mod registration;
mod server;
mod source;
mod status;
mod world;
