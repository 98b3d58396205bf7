//! Usher against a real API server.

mod account;
mod control_plane;
mod forbidden;
mod lockout;
mod manifests;
mod own_kinds;
mod registering;
mod registration;
mod rights;
mod server;
mod source;
mod status;
mod uninstall;
mod world;
