//! Usher against a real API server.

mod control_plane;
mod lockout;
mod registering;
mod registration;
mod server;
mod source;
mod status;
mod uninstall;
mod world;
