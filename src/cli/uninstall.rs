//! `usher uninstall`.

use std::path::PathBuf;

use clap::Args;

use super::{Exit, terminal};
use crate::controller::{Removal, Uninstall, Uninstalled};
use crate::source::Connection;

/// Delete the webhook configurations and the Leases that usher serve has made: nothing is asked about or held up any more.
///
/// Run it before the server goes: replicas that still run leave the configurations alone for ten minutes. What is not there is no error.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: usher uninstall && kubectl delete -k deploy/\n\nWithout this command: kubectl delete \
                  validatingwebhookconfiguration,mutatingwebhookconfiguration usher"
)]
pub(super) struct UninstallArgs {
    /// Name of both webhook configurations.
    #[arg(long, value_name = "NAME", default_value = "usher")]
    webhook_name: String,

    /// Namespace that the server runs in.
    #[arg(long, value_name = "NAME", default_value = "usher-system")]
    own_namespace: String,

    /// A kubeconfig, instead of the Pod's account, KUBECONFIG or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// A context of the kubeconfig, instead of its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

pub(super) fn run(args: UninstallArgs) -> anyhow::Result<Exit> {
    let UninstallArgs { webhook_name, own_namespace, kubeconfig, context } = args;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut lines = 0;
    let ended = runtime.block_on(async {
        let client = Connection { kubeconfig, context }.client().await?;
        let uninstall = Uninstall { client, namespace: own_namespace.clone(), name: webhook_name };
        let tell = |removal| match removal {
            Removal::Deleted { kind, name } => {
                lines += 1;
                // Who closes the output has seen enough, but the rest has to be deleted all the same.
                let _ = terminal::out(&format!("deleted {kind} {name}\n"));
            }
            Removal::Waiting(time) => terminal::note(format_args!(
                "there are replicas, or were a moment ago; seeing for {} s to it that none registers again",
                time.as_secs()
            )),
        };
        anyhow::Ok(uninstall.run(tell).await)
    })?;
    let Uninstalled { running, errors } = ended;
    for (what, error) in &errors {
        terminal::tell(format_args!("error: cannot {what}: {error}"));
    }
    if !errors.is_empty() {
        return Ok(Exit::Failed);
    }
    if !running.is_empty() {
        terminal::note(format_args!(
            "still running in {own_namespace}: {}; they register again after {} minutes: delete them before, then run this once more \
             for their Leases",
            running.join(", "),
            Uninstall::HOLD.as_secs() / 60
        ));
    } else if lines == 0 {
        terminal::note("nothing is left");
    }
    Ok(Exit::Clean)
}
