//! Usher against a real API server.

mod control_plane;
