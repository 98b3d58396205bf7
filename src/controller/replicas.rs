//! Which replicas live, and what each of them serves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;

use super::heartbeat::{DURATION, REFUSED, VERSION};

/// Replicas by name of their Lease. A hundred replicas are many.
#[derive(Debug, Default)]
pub(super) struct Replicas {
    by_name: BTreeMap<String, Replica>,
}

#[derive(Debug)]
struct Replica {
    /// As it was written: another one is a sign of life.
    renewed: Option<String>,
    /// When that was seen here. Clocks of other machines do not count.
    seen: Instant,
    duration: Duration,
    version: u64,
    refused: Refused,
}

#[derive(Debug, PartialEq)]
enum Refused {
    These(BTreeSet<String>),
    Unknown,
}

/// How many of the live replicas serve a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acknowledged {
    pub(super) serving: usize,
    pub(super) live: usize,
}

impl Acknowledged {
    pub(super) fn is_complete(self) -> bool {
        self.live > 0 && self.serving == self.live
    }
}

impl Replicas {
    pub(super) fn apply(&mut self, lease: &Lease, now: Instant) {
        let Some(name) = lease.metadata.name.clone() else { return };
        let spec = lease.spec.as_ref();
        let renewed = spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0.to_string());
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds).and_then(|s| u64::try_from(s).ok());
        let annotation = |key| lease.metadata.annotations.as_ref().and_then(|all| all.get(key));
        let seen = match self.by_name.get(&name) {
            Some(known) if known.renewed == renewed => known.seen,
            _ => now,
        };
        let refused = match annotation(REFUSED).map(String::as_str) {
            Some("*") | None => Refused::Unknown,
            Some(names) => {
                Refused::These(names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
            }
        };
        let replica = Replica {
            renewed,
            seen,
            duration: seconds.map_or(DURATION, Duration::from_secs),
            version: annotation(VERSION).and_then(|version| version.parse().ok()).unwrap_or_default(),
            refused,
        };
        self.by_name.insert(name, replica);
    }

    pub(super) fn delete(&mut self, name: &str) {
        self.by_name.remove(name);
    }

    pub(super) fn keep_only(&mut self, names: &BTreeSet<String>) {
        self.by_name.retain(|name, _| names.contains(name));
    }

    /// Who serves the version of a rule that the resource version brought.
    pub(super) fn acknowledged(&self, rule: &str, version: u64, now: Instant) -> Acknowledged {
        let live = || self.by_name.values().filter(|replica| replica.is_live(now));
        let serves = |replica: &&Replica| replica.version >= version && !replica.refused.has(rule);
        Acknowledged { serving: live().filter(serves).count(), live: live().count() }
    }

    /// How many live: one that is gone changes every status.
    pub(super) fn live(&self, now: Instant) -> usize {
        self.by_name.values().filter(|replica| replica.is_live(now)).count()
    }

    /// Leases of replicas that have been gone for so long that nobody asks for them any more.
    pub(super) fn forgotten(&self, now: Instant) -> Vec<String> {
        let gone = |replica: &Replica| now.saturating_duration_since(replica.seen) > replica.duration * 8;
        self.by_name.iter().filter(|(_, replica)| gone(replica)).map(|(name, _)| name.clone()).collect()
    }
}

impl Replica {
    fn is_live(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.seen) < self.duration
    }
}

impl Refused {
    fn has(&self, rule: &str) -> bool {
        match self {
            Self::These(names) => names.contains(rule),
            Self::Unknown => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lease(name: &str, second: u32, version: &str, refused: &str) -> Lease {
        serde_json::from_value(json!({
            "metadata": {"name": name, "annotations": {VERSION: version, REFUSED: refused}},
            "spec": {"renewTime": format!("2030-01-01T00:00:{second:02}.000000Z"), "leaseDurationSeconds": 15},
        }))
        .unwrap()
    }

    #[test]
    fn a_rule_is_served_by_those_who_have_come_so_far_and_do_not_refuse_it() {
        let (mut replicas, now) = (Replicas::default(), Instant::now());
        replicas.apply(&lease("a", 0, "10", ""), now);
        replicas.apply(&lease("b", 0, "9", ""), now);
        replicas.apply(&lease("c", 0, "11", "x,y"), now);
        replicas.apply(&lease("d", 0, "12", "*"), now);
        let acknowledged = |rule, version| replicas.acknowledged(rule, version, now);
        assert_eq!(acknowledged("z", 10), Acknowledged { serving: 2, live: 4 });
        assert_eq!(acknowledged("x", 10), Acknowledged { serving: 1, live: 4 });
        assert_eq!(acknowledged("z", 12), Acknowledged { serving: 0, live: 4 });
        assert!(!Acknowledged::default().is_complete());
    }

    #[test]
    fn a_replica_lives_for_its_duration_after_the_last_sign_that_was_seen_here() {
        let (mut replicas, start) = (Replicas::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        replicas.apply(&lease("a", 0, "1", ""), start);
        // The same again is no sign of life, whatever else is new.
        replicas.apply(&lease("a", 0, "2", ""), after(10));
        assert_eq!(replicas.live(after(14)), 1);
        assert_eq!(replicas.live(after(16)), 0);
        replicas.apply(&lease("a", 1, "2", ""), after(20));
        assert_eq!(replicas.live(after(30)), 1);
        assert!(replicas.forgotten(after(100)).is_empty());
        assert_eq!(replicas.forgotten(after(200)), ["a"]);
    }
}
