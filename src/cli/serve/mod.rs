//! `usher serve`.

mod cluster;
mod findings;
mod follow;
mod process;
mod quarantine_metrics;
mod registration;
mod rule_metrics;
mod watch_metrics;

pub use process::{Addresses, Deciding, Process};

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use prometheus::Registry;
use tokio::sync::watch;
use usher_cel::KubernetesVersion;
use usher_cel::eval::ErrorKind;

use super::Exit;
use super::cel::CelArgs;
use super::terminal::Fault;
use crate::controller::{Controller, ControllerMetrics, RegistrationMetrics};
use crate::engine::{Decision, Finding, PANICKED, Protected, Query, Request, RuleSet, decide};
use crate::rules::{Context, LiveRules, RuleWriter, Served, review_rule};
use crate::source::{ClusterSource, DirectorySource};
use crate::telemetry::{Gate, init_logs};
use crate::webhook::{Admit, ServerArgs};
use cluster::ClusterArgs;
use follow::{Follower, Sources};
use quarantine_metrics::QuarantineMetrics;
use registration::RegistrationArgs;
use rule_metrics::RuleMetrics;
use watch_metrics::WatchMetrics;

/// Answer the API server's AdmissionReviews over HTTPS by the rules of files and directories, of the API server, or both.
///
/// Changes are taken up while running. Paths: /mutate and /validate for all rules; /mutate/fail, /mutate/ignore, /validate/fail
/// and /validate/ignore for the rules of one failure policy; /validate-rules for RoutingRules before they are stored.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: usher serve --rules policies/ --tls-self-signed certs/dev --bind 127.0.0.1:8443\n\n\
                  SIGTERM: not ready, answers close their connections, requests in flight are finished, exit 0."
)]
pub(super) struct ServeArgs {
    /// Rules: files, or directories with .yaml, .yml and .json files. Objects beside them serve as namespaces and parameters.
    #[arg(short = 'f', long, value_name = "PATH", num_args = 1.., help_heading = "Rules")]
    rules: Vec<PathBuf>,

    /// Namespace that the server runs in. Its requests are never intercepted, as are those of kube-system and kube-node-lease.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "usher-system",
        env = "POD_NAMESPACE",
        value_parser = namespace,
        help_heading = "Rules"
    )]
    own_namespace: String,

    #[command(flatten)]
    cel: CelArgs,

    #[command(flatten)]
    cluster: ClusterArgs,

    #[command(flatten)]
    registration: RegistrationArgs,

    #[command(flatten)]
    server: ServerArgs,
}

pub(super) fn run(args: ServeArgs) -> anyhow::Result<Exit> {
    let ServeArgs { rules, own_namespace, cel, cluster, registration, server } = args;
    let with_cluster = cluster.is_wanted(rules.is_empty());
    if rules.is_empty() && !with_cluster {
        bail!(
            "there are no rules: name files or directories with --rules, or take those of the API server with --cluster"
        );
    }
    let writes_status = with_cluster && cluster.writes_status();
    let registering = registration.registering(&own_namespace, &server, writes_status)?;
    let files = match rules {
        none if none.is_empty() => None,
        rules => Some(DirectorySource::open(rules).map_err(|fault| Fault::of_flag(*fault, Some("--rules")))?),
    };
    let registry = Registry::new();
    let metrics = RuleMetrics::register(&registry)?;
    let (writer, live) = RuleWriter::new(Protected::new(&own_namespace));
    let gate = Gate::default();
    registry.register(Box::new(QuarantineMetrics::of(live.clone())?))?;
    let follower = Follower::new(writer.for_version(cel.version), live.clone(), metrics, gate.clone());
    // Before anything is told that goes to the log: the guard writes what is left of it.
    let _logs = init_logs(server.log_format, &server.log_level)?;
    let runtime = process::runtime()?;
    let mut sources = Sources { files, cluster: None };
    let mut controller = None;
    if with_cluster {
        let client = runtime.block_on(cluster.connection().client())?;
        let source = ClusterSource::new(client.clone(), cluster.options());
        registry.register(Box::new(WatchMetrics::of(source.health())?))?;
        sources.cluster = Some(source);
        if writes_status {
            let metrics = ControllerMetrics::register(&registry)?;
            controller = Some(Controller::new(client, &own_namespace, &cluster.replica_name(), metrics));
        }
    }
    if let Some(registering) = registering {
        // A certificate that is to be made has its authority only then.
        server.cert_files()?;
        RegistrationArgs::check(&registering)?;
        let metrics = RegistrationMetrics::register(&registry)?;
        controller = controller.map(|controller| controller.registering(registering, live.clone(), metrics));
    } else {
        controller = controller.map(|controller| controller.observing(registration.name(), live.clone()));
    }
    let farewell = controller.as_ref().map(Controller::farewell);
    let follow = follow(follower, sources, controller);
    let deciding = Deciding { admit: Rules { live, version: cel.version }, rules: gate, follow };
    let ended = Process::prepare(server, registry, deciding)?.run(&runtime);
    if let Some(farewell) = farewell {
        runtime.block_on(farewell.say());
    }
    // Everything that was spawned has been joined; reads of files may still be under way.
    runtime.shutdown_background();
    ended.map(|()| Exit::Clean)
}

