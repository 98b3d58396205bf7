//! The task that puts together what the watches see.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::ApiResource;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use super::cache;
use super::health::{Resource, WatchHealth};
use super::known::Known;
use super::parameters;
use super::watching::{Decoded, Failure, Seen, Sighting, Target, Watch};
use crate::api::{GROUP, VERSION};
use crate::source::change::{Change, Snapshot};
use crate::source::object::{Object, ObjectKey};
use crate::source::object_store::StoredObject;

/// Sightings that may wait, all watches together: a storm of 200 changes a second for as long as a thousand rules take to compile. A watch
/// that has to wait does not read on, and the API server keeps the rest.
const SIGHTINGS: usize = 1024;
/// How long a rule waits for its parameters to be listed. After that it is served without, which its `notFound` answers.
const PARAMETERS: Duration = Duration::from_secs(10);
/// At most that often the file of what is known is written.
const WRITE: Duration = Duration::from_secs(10);

/// What to watch, and where to remember it.
#[derive(Clone, Debug, Default)]
pub struct ClusterOptions {
    /// Whether to serve the admission policies of Kubernetes too.
    pub policies: bool,
    /// A file for what was known last, for a start while the API server is away.
    pub cache: Option<PathBuf>,
}

/// The rules of a cluster.
pub struct ClusterSource {
    client: Client,
    options: ClusterOptions,
    health: WatchHealth,
}

/// One change, and how far it brings whoever takes it.
#[derive(Clone, Debug)]
pub struct Told {
    /// What is new; `None` when only the version is: somebody has written a status, or the like.
    pub change: Option<Change>,
    /// Resource version up to which all rules have been told; 0 while they come from the file.
    pub version: u64,
}

impl ClusterSource {
    /// A source that is not yet watched.
    pub fn new(client: Client, options: ClusterOptions) -> Self {
        Self { client, options, health: WatchHealth::default() }
    }

    /// How its watches will be doing.
    pub fn health(&self) -> WatchHealth {
        self.health.clone()
    }

    /// Tells everything once the first lists are complete, and then each change, until nobody receives any more. The API server may be away
    /// at any time, from the beginning too; then what the file has is told, if there is one.
    pub async fn run(self, told: mpsc::Sender<Told>) {
        let (tx, mut sightings) = mpsc::channel(SIGHTINGS);
        let mut run = Run {
            source: self,
            told,
            sightings: tx,
            tasks: JoinSet::new(),
            watches: BTreeMap::new(),
            next_watch: 0,
            known: Known::default(),
            kinds: BTreeMap::new(),
            held: BTreeMap::new(),
            version: 0,
            phase: Phase::Listing,
            unwritten: false,
        };
        run.watch_what_is_always_watched();
        let mut second = interval(Duration::from_secs(1));
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut written = Instant::now();
        loop {
            let open = tokio::select! {
                () = run.told.closed() => return,
                Some(sighting) = sightings.recv() => run.take(sighting).await,
                _ = second.tick() => run.progress().await,
                Some(Err(error)) = run.tasks.join_next() => {
                    if error.is_cancelled() { continue; }
                    tracing::error!(%error, "a watch failed");
                    return;
                }
            };
            if open.is_none() {
                return;
            }
            if run.unwritten && written.elapsed() >= WRITE {
                run.write_file().await;
                written = Instant::now();
            }
        }
    }
}

impl fmt::Debug for ClusterSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterSource").field("options", &self.options).finish_non_exhaustive()
    }
}

/// How far the first lists are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing has been told.
    Listing,
    /// What the file has was told, or there is none.
    FromFile,
    /// Everything was told; now changes are.
    Following,
}

struct Run {
    source: ClusterSource,
    told: mpsc::Sender<Told>,
    sightings: mpsc::Sender<Sighting>,
    tasks: JoinSet<()>,
    /// One for each kind that is always watched, and one for each reference to parameters that some rule has.
    watches: BTreeMap<u64, Watching>,
    next_watch: u64,
    known: Known,
    /// Of custom parameters, as definitions that say whether they live in namespaces.
    kinds: BTreeMap<ObjectKey, Arc<StoredObject>>,
    /// Rules whose parameters are not listed yet, each with its resource version.
    held: BTreeMap<ObjectKey, u64>,
    version: u64,
    phase: Phase,
    unwritten: bool,
}

struct Watching {
    target: Target,
    task: AbortHandle,
    since: Instant,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Listed,
    Failed,
    /// There is no such kind.
    Missing,
}

impl Watching {
    /// Whether there is nothing to wait for any more.
    fn is_settled(&self) -> bool {
        match self.target.resource {
            Resource::Rules | Resource::Namespaces => self.state == State::Listed,
            Resource::Policies => matches!(self.state, State::Listed | State::Missing),
            Resource::Params => self.state != State::Waiting || self.since.elapsed() > PARAMETERS,
        }
    }
}

/// `None` when nobody receives any more.
type Open = Option<()>;

