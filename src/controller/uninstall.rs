//! Taking away what the controller has made, also while replicas run.
//!
//! Whoever uninstalls holds the Lease of the leader first, for so long that the replicas can be deleted meanwhile: none of them registers again. A
//! leader that has not noticed yet may, for as long as it believes in its Lease, so the configurations are looked for until it cannot any more.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams};
use kube::{Api, Client, ResourceExt};
use tokio::time::sleep;

use super::heartbeat::LABEL;
use super::leader::{DEADLINE, NAME, seize};

/// Holder of the leader's Lease. No replica has this name.
const IDENTITY: &str = "usher-uninstall";
/// For how long nobody else leads.
const HOLD: Duration = Duration::from_secs(600);
/// How long is waited for a leader that does not know yet that it leads no more: until its time has run out, and an answer has come.
const WAIT: Duration = DEADLINE.saturating_add(Duration::from_secs(2));
const LOOK: Duration = Duration::from_millis(500);

/// What to take away.
#[derive(Clone)]
pub struct Uninstall {
    pub client: Client,
    /// Where the Leases are.
    pub namespace: String,
    /// Of both webhook configurations.
    pub name: String,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    Deleted {
        kind: &'static str,
        name: String,
    },
    /// There are Leases of replicas: for so long it has to be seen whether one of them lives.
    Waiting(Duration),
}

/// How it ended.
#[derive(Debug, Default)]
pub struct Uninstalled {
    /// Names of replicas that still run, and for how long none of them leads.
    pub running: Vec<String>,
    /// What could not be done. The rest was.
    pub errors: Vec<(String, kube::Error)>,
}

impl std::fmt::Debug for Uninstall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Uninstall")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Uninstall {
    /// For how long replicas that still run leave everything alone.
    pub const HOLD: Duration = HOLD;

    /// Takes away the webhook configurations first, then the Leases. What cannot be taken away holds up nothing else.
    pub async fn run(&self, mut tell: impl FnMut(Removal)) -> Uninstalled {
        let mut ended = Uninstalled::default();
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), &self.namespace);
        let before = self.renewals(&leases, &mut ended).await;
        if !before.is_empty()
            && let Err(error) = seize(&leases, IDENTITY, HOLD).await
        {
            ended.errors.push((format!("hold the Lease {NAME}"), error));
        }
        self.delete_configurations(&mut tell, &mut ended).await;
        if before.is_empty() {
            self.delete_lease(&leases, NAME, &mut tell, &mut ended).await;
            return ended;
        }
        tell(Removal::Waiting(WAIT));
        let end = Instant::now() + WAIT;
        while Instant::now() < end && ended.errors.is_empty() {
            sleep(LOOK).await;
            self.delete_configurations(&mut tell, &mut ended).await;
        }
        let after = self.renewals(&leases, &mut ended).await;
        for (name, renewed) in &after {
            if before.get(name).is_none_or(|known| known != renewed) {
                ended.running.push(name.clone());
            } else {
                self.delete_lease(&leases, name, &mut tell, &mut ended).await;
            }
        }
        if ended.running.is_empty() {
            self.delete_lease(&leases, NAME, &mut tell, &mut ended).await;
        }
        ended
    }

    /// Leases of replicas with their last signs of life.
    async fn renewals(
        &self,
        leases: &Api<Lease>,
        ended: &mut Uninstalled,
    ) -> BTreeMap<String, Option<String>> {
        let params = ListParams::default().labels(&format!("{}={}", LABEL.0, LABEL.1));
        let renewed = |lease: &Lease| Some(lease.spec.as_ref()?.renew_time.as_ref()?.0.to_string());
        match leases.list(&params).await {
            Ok(list) => list.iter().map(|lease| (lease.name_any(), renewed(lease))).collect(),
            Err(error) => {
                ended.errors.push((format!("list Leases in {}", self.namespace), error));
                BTreeMap::new()
            }
        }
    }

    async fn delete_configurations(&self, tell: &mut impl FnMut(Removal), ended: &mut Uninstalled) {
        let kinds = [
            ("ValidatingWebhookConfiguration", ApiResource::erase::<ValidatingWebhookConfiguration>(&())),
            ("MutatingWebhookConfiguration", ApiResource::erase::<MutatingWebhookConfiguration>(&())),
        ];
        for (kind, resource) in kinds {
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
            note(
                api.delete(&self.name, &DeleteParams::default()).await.map(drop),
                kind,
                &self.name,
                tell,
                ended,
            );
        }
    }

    async fn delete_lease(
        &self,
        leases: &Api<Lease>,
        name: &str,
        tell: &mut impl FnMut(Removal),
        ended: &mut Uninstalled,
    ) {
        note(leases.delete(name, &DeleteParams::default()).await.map(drop), "Lease", name, tell, ended);
    }
}

/// What is not there is no error.
fn note(
    deleted: kube::Result<()>,
    kind: &'static str,
    name: &str,
    tell: &mut impl FnMut(Removal),
    ended: &mut Uninstalled,
) {
    match deleted {
        Ok(()) => tell(Removal::Deleted { kind, name: name.to_owned() }),
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => ended.errors.push((format!("delete {kind} {name}"), error)),
    }
}
