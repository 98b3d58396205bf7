//! The flag of all commands that compile rules.

use clap::Args;
use usher_cel::KubernetesVersion;

/// Which CEL rules are written in.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct CelArgs {
    /// Version of Kubernetes, from 1.30 on, whose CEL rules are written in. What came later is an error that says so; what has changed since
    /// then is as it was.
    #[arg(
        long = "cel-version",
        value_name = "VERSION",
        default_value_t,
        env = "USHER_CEL_VERSION",
        help_heading = "Rules"
    )]
    pub(super) version: KubernetesVersion,
}
