//! What there is to do on both configurations, and doing it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::stream::FuturesUnordered;
use k8s_openapi::ByteString;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use tokio::time::timeout;

use super::configuration::{Frame, Stored};
use super::keeper::{HEAP, Keeper, Probe, configurations};
use super::kept::{Kept, News, Written};
use super::path::{Outcome, Path};
use super::probing::ask;
use super::registered::{Known, PathState, Registered};
use crate::controller::leader::Leadership;
use crate::rules::registration::{Hook, Hooks, Registration, hooks, registrations};

/// How often it is looked whether this replica still leads, and what is to be tried again.
const ROUND: Duration = Duration::from_secs(1);
/// How often the file of the authority is read.
const REREAD: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(5);
/// Who may not read the configurations, or gets no answer, says so after that.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the leader knows.
pub(super) struct Work<'k> {
    keeper: &'k Keeper,
    began: Instant,
    kept: [Kept; 2],
    paths: BTreeMap<Hook, Path>,
    covered: BTreeMap<Hook, u64>,
    registrations: Vec<Registration>,
    hooks: Arc<BTreeMap<Arc<str>, Hooks>>,
    /// Of the rules that these were made of.
    revision: Option<u64>,
    authority: Option<ByteString>,
    read: Option<Instant>,
    owner: Option<OwnerReference>,
    is_owner_known: bool,
    asked: u64,
}

impl<'k> Work<'k> {
    pub(super) fn new(keeper: &'k Keeper, now: Instant) -> Self {
        Self {
            keeper,
            began: now,
            kept: [Kept::new(true, now), Kept::new(false, now)],
            paths: Hook::ALL.into_iter().map(|hook| (hook, Path::new(now))).collect(),
            covered: BTreeMap::new(),
            registrations: Vec::new(),
            hooks: Arc::default(),
            revision: None,
            authority: None,
            read: None,
            owner: None,
            is_owner_known: false,
            asked: 0,
        }
    }

    pub(super) fn wake(&self, now: Instant) -> Instant {
        let next = self.paths.values().filter_map(Path::due).fold(now + ROUND, Instant::min);
        next.max(now + HEAP)
    }

    pub(super) fn take(&mut self, is_mutating: bool, event: Event<DynamicObject>, now: Instant) {
        let kept = &mut self.kept[usize::from(!is_mutating)];
        match kept.take(event, &self.keeper.registering.name) {
            News::None => return,
            News::Other => {}
            // It goes with its owner, which may be another one now.
            News::Deleted => self.is_owner_known = false,
        }
        self.aim(is_mutating, now);
    }

    /// There is another configuration.
    fn aim(&mut self, is_mutating: bool, now: Instant) {
        let token = self.kept[usize::from(!is_mutating)].stored.as_ref().and_then(Stored::token);
        for (_, path) in self.paths.iter_mut().filter(|(hook, _)| hook.is_mutating() == is_mutating) {
            path.aim(token, now);
        }
    }

    pub(super) fn probed(&mut self, hook: Hook, token: &str, outcome: Outcome, now: Instant) {
        self.keeper.metrics.probed(hook, &outcome);
        let Some(path) = self.paths.get_mut(&hook) else { return };
        let (was_armed, known) = (path.armed, path.fault.clone());
        if let Outcome::Silence(error) = &outcome {
            tracing::debug!(path = hook.path(), error, "the API server does not answer a probe");
        }
        path.take(token, outcome, now);
        match &path.fault {
            Some(fault) if known.as_ref() != Some(fault) => tracing::warn!(
                path = hook.path(),
                disarmed = was_armed,
                reason = fault.reason,
                error = fault.message,
                "the API server does not get an answer of ours; calls that fail let requests through"
            ),
            None if known.is_some() => {
                tracing::info!(path = hook.path(), "the API server gets our answers again")
            }
            _ => {}
        }
    }

    /// Does what is to be done now.
    pub(super) async fn pass(
        &mut self,
        version: u64,
        leadership: &Leadership,
        probes: &mut FuturesUnordered<Probe>,
    ) {
        // Before the first list of rules, none would be registered.
        if version == 0 {
            return;
        }
        self.read_rules();
        if self.kept.iter().any(|kept| !kept.is_listed) {
            if self.began.elapsed() > PATIENCE {
                self.kept[0].error =
                    Some("the webhook configurations cannot be read; the log says why".to_owned());
                self.tell(version);
            }
            return;
        }
        self.read_authority().await;
        self.find_owner().await;
        for index in 0..self.kept.len() {
            self.arm(index);
            if self.is_kept(index) {
                let kept = &mut self.kept[index];
                kept.forgive();
                kept.covers =
                    kept.stored.as_ref().and_then(Stored::token).map(|token| (token.to_owned(), version));
            } else if leadership.is_held() {
                self.write(index, version).await;
            }
        }
        for (hook, path) in &mut self.paths {
            if let Some(token) = path.ask(Instant::now()) {
                self.asked += 1;
                let leases: Api<Lease> =
                    Api::namespaced(self.keeper.client.clone(), &self.keeper.own_namespace);
                probes.push(ask(leases, *hook, token, self.asked).boxed());
            }
        }
        self.tell(version);
    }

    fn read_rules(&mut self) {
        let rules = self.keeper.live.load();
        if self.revision == Some(rules.revision()) {
            return;
        }
        self.revision = Some(rules.revision());
        self.registrations = registrations(&rules);
        self.hooks = Arc::new(hooks(&rules));
    }

