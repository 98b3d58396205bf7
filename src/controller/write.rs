//! Writing a status: seldom, on the version that was read, and never over what others own.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::timeout;

use super::bucket::Bucket;
use super::desired::Difference;
use super::metrics::{ControllerMetrics, Written};
use super::registration::WAITING;
use super::watched::Rule;
use crate::api::{Condition, GROUP, RoutingRule, RoutingRuleStatus, VERSION, condition_types};

/// One for all replicas, so that the next leader goes on with the same fields.
pub(super) const MANAGER: &str = "usher-controller";
/// Writes a second, all rules together.
const PER_SECOND: f64 = 5.0;
/// Writes that may follow each other at once: one change of a handful of rules.
const BURST: f64 = 5.0;
/// Between two writes of one rule of which the second changes no condition.
const PAUSE: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_secs(5);
/// Longest note of an event, in bytes.
const NOTE: usize = 1024;

/// When what may be written.
#[derive(Debug)]
pub(super) struct Pace {
    writes: Bucket,
    /// By rule, for as long as it matters: no more than are written within the pause.
    written: BTreeMap<String, Instant>,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { writes: Bucket::new(PER_SECOND, BURST, now), written: BTreeMap::new() }
    }

    /// Whether a difference may be written now; if so it counts as written.
    pub(super) fn allows(&mut self, rule: &str, difference: Difference, now: Instant) -> bool {
        self.written.retain(|_, at| now.saturating_duration_since(*at) < PAUSE);
        let is_due = match difference {
            Difference::None => false,
            Difference::Small => !self.written.contains_key(rule),
            Difference::Condition => true,
        };
        if !is_due || !self.writes.has_one(now) {
            return false;
        }
        self.writes.take_one();
        self.written.insert(rule.to_owned(), now);
        true
    }
}

/// Writes statuses and tells of them in events.
pub(super) struct Writer {
    rules: Api<DynamicObject>,
    events: Recorder,
    metrics: ControllerMetrics,
}

impl Writer {
    pub(super) fn new(client: Client, replica: &str, metrics: ControllerMetrics) -> Self {
        let reporter =
            Reporter { controller: "usher.dev/controller".to_owned(), instance: Some(replica.to_owned()) };
        let rules = Api::all_with(client.clone(), &ApiResource::erase::<RoutingRule>(&()));
        Self { rules, events: Recorder::new(client, reporter), metrics }
    }

    pub(super) async fn write(&self, name: &str, rule: &Rule, status: &RoutingRuleStatus) -> Written {
        let patch = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": "RoutingRule",
            // A rule that has changed meanwhile, or is another one, keeps what it has.
            "metadata": {"name": name, "uid": rule.uid, "resourceVersion": rule.version},
            "status": status,
        });
        let (params, patch) = (PatchParams::apply(MANAGER), Patch::Apply(patch));
        let written = timeout(ANSWER, self.rules.patch_status(name, &params, &patch)).await;
        let result = match written {
            Ok(Ok(object)) => Written::Success(Box::new(object)),
            Ok(Err(kube::Error::Api(answer))) if answer.code == 404 => Written::Conflict,
            Ok(Err(kube::Error::Api(answer))) if answer.code == 409 => {
                // Of another version there is news to come; another owner stays.
                if !answer.message.contains("the object has been modified") {
                    tracing::warn!(rule = name, error = answer.message, "the status has another owner");
                }
                Written::Conflict
            }
            Ok(Err(error)) => {
                tracing::warn!(rule = name, %error, "cannot write the status");
                Written::Failure
            }
            Err(_) => {
                tracing::warn!(rule = name, "no answer to the write of the status");
                Written::Failure
            }
        };
        self.metrics.wrote(&result);
        if matches!(result, Written::Success(_)) {
            tracing::debug!(rule = name, generation = status.observed_generation, "status written");
            self.metrics.condition(name, status);
            self.tell(name, rule, status).await;
        }
        result
    }

    /// One event for each condition that has flipped.
    async fn tell(&self, name: &str, rule: &Rule, status: &RoutingRuleStatus) {
        let regarding = ObjectReference {
            api_version: Some(format!("{GROUP}/{VERSION}")),
            kind: Some("RoutingRule".to_owned()),
            name: Some(name.to_owned()),
            uid: Some(rule.uid.clone()),
            ..ObjectReference::default()
        };
        for condition in &status.conditions {
            let before = rule.status.conditions.iter().find(|known| known.type_ == condition.type_);
            let is_true = condition.status == "True";
            if !is_news(before, condition) {
                continue;
            }
            let mut note = match condition.message.is_empty() {
                true => format!("generation {}", rule.generation),
                false => condition.message.clone(),
            };
            note.truncate(note.floor_char_boundary(NOTE));
            let event = Event {
                type_: if is_true || condition.reason == WAITING {
                    EventType::Normal
                } else {
                    EventType::Warning
                },
                reason: condition.reason.clone(),
                note: Some(note),
                action: condition.type_.clone(),
                secondary: None,
            };
            match timeout(ANSWER, self.events.publish(&event, &regarding)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(rule = name, %error, "cannot write an event"),
                Err(_) => tracing::debug!(rule = name, "no answer to an event"),
            }
        }
    }
}

/// Whether people want to hear of a condition that was otherwise or not there before.
fn is_news(before: Option<&Condition>, now: &Condition) -> bool {
    // Ready says the same, and what is unknown says nothing.
    if now.type_ == condition_types::PROGRAMMED || now.status == "Unknown" {
        return false;
    }
    match before {
        Some(before) => before.status != now.status,
        // That a new rule is not in force for a moment is no news, nor is that it is armed then.
        None if now.status == "True" => now.type_ != condition_types::ARMED,
        None => now.reason != WAITING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_wait_and_conditions_do_not_but_never_more_than_five_a_second() {
        let start = Instant::now();
        let after = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let mut pace = Pace::new(start);
        assert!(!pace.allows("a", Difference::None, start));
        assert!(pace.allows("a", Difference::Small, start));
        assert!(!pace.allows("a", Difference::Small, after(29.0)));
        assert!(pace.allows("a", Difference::Condition, after(29.0)));
        assert!(!pace.allows("a", Difference::Small, after(31.0)));
        assert!(pace.allows("a", Difference::Small, after(60.0)));
        let writes = (0..2000)
            .filter(|n| {
                pace.allows(&n.to_string(), Difference::Condition, after(100.0 + f64::from(*n) / 100.0))
            })
            .count();
        assert!((100..=105).contains(&writes), "{writes} in 20 s");
    }
}
