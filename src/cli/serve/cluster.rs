//! The flags about the API server.

use std::path::PathBuf;

use clap::Args;

use crate::source::{ClusterOptions, Connection};

/// Which cluster, and what of it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Cluster")]
pub(super) struct ClusterArgs {
    /// Take the RoutingRules of the API server, beside those of --rules. The default inside a Pod, if there is no --rules.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    cluster: Option<bool>,

    /// A kubeconfig, instead of the Pod's account, KUBECONFIG or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// A context of the kubeconfig, instead of its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Serve the ValidatingAdmissionPolicies and MutatingAdmissionPolicies of the API server too. It goes on applying them itself.
    #[arg(long)]
    admission_policies: bool,

    /// A file for what the API server has said last, so that a start without it serves that. Not used when older than a day.
    #[arg(long, value_name = "FILE")]
    cluster_cache: Option<PathBuf>,

    /// Write the status of the rules: what is accepted, what is in force on which replicas, and why not.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true"
    )]
    status: bool,

    /// A name for this replica that no other one has: in a Pod its name, elsewhere one made of host and process.
    #[arg(long, value_name = "NAME", env = "POD_NAME")]
    replica_name: Option<String>,
}

impl ClusterArgs {
    /// Whether this replica takes part in writing statuses.
    pub(super) fn writes_status(&self) -> bool {
        self.status
    }

    /// As a part of the name of an object.
    pub(super) fn replica_name(&self) -> String {
        let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let made = || format!("{}-{}", host().trim(), std::process::id());
        let name = self.replica_name.clone().unwrap_or_else(made).to_ascii_lowercase();
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect()
    }

    /// Whether the API server is a source of rules.
    pub(super) fn is_wanted(&self, has_no_files: bool) -> bool {
        let is_named = self.kubeconfig.is_some() || self.context.is_some();
        self.cluster.unwrap_or(is_named || (has_no_files && Connection::is_in_pod()))
    }

    pub(super) fn connection(&self) -> Connection {
        Connection { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }

    pub(super) fn options(&self) -> ClusterOptions {
        ClusterOptions { policies: self.admission_policies, cache: self.cluster_cache.clone() }
    }
}