impl Run {
    fn watch_what_is_always_watched(&mut self) {
        let target = |resource, api_versions: &[&str], kind: &str| Target {
            resource,
            api_versions: api_versions.iter().map(|version| (*version).into()).collect(),
            kind: kind.into(),
            namespace: None,
            name: None,
        };
        self.start(target(Resource::Rules, &[&format!("{GROUP}/{VERSION}")], "RoutingRule"));
        self.start(target(Resource::Namespaces, &["v1"], "Namespace"));
        if !self.source.options.policies {
            return;
        }
        let versions = ["v1", "v1beta1", "v1alpha1"].map(|v| format!("admissionregistration.k8s.io/{v}"));
        let versions = versions.each_ref().map(String::as_str);
        for policy in ["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"] {
            self.start(target(Resource::Policies, &versions, policy));
            self.start(target(Resource::Policies, &versions, &format!("{policy}Binding")));
        }
    }

    fn start(&mut self, target: Target) {
        let number = self.next_watch;
        self.next_watch += 1;
        self.source.health.started(target.resource, number);
        let watch = Watch {
            client: self.source.client.clone(),
            target: target.clone(),
            number,
            health: self.source.health.clone(),
            sightings: self.sightings.clone(),
        };
        let task = self.tasks.spawn(watch.run());
        let watching = Watching { target, task, since: Instant::now(), state: State::Waiting };
        self.watches.insert(number, watching);
    }

    async fn take(&mut self, Sighting { watch, seen }: Sighting) -> Open {
        let Some(watching) = self.watches.get_mut(&watch) else {
            // It was stopped meanwhile.
            return Some(());
        };
        let resource = watching.target.resource;
        match seen {
            Seen::Found { resource: kind, namespaced } => {
                if resource == Resource::Params {
                    self.learn(&kind, namespaced).await?;
                }
            }
            Seen::Failed(failure) => self.failed(watch, &failure).await?,
            Seen::Listed(listed) => {
                watching.state = State::Listed;
                self.listed(watch, resource, listed).await?;
            }
            Seen::Applied(decoded) => self.applied(watch, resource, decoded).await?,
            Seen::Deleted { key, version } => {
                self.heard(resource, version);
                self.held.remove(&key);
                if self.known.delete(watch, &key) {
                    self.tell(Change::Delete(key)).await?;
                }
                self.follow_parameters(resource).await?;
            }
        }
        self.progress().await
    }

    async fn listed(&mut self, watch: u64, resource: Resource, listed: Vec<Decoded>) -> Open {
        let versions: BTreeMap<ObjectKey, u64> =
            listed.iter().map(|decoded| (decoded.key.clone(), decoded.version)).collect();
        let gone = self.known.list(watch, listed);
        self.follow_parameters(resource).await?;
        for key in gone {
            self.held.remove(&key);
            self.tell(Change::Delete(key)).await?;
        }
        for (key, version) in versions {
            self.heard(resource, version);
            self.tell_of(&key, version).await?;
        }
        Some(())
    }

    async fn applied(&mut self, watch: u64, resource: Resource, decoded: Decoded) -> Open {
        let (key, version) = (decoded.key.clone(), decoded.version);
        let had_parameters = self.needs(&key).is_some();
        let is_news = self.known.apply(watch, decoded);
        if had_parameters || self.needs(&key).is_some() || resource == Resource::Policies {
            self.follow_parameters(resource).await?;
        }
        self.heard(resource, version);
        match (is_news, self.phase) {
            (false, Phase::Following) => self.send(None).await,
            (false, _) => Some(()),
            (true, _) => self.tell_of(&key, version).await,
        }
    }

    async fn failed(&mut self, watch: u64, failure: &Failure) -> Open {
        let Some(watching) = self.watches.get_mut(&watch) else { return Some(()) };
        let resource = watching.target.resource;
        let kind = &watching.target.kind;
        tracing::warn!(resource = resource.as_str(), %kind, error = failure.error, "cannot watch; trying again");
        if resource == Resource::Rules && failure.is_missing {
            tracing::error!("the kind RoutingRule is not installed: usher crd | kubectl apply -f -");
        }
        // What was listed once stays in force.
        if watching.state != State::Listed {
            watching.state = if failure.is_missing { State::Missing } else { State::Failed };
        }
        if self.phase == Phase::Listing && resource != Resource::Params {
            self.phase = Phase::FromFile;
            return self.tell_file().await;
        }
        Some(())
    }

    /// What can be done now that could not before.
    async fn progress(&mut self) -> Open {
        if self.phase != Phase::Following {
            if self.watches.values().all(Watching::is_settled) {
                self.phase = Phase::Following;
                self.held.clear();
                // A cluster without rules is taken up too.
                self.version = self.version.max(1);
                let snapshot = self.snapshot();
                self.tell(Change::Reset(Arc::new(snapshot))).await?;
            }
            return Some(());
        }
        let ready: Vec<ObjectKey> = self.held.keys().filter(|key| self.is_ready(key)).cloned().collect();
        for key in ready {
            self.held.remove(&key);
            if let Some(change) = self.known.get(&key).map(|entry| entry.change()) {
                self.tell(change).await?;
            }
        }
        Some(())
    }

