//! One watch of one resource.

use std::convert::Infallible;
use std::time::Duration;

use backon::ExponentialBuilder;
use futures_util::StreamExt;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use kube::error::DiscoveryError;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher;
use kube::runtime::watcher::{Config, Event, ExponentialBackoff};
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::health::{Resource, WatchHealth};
use crate::diagnostic::Diagnostic;
use crate::source::change::Broken;
use crate::source::manifest::Document;
use crate::source::object::{Object, ObjectKey, decode};

/// Seconds after which the API server ends a watch, which then goes on with another one. The client gives up 5 s later by itself: a
/// connection that was dropped without a word is noticed by then. The API server's own default is longer than many load balancers wait.
const WATCH_SECONDS: u32 = 200;

/// Pauses after errors: the first, and the largest. A pause is up to twice as long, by chance, so that replicas do not ask all at once; half a
/// minute after the API server is back everybody has asked.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// What to watch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Target {
    pub(super) resource: Resource,
    /// `v1`, `apps/v1`; the first that the API server has.
    pub(super) api_versions: Vec<Box<str>>,
    pub(super) kind: Box<str>,
    /// Only this namespace.
    pub(super) namespace: Option<Box<str>>,
    /// Only the object of this name.
    pub(super) name: Option<Box<str>>,
}

/// What a watch has seen.
pub(super) struct Sighting {
    /// Number of the watch.
    pub(super) watch: u64,
    pub(super) seen: Seen,
}

pub(super) enum Seen {
    /// The kind was found, and whether its objects live in namespaces.
    Found {
        resource: ApiResource,
        namespaced: bool,
    },
    /// Everything that there is.
    Listed(Vec<Decoded>),
    Applied(Decoded),
    Deleted {
        key: ObjectKey,
        version: u64,
    },
    /// The API server is away or refuses, or it does not have the kind. The watch goes on.
    Failed(Failure),
}

/// Why nothing can be seen now.
pub(super) struct Failure {
    pub(super) error: String,
    /// The API server was asked, and has no such kind.
    pub(super) is_missing: bool,
}

/// An object, or why it is none.
pub(super) struct Decoded {
    pub(super) key: ObjectKey,
    /// `metadata.resourceVersion`; 0 if it is no number.
    pub(super) version: u64,
    pub(super) result: Result<(Object, Vec<Diagnostic>), Broken>,
}

/// One watch, with whom it tells.
pub(super) struct Watch {
    pub(super) client: Client,
    pub(super) target: Target,
    pub(super) number: u64,
    pub(super) health: WatchHealth,
    pub(super) sightings: mpsc::Sender<Sighting>,
}

/// Why a watch has ended.
enum End {
    /// Nobody receives any more.
    Closed,
    Failed(String),
}

impl Watch {
    /// Lists and watches until nobody receives any more. After every error it lists anew, with a growing, jittered pause before: then it is known
    /// to be whole again.
    pub(super) async fn run(self) {
        let pauses =
            ExponentialBuilder::default().with_min_delay(PAUSES.0).with_max_delay(PAUSES.1).with_factor(2.0);
        let mut backoff = ExponentialBackoff::from(pauses.with_jitter().without_max_times());
        loop {
            let failure = match self.find().await {
                Ok((resource, namespaced)) => match self.follow(resource, namespaced, &mut backoff).await {
                    Ok(never) => match never {},
                    Err(End::Closed) => return,
                    Err(End::Failed(error)) => Failure { error, is_missing: false },
                },
                Err(failure) => failure,
            };
            self.health.failed(self.target.resource, self.number, failure.is_missing);
            if self.tell(Seen::Failed(failure)).await.is_err() {
                return;
            }
            sleep(backoff.next().unwrap_or(PAUSES.1)).await;
        }
    }

    async fn tell(&self, seen: Seen) -> Result<(), End> {
        self.sightings.send(Sighting { watch: self.number, seen }).await.map_err(|_| End::Closed)
    }

    /// Asks the API server for the kind: how it is called in paths, and whether it lives in namespaces.
    async fn find(&self) -> Result<(ApiResource, bool), Failure> {
        let (mut last, mut is_missing) = (String::new(), true);
        for api_version in &self.target.api_versions {
            let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
            let kind = GroupVersionKind::gvk(group, version, &self.target.kind);
            match pinned_kind(&self.client, &kind).await {
                Ok((resource, capabilities)) => {
                    return Ok((resource, capabilities.scope == Scope::Namespaced));
                }
                Err(error) => {
                    is_missing &= match &error {
                        kube::Error::Discovery(error) => matches!(error, DiscoveryError::MissingKind(_)),
                        kube::Error::Api(status) => status.code == 404,
                        _ => false,
                    };
                    last = chain(&error);
                }
            }
        }
        Err(Failure { error: format!("cannot find the kind {}: {last}", self.target.kind), is_missing })
    }

    /// Until it ends.
    async fn follow(
        &self,
        resource: ApiResource,
        namespaced: bool,
        backoff: &mut ExponentialBackoff,
    ) -> Result<Infallible, End> {
        self.tell(Seen::Found { resource: resource.clone(), namespaced }).await?;
        let target = &self.target;
        let api: Api<DynamicObject> = match &target.namespace {
            Some(namespace) if namespaced => Api::namespaced_with(self.client.clone(), namespace, &resource),
            _ => Api::all_with(self.client.clone(), &resource),
        };
        let mut config = Config::default().timeout(WATCH_SECONDS);
        if let Some(name) = &target.name {
            config = config.fields(&format!("metadata.name={name}"));
        }
        let mut events = std::pin::pin!(watcher(api, config));
        let mut listed = Vec::new();
        while let Some(event) = events.next().await {
            let seen = match event.map_err(|error| End::Failed(chain(&error)))? {
                Event::Init => {
                    listed.clear();
                    continue;
                }
                Event::InitApply(object) => {
                    listed.push(decoded(object, &resource));
                    continue;
                }
                Event::InitDone => {
                    backoff.reset();
                    self.health.synced(target.resource, self.number);
                    Seen::Listed(std::mem::take(&mut listed))
                }
                Event::Apply(object) => Seen::Applied(decoded(object, &resource)),
                Event::Delete(object) => {
                    Seen::Deleted { version: version(&object), key: key(&object, &resource) }
                }
            };
            self.health.heard(target.resource);
            self.tell(seen).await?;
        }
        Err(End::Failed("the watch has ended".to_owned()))
    }
}

fn decoded(mut object: DynamicObject, resource: &ApiResource) -> Decoded {
    // Half of an object, and nothing that a rule reads of a stored one.
    object.metadata.managed_fields = None;
    let (key, version) = (key(&object, resource), version(&object));
    object.types =
        Some(kube::api::TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() });
    let result = match serde_json::to_value(&object) {
        Ok(value) => decode(Document { key: key.clone(), value, map: None }),
        Err(error) => Err(vec![Diagnostic::error(crate::diagnostic::Code::InvalidValue, error.to_string())]),
    };
    let result = result.map_err(|diagnostics| Broken { key: key.clone(), diagnostics });
    Decoded { key, version, result }
}

fn key(object: &DynamicObject, resource: &ApiResource) -> ObjectKey {
    ObjectKey {
        api_version: resource.api_version.as_str().into(),
        kind: resource.kind.as_str().into(),
        namespace: object.metadata.namespace.as_deref().unwrap_or_default().into(),
        name: object.metadata.name.as_deref().unwrap_or_default().into(),
    }
}

/// Since Kubernetes 1.35 resource versions are numbers that grow; etcd's always were.
fn version(object: &DynamicObject) -> u64 {
    object.metadata.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