/// Follows the rules, and tells the controller, if there is one, what becomes of them.
async fn follow(follower: Follower, sources: Sources, controller: Option<Controller>) {
    let Some(controller) = controller else { return follower.run(sources).await };
    let (tx, served) = watch::channel(Served::default());
    tokio::select! {
        () = follower.telling(tx).run(sources) => {}
        () = controller.run(served) => tracing::error!("the controller has ended"),
    }
}

/// A name that no namespace can have would protect nothing.
fn namespace(text: &str) -> Result<String, String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = text.len() <= 63
        && text.starts_with(is_part)
        && text.ends_with(is_part)
        && text.chars().all(|c| is_part(c) || c == '-');
    if is_label {
        return Ok(text.to_owned());
    }
    Err("expected a namespace: at most 63 lower-case letters, digits and -, with none of the - at the ends"
        .to_owned())
}

/// Decides by the rules in force.
#[derive(Debug)]
struct Rules {
    live: LiveRules,
    version: KubernetesVersion,
}

impl Admit for Rules {
    fn admit(&self, request: &Request<'_>, query: &Query<'_>) -> Decision {
        let rules = self.live.load();
        let decision = decide(&rules, request, query);
        tell_panics(&rules, &decision);
        decision
    }

    fn admit_rule(&self, request: &Request<'_>) -> Decision {
        let (rules, kinds) = (self.live.load(), self.live.kinds());
        let context = Context { kinds: &kinds, protected: rules.protected(), version: self.version };
        review_rule(request, &context)
    }
}

/// Logs which rules panicked; a rule does so no more than a few times, then it is quarantined.
fn tell_panics(rules: &RuleSet, decision: &Decision) {
    for outcome in &decision.outcomes {
        let Finding::Error { kind: ErrorKind::Internal, message } = &outcome.finding else { continue };
        if message != PANICKED {
            continue;
        }
        let is_quarantined =
            rules.rules().iter().any(|rule| rule.name == outcome.rule && rule.panics.is_quarantined());
        tracing::error!(
            rule = &*outcome.rule,
            quarantined = is_quarantined,
            "the evaluation of a rule panicked: a defect of Usher"
        );
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("usher-system", true)]
    #[case("0", true)]
    #[case("", false)]
    #[case("-a", false)]
    #[case("a-", false)]
    #[case("Usher", false)]
    #[case("usher system", false)]
    #[case(&"a".repeat(64), false)]
    fn the_own_namespace_is_one_that_can_exist(#[case] text: &str, #[case] good: bool) {
        assert_eq!(namespace(text).is_ok(), good);
    }
}
