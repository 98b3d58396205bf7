//! The `usher` binary: what belongs to the process, then the commands.

use std::process::ExitCode;

/// Holds less after reading rules than the system's allocator does, which keeps a heap for each thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // An error only says that there is a provider already, and nothing has run before this line.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    usher::cli::main(std::env::args_os())
}
