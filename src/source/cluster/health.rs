use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// What is watched, by what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// RoutingRules.
    Rules,
    /// Admission policies of Kubernetes and their bindings.
    Policies,
    /// Namespaces.
    Namespaces,
    /// Objects that rules take as parameters, all kinds together.
    Params,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rules, Self::Policies, Self::Namespaces, Self::Params];

    /// The name in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "routingrules",
            Self::Policies => "policies",
            Self::Namespaces => "namespaces",
            Self::Params => "params",
        }
    }
}

/// How the watches are doing. Written by them, read by whoever tells people. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub struct WatchHealth {
    by_resource: Arc<Mutex<BTreeMap<Resource, State>>>,
}

/// The watches of one resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResourceHealth {
    /// Whether every watch has a complete list and no error since.
    pub synced: bool,
    /// Errors so far.
    pub errors: u64,
    /// How long the API server has not been heard through one of the watches; zero while all are well.
    pub stale: Duration,
    /// When something was heard last.
    pub last_event: Option<SystemTime>,
}

#[derive(Debug, Default)]
struct State {
    /// Watches by a number of their own, at most one for each kind of parameters that rules name.
    watches: BTreeMap<u64, Watch>,
    errors: u64,
    last_event: Option<SystemTime>,
}

#[derive(Debug)]
struct Watch {
    synced: bool,
    failing_since: Option<Instant>,
}

impl WatchHealth {
    /// The resources that are watched, with their state now.
    pub fn read(&self) -> Vec<(Resource, ResourceHealth)> {
        let states = self.by_resource.lock().unwrap_or_else(PoisonError::into_inner);
        states.iter().map(|(resource, state)| (*resource, state.health())).collect()
    }

    /// How long any of the watches has been without the API server.
    pub fn stale(&self) -> Duration {
        self.read().into_iter().map(|(_, health)| health.stale).max().unwrap_or_default()
    }

    pub(super) fn started(&self, resource: Resource, watch: u64) {
        let watching = Watch { synced: false, failing_since: None };
        self.change(resource, |state| {
            state.watches.insert(watch, watching);
        });
    }

    pub(super) fn stopped(&self, resource: Resource, watch: u64) {
        self.change(resource, |state| {
            state.watches.remove(&watch);
        });
    }

    /// A list is complete.
    pub(super) fn synced(&self, resource: Resource, watch: u64) {
        self.change(resource, |state| {
            state.last_event = Some(SystemTime::now());
            if let Some(watch) = state.watches.get_mut(&watch) {
                *watch = Watch { synced: true, failing_since: None };
            }
        });
    }

    pub(super) fn heard(&self, resource: Resource) {
        self.change(resource, |state| state.last_event = Some(SystemTime::now()));
    }

    /// A list or watch has failed. `is_missing`: the API server was heard, but has no such kind.
    pub(super) fn failed(&self, resource: Resource, watch: u64, is_missing: bool) {
        self.change(resource, |state| {
            state.errors += 1;
            if let Some(watch) = state.watches.get_mut(&watch) {
                watch.synced = false;
                let since = watch.failing_since.unwrap_or_else(Instant::now);
                watch.failing_since = (!is_missing).then_some(since);
            }
        });
    }

    fn change(&self, resource: Resource, change: impl FnOnce(&mut State)) {
        let mut states = self.by_resource.lock().unwrap_or_else(PoisonError::into_inner);
        change(states.entry(resource).or_default());
    }
}

impl State {
    fn health(&self) -> ResourceHealth {
        let stale =
            self.watches.values().filter_map(|watch| watch.failing_since).map(|since| since.elapsed());
        ResourceHealth {
            synced: self.watches.values().all(|watch| watch.synced),
            errors: self.errors,
            stale: stale.max().unwrap_or_default(),
            last_event: self.last_event,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failing_watch_makes_its_resource_stale_until_it_is_synced_again() {
        let health = WatchHealth::default();
        let params = |health: &WatchHealth| health.read().into_iter().next().unwrap().1;
        health.started(Resource::Params, 1);
        health.started(Resource::Params, 2);
        assert!(!params(&health).synced);
        health.synced(Resource::Params, 1);
        health.synced(Resource::Params, 2);
        assert!(params(&health).synced);
        assert_eq!(health.stale(), Duration::ZERO);
        health.failed(Resource::Params, 2, true);
        assert_eq!(health.stale(), Duration::ZERO);
        health.failed(Resource::Params, 2, false);
        assert!(!params(&health).synced);
        assert_eq!(params(&health).errors, 2);
        assert!(health.stale() > Duration::ZERO);
        health.stopped(Resource::Params, 2);
        assert!(params(&health).synced);
        assert_eq!(health.stale(), Duration::ZERO);
    }
}