    /// The file may be a new one. Until it can be read, what was read last counts.
    async fn read_authority(&mut self) {
        let Some(path) = &self.keeper.registering.authority else { return };
        if self.read.is_some_and(|read| read.elapsed() < REREAD) {
            return;
        }
        self.read = Some(Instant::now());
        match tokio::fs::read(path).await {
            Ok(pem) => self.authority = Some(ByteString(pem)),
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "cannot read the authority for webhook configurations")
            }
        }
    }

    /// Usher's namespace, if there is one and we may see it.
    async fn find_owner(&mut self) {
        if self.is_owner_known {
            return;
        }
        self.is_owner_known = true;
        let namespaces: Api<Namespace> = Api::all(self.keeper.client.clone());
        let found = timeout(ANSWER, namespaces.get_opt(&self.keeper.own_namespace)).await;
        let namespace = match found {
            Ok(Ok(namespace)) => namespace,
            Ok(Err(error)) => {
                tracing::debug!(%error, "the webhook configurations get no owner");
                None
            }
            Err(_) => None,
        };
        self.owner = namespace.and_then(|namespace| {
            Some(OwnerReference {
                api_version: "v1".to_owned(),
                kind: "Namespace".to_owned(),
                name: namespace.metadata.name?,
                uid: namespace.metadata.uid?,
                ..OwnerReference::default()
            })
        });
    }

    fn frame(&self, index: usize) -> Frame<'_> {
        Frame {
            is_mutating: self.kept[index].is_mutating,
            own_namespace: &self.keeper.own_namespace,
            address: &self.keeper.registering.address,
            authority: self.authority.as_ref(),
            owner: self.owner.as_ref(),
        }
    }

    fn is_armed(&self) -> impl Fn(Hook) -> bool {
        move |hook| self.paths.get(&hook).is_some_and(|path| path.armed)
    }

    /// Decides which entries fail closed: those that are there, lead to us, and whose path is proven. What a leader before this one has arranged
    /// stays until a probe says otherwise.
    fn arm(&mut self, index: usize) {
        let frame = self.frame(index);
        let kept = &self.kept[index];
        let closed = frame.hooks().filter(|hook| hook.fails_closed());
        let reached: Vec<(Hook, Option<bool>)> = closed
            .map(|hook| {
                let stored = kept.stored.as_ref().filter(|stored| frame.is_reached(hook, stored));
                let is_needed = self.registrations.iter().any(|entry| entry.hook == hook);
                (hook, stored.filter(|_| is_needed).map(|stored| Frame::fails_closed(hook, stored)))
            })
            .collect();
        for (hook, fails_closed) in reached {
            let Some(path) = self.paths.get_mut(&hook) else { continue };
            path.armed = match fails_closed {
                None => false,
                Some(_) if path.is_proven() => true,
                Some(fails_closed) => path.armed || (fails_closed && !path.is_known()),
            };
        }
    }

    fn is_kept(&self, index: usize) -> bool {
        let stored = self.kept[index].stored.as_ref();
        stored.is_some_and(|stored| self.frame(index).is_kept(&self.registrations, &self.is_armed(), stored))
    }

    async fn write(&mut self, index: usize, version: u64) {
        if !self.kept[index].may_write(Instant::now()) {
            return;
        }
        let name = &self.keeper.registering.name;
        // Time tells versions apart, whoever wrote them.
        let token = format!("{:x}", jiff::Timestamp::now().as_microsecond());
        let stored = self.kept[index].stored.as_ref();
        let object = self.frame(index).object(name, &self.registrations, &self.is_armed(), stored, &token);
        let is_mutating = self.kept[index].is_mutating;
        let api = configurations(&self.keeper.client, is_mutating);
        let result = self.kept[index].write(api, name, object).await;
        self.keeper.metrics.wrote(result);
        if result == Written::Success {
            self.kept[index].covers = Some((token, version));
            self.aim(is_mutating, Instant::now());
        }
    }

    /// Says how things are.
    fn tell(&mut self, version: u64) {
        let mut paths = BTreeMap::new();
        for (hook, path) in &self.paths {
            let kept = &self.kept[usize::from(!hook.is_mutating())];
            let covered = self.covered.entry(*hook).or_default();
            let is_current = |(token, _): &&(String, u64)| {
                kept.stored.as_ref().and_then(Stored::token) == Some(token.as_str()) && path.is_proven()
            };
            let proven = kept.covers.as_ref().filter(is_current);
            if let Some((_, version)) = proven {
                *covered = *version;
            }
            let armed = kept.stored.as_ref().is_some_and(|stored| Frame::fails_closed(*hook, stored));
            // Until the newest version is proven, what was said of the one before it stays.
            let armed = match self.keeper.registered.borrow().armed(*hook) {
                Some(before) if !path.is_proven() => before && path.armed && armed,
                _ => path.armed && armed && path.is_proven(),
            };
            self.keeper.metrics.armed(*hook, armed);
            let (fault, is_known) = (path.fault.clone(), path.is_known());
            paths.insert(*hook, PathState { covered: *covered, armed, fault, is_known });
        }
        let unwritten = self.kept.iter().find_map(|kept| kept.error.clone());
        let known = Known { version, hooks: Arc::clone(&self.hooks), paths, unwritten };
        let news = Registered::Known(Arc::new(known));
        self.keeper.registered.send_if_modified(|known| {
            let is_news = *known != news;
            *known = news;
            is_news
        });
    }
}
