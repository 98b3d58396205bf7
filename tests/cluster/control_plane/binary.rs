//! The control plane's programs, in one binary that is built once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds the binary if it is not there, which takes minutes, and says where it is.
pub(super) fn build() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/plane/build.sh");
    let built = Command::new(&script)
        .stderr(Stdio::inherit())
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", script.display()));
    assert!(built.status.success(), "{} failed: {}", script.display(), built.status);
    PathBuf::from(String::from_utf8(built.stdout).expect("a path").trim_end())
}
