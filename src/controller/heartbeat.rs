//! What this replica says of itself: that it lives, and how far it has taken up the rules.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::leader::now;
use crate::rules::Served;

/// On the Lease of every replica.
pub(super) const LABEL: (&str, &str) = ("usher.dev/component", "replica");
/// Resource version up to which the replica has taken up rules.
pub(super) const VERSION: &str = "usher.dev/resource-version";
/// Names of the rules whose newest version it refuses, with commas between; `*` for too many to name.
pub(super) const REFUSED: &str = "usher.dev/refused";
/// A replica that has not been heard for so long is gone.
pub(super) const DURATION: Duration = Duration::from_secs(15);
/// How often it is heard at least.
const RENEWAL: Duration = Duration::from_secs(5);
/// How often it is heard at most, while rules change.
const GAP: Duration = Duration::from_millis(200);
/// All annotations of an object together may have 256 KiB.
const REFUSED_BYTES: usize = 128 << 10;
const ANSWER: Duration = Duration::from_secs(3);

/// Writes the Lease of one replica.
pub(super) struct Heartbeat {
    leases: Api<Lease>,
    replica: String,
}

impl Heartbeat {
    pub(super) fn new(client: Client, namespace: &str, replica: String) -> Self {
        Self { leases: Api::namespaced(client, namespace), replica }
    }

    /// Beats for ever, at once when rules have changed. A replica that has no rules yet answers nothing, so nobody has to wait for it.
    pub(super) async fn run(self, mut served: watch::Receiver<Served>) {
        if served.wait_for(|served| served.version > 0).await.is_err() {
            return;
        }
        loop {
            let saying = served.borrow_and_update().clone();
            let start = Instant::now();
            match timeout(ANSWER, self.beat(&saying)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "cannot write the Lease of this replica"),
                Err(_) => tracing::warn!("no answer about the Lease of this replica"),
            }
            sleep(GAP).await;
            let news = async {
                // A version alone can wait for the next renewal: nobody waits for it but a new leader.
                while served.changed().await.is_ok() {
                    if served.borrow().reports != saying.reports {
                        return;
                    }
                }
                std::future::pending().await
            };
            let _ = timeout(RENEWAL.saturating_sub(start.elapsed()), news).await;
        }
    }

    async fn beat(&self, served: &Served) -> kube::Result<()> {
        let name = lease_name(&self.replica);
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": name,
                "labels": {LABEL.0: LABEL.1},
                "annotations": {VERSION: served.version.to_string(), REFUSED: refused(served)},
            },
            "spec": {
                "holderIdentity": self.replica,
                "leaseDurationSeconds": DURATION.as_secs(),
                "renewTime": now(),
            },
        });
        let params = PatchParams::apply("usher-replica").force();
        self.leases.patch(&name, &params, &Patch::Apply(lease)).await.map(drop)
    }
}

pub(super) fn lease_name(replica: &str) -> String {
    format!("usher-replica-{replica}")
}

fn refused(served: &Served) -> String {
    let refused = served.reports.iter().filter(|(_, report)| !report.accepted);
    let names = refused.map(|(name, _)| &**name).collect::<Vec<_>>().join(",");
    if names.len() > REFUSED_BYTES { "*".to_owned() } else { names }
}
