//! Who may write: the holder of a Lease.
//!
//! As client-go's `tools/leaderelection`: a candidate takes a Lease over only after it has itself seen it unchanged for the whole duration,
//! on its own clock, and every change is made on the version that was read. What the Lease says of times is for people.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::sleep;

/// Name of the Lease.
pub(super) const NAME: &str = "usher-controller";
/// After so long without a renewal somebody else may take over.
const DURATION: Duration = Duration::from_secs(15);
/// After so long without a renewal of its own the holder writes nothing any more; five seconds before anybody else may.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);
/// How often the holder renews and the others look: a Lease that was released is taken within 3 s.
const RETRY: Duration = Duration::from_secs(2);
/// An answer that comes later is of no use to the holder.
const ANSWER: Duration = Duration::from_secs(3);

/// Whether this process may write. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Leadership {
    until: watch::Receiver<Option<Instant>>,
}

impl Leadership {
    /// Asked before each write: a process that was stopped for a while finds its time run out.
    pub(super) fn is_held(&self) -> bool {
        self.until.borrow().is_some_and(|until| Instant::now() < until)
    }

    /// Waits until this process is the holder; `false` when nobody tries any more.
    pub(super) async fn until_held(&mut self) -> bool {
        while !self.is_held() {
            if self.until.changed().await.is_err() {
                return false;
            }
        }
        true
    }
}

/// One that wants to hold the Lease.
pub(super) struct Candidate {
    leases: Api<Lease>,
    identity: String,
    held: watch::Sender<Option<Instant>>,
    /// Version of the Lease that was seen last, and since when.
    seen: Option<(String, Instant)>,
}

impl Candidate {
    pub(super) fn new(client: Client, namespace: &str, identity: String) -> (Self, Leadership) {
        let (held, until) = watch::channel(None);
        let leases = Api::namespaced(client, namespace);
        (Self { leases, identity, held, seen: None }, Leadership { until })
    }

    /// Tries for ever.
    pub(super) async fn run(mut self) {
        loop {
            let start = Instant::now();
            match tokio::time::timeout(ANSWER, self.attempt()).await {
                Ok(Ok(true)) => self.hold(Some(start + DEADLINE)),
                Ok(Ok(false)) => self.hold(None),
                // Somebody was faster; the next look shows who.
                Ok(Err(kube::Error::Api(status))) if status.code == 409 => {}
                Ok(Err(error)) => tracing::warn!(%error, "cannot hold or look at the Lease {NAME}"),
                Err(_) => tracing::warn!("no answer about the Lease {NAME}"),
            }
            sleep(RETRY).await;
        }
    }

    fn hold(&self, until: Option<Instant>) {
        let was = self.held.borrow().is_some();
        if was != until.is_some() {
            tracing::info!(identity = self.identity, leader = until.is_some(), "leadership has changed");
        }
        self.held.send_replace(until);
    }

    /// Whether this process holds the Lease now.
    async fn attempt(&mut self) -> kube::Result<bool> {
        let Some(mut lease) = self.leases.get_opt(NAME).await? else {
            let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
            let lease = Lease { metadata, spec: Some(self.claim(0)) };
            self.leases.create(&PostParams::default(), &lease).await?;
            return Ok(true);
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let transitions = spec.lease_transitions.unwrap_or_default();
        if holder == self.identity {
            lease.spec = Some(LeaseSpec { renew_time: Some(now()), ..spec });
        } else if holder.is_empty() || self.has_run_out(&lease) {
            lease.spec = Some(self.claim(transitions.saturating_add(1)));
        } else {
            return Ok(false);
        }
        // With the version that was read: of two who try, one fails.
        self.leases.replace(NAME, &PostParams::default(), &lease).await?;
        Ok(true)
    }

    fn has_run_out(&mut self, lease: &Lease) -> bool {
        let version = lease.metadata.resource_version.as_deref().unwrap_or_default();
        // Its holder says for how long it is good.
        let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let duration = seconds.map_or(DURATION, Duration::from_secs);
        match &self.seen {
            Some((seen, since)) if seen == version => since.elapsed() >= duration,
            _ => {
                self.seen = Some((version.to_owned(), Instant::now()));
                false
            }
        }
    }

    fn claim(&self, transitions: i32) -> LeaseSpec {
        claim(&self.identity, DURATION, transitions)
    }
}

fn claim(identity: &str, duration: Duration, transitions: i32) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: i32::try_from(duration.as_secs()).ok(),
        acquire_time: Some(now()),
        renew_time: Some(now()),
        lease_transitions: Some(transitions),
        ..LeaseSpec::default()
    }
}

/// Takes the Lease from whoever holds it. Who held it notices within [`DEADLINE`].
pub(super) async fn seize(leases: &Api<Lease>, identity: &str, duration: Duration) -> kube::Result<()> {
    loop {
        let written = match leases.get_opt(NAME).await? {
            None => {
                let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
                let lease = Lease { metadata, spec: Some(claim(identity, duration, 0)) };
                leases.create(&PostParams::default(), &lease).await
            }
            Some(mut lease) => {
                let transitions = lease.spec.and_then(|spec| spec.lease_transitions).unwrap_or_default();
                lease.spec = Some(claim(identity, duration, transitions.saturating_add(1)));
                leases.replace(NAME, &PostParams::default(), &lease).await
            }
        };
        match written {
            // The holder has renewed it meanwhile, which it does every 2 s.
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            other => return other.map(drop),
        }
    }
}

/// Gives the Lease up, if this process holds it.
pub(super) async fn release(leases: &Api<Lease>, identity: &str) -> kube::Result<()> {
    let Some(mut lease) = leases.get_opt(NAME).await? else { return Ok(()) };
    let Some(spec) = lease.spec.as_mut() else { return Ok(()) };
    if spec.holder_identity.as_deref() == Some(identity) {
        spec.holder_identity = None;
        leases.replace(NAME, &PostParams::default(), &lease).await?;
    }
    Ok(())
}

pub(super) fn now() -> MicroTime {
    MicroTime(Timestamp::now())
}
