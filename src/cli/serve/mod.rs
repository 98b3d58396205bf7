//! `usher serve`.

mod follow;
mod process;
mod rule_metrics;

pub use process::{Addresses, Deciding, Process};

use std::path::PathBuf;

use clap::Args;
use prometheus::Registry;

use super::Exit;
use super::terminal::Fault;
use crate::engine::{Decision, Protected, Query, Request, decide};
use crate::rules::{LiveRules, RuleWriter};
use crate::source::DirectorySource;
use crate::telemetry::{Gate, init_logs};
use crate::webhook::{Admit, ServerArgs};
use follow::Follower;
use rule_metrics::RuleMetrics;

/// Answer the API server's AdmissionReviews over HTTPS by the rules of files and directories.
///
/// Changes of the files are taken up while running. Paths: /mutate and /validate for all rules; /mutate/fail, /mutate/ignore, /validate/fail
/// and /validate/ignore for the rules of one failure policy.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: usher serve --rules policies/ --tls-self-signed certs/dev --bind 127.0.0.1:8443\n\n\
                  SIGTERM: not ready, answers close their connections, requests in flight are finished, exit 0."
)]
pub(super) struct ServeArgs {
    /// Rules: files, or directories with .yaml, .yml and .json files. Objects beside them serve as namespaces and parameters.
    #[arg(short = 'f', long, value_name = "PATH", required = true, num_args = 1.., help_heading = "Rules")]
    rules: Vec<PathBuf>,

    /// Namespace that the server runs in. Its requests are never intercepted, as are those of kube-system and kube-node-lease.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "usher-system",
        env = "POD_NAMESPACE",
        help_heading = "Rules"
    )]
    own_namespace: String,

    #[command(flatten)]
    server: ServerArgs,
}

pub(super) fn run(ServeArgs { rules, own_namespace, server }: ServeArgs) -> anyhow::Result<Exit> {
    let source = DirectorySource::open(rules).map_err(|fault| Fault::of_flag(*fault, Some("--rules")))?;
    let registry = Registry::new();
    let metrics = RuleMetrics::register(&registry)?;
    let (writer, live) = RuleWriter::new(Protected::new(&own_namespace));
    let gate = Gate::default();
    let follower = Follower::new(writer, live.clone(), metrics, gate.clone());
    // Before anything is told that goes to the log: the guard writes what is left of it.
    let _logs = init_logs(server.log_format, &server.log_level)?;
    let deciding = Deciding { admit: Rules(live), rules: gate, follow: follower.run(source) };
    Process::prepare(server, registry, deciding)?.run()?;
    Ok(Exit::Clean)
}

/// Decides by the rules in force.
#[derive(Debug)]
struct Rules(LiveRules);

impl Admit for Rules {
    fn admit(&self, request: &Request<'_>, query: &Query<'_>) -> Decision {
        decide(&self.0.load(), request, query)
    }
}