    fn heard(&mut self, resource: Resource, version: u64) {
        if resource == Resource::Rules {
            self.version = self.version.max(version);
        }
    }

    /// Tells of an object as it is known now, unless it has to wait for its parameters.
    async fn tell_of(&mut self, key: &ObjectKey, version: u64) -> Open {
        if !self.is_ready(key) {
            self.held.insert(key.clone(), version);
            return Some(());
        }
        self.held.remove(key);
        match self.known.get(key).map(|entry| entry.change()) {
            Some(change) => self.tell(change).await,
            None => Some(()),
        }
    }

    async fn tell(&mut self, change: Change) -> Open {
        self.unwritten = true;
        if self.phase != Phase::Following {
            return Some(());
        }
        self.send(Some(change)).await
    }

    async fn send(&mut self, change: Option<Change>) -> Open {
        let held = self.held.values().min().map(|version| version.saturating_sub(1));
        let version = held.unwrap_or(u64::MAX).min(self.version);
        self.told.send(Told { change, version }).await.ok()
    }

    /// The parameters that an object takes.
    fn needs(&self, key: &ObjectKey) -> Option<Target> {
        parameters::of_rule(self.known.get(key)?.object()?)
    }

    fn is_ready(&self, key: &ObjectKey) -> bool {
        let Some(target) = self.needs(key) else { return true };
        let watching = self.watches.values().find(|watching| watching.target == target);
        watching.is_none_or(Watching::is_settled)
    }

    /// Starts the watches that rules need, and stops those that none needs any more.
    async fn follow_parameters(&mut self, resource: Resource) -> Open {
        if !matches!(resource, Resource::Rules | Resource::Policies) {
            return Some(());
        }
        let wanted = parameters::of_all(&self.known);
        let params = |watching: &Watching| watching.target.resource == Resource::Params;
        let stopped: Vec<u64> = self
            .watches
            .iter()
            .filter(|(_, watching)| params(watching) && !wanted.contains(&watching.target))
            .map(|(number, _)| *number)
            .collect();
        for number in stopped {
            if let Some(watching) = self.watches.remove(&number) {
                watching.task.abort();
                self.source.health.stopped(Resource::Params, number);
            }
            for key in self.known.forget(number) {
                self.tell(Change::Delete(key)).await?;
            }
        }
        for target in wanted {
            if !self.watches.values().any(|watching| watching.target == target) {
                self.start(target);
            }
        }
        Some(())
    }

    /// Takes note of a kind of parameters, in the shape in which the writer of the rules learns of kinds.
    async fn learn(&mut self, kind: &ApiResource, namespaced: bool) -> Open {
        if kind.group.is_empty() {
            return Some(());
        }
        let name = format!("{}.{}", kind.plural, kind.group);
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": name},
            "spec": {
                "group": kind.group,
                "names": {"kind": kind.kind, "plural": kind.plural},
                "scope": if namespaced { "Namespaced" } else { "Cluster" },
            },
        });
        let key = ObjectKey {
            api_version: "apiextensions.k8s.io/v1".into(),
            kind: "CustomResourceDefinition".into(),
            namespace: "".into(),
            name: name.into(),
        };
        let stored = Arc::new(StoredObject::new(key.clone(), &definition));
        if self.kinds.get(&key) == Some(&stored) {
            return Some(());
        }
        self.kinds.insert(key, Arc::clone(&stored));
        self.tell(Change::Apply(Object::Other(stored))).await
    }

    fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.known.snapshot();
        for stored in self.kinds.values() {
            snapshot.store.insert(Arc::clone(stored));
        }
        snapshot
    }

    async fn tell_file(&mut self) -> Open {
        let Some(path) = self.source.options.cache.clone() else { return Some(()) };
        let shown = path.display().to_string();
        match spawn_blocking(move || cache::read(&path)).await {
            Ok(Ok(Some(cached))) => {
                tracing::warn!(
                    file = shown,
                    age_s = cached.age.as_secs(),
                    objects = cached.snapshot.objects.len() + cached.snapshot.store.len(),
                    "the API server is away: serving what was known last"
                );
                let change = Change::Reset(Arc::new(cached.snapshot));
                self.told.send(Told { change: Some(change), version: 0 }).await.ok()
            }
            Ok(Ok(None)) => Some(()),
            Ok(Err(error)) => {
                tracing::warn!(file = shown, %error, "what was known last cannot be used");
                Some(())
            }
            Err(error) => {
                tracing::error!(file = shown, %error, "what was known last cannot be read");
                Some(())
            }
        }
    }

    async fn write_file(&mut self) {
        self.unwritten = false;
        let Some(path) = self.source.options.cache.clone() else { return };
        if self.phase != Phase::Following {
            return;
        }
        let (snapshot, shown) = (self.snapshot(), path.display().to_string());
        let written = spawn_blocking(move || cache::write(&path, &snapshot)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(file = shown, %error, "what is known cannot be written down");
        }
    }
}
