//! The parts together.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::{BoxStream, SelectAll};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{ApiResource, DeleteParams, DynamicObject};
use kube::runtime::watcher::Event;
use kube::{Api, Client, ResourceExt};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::desired::{Difference, Facts, difference, status};
use super::heartbeat::{Heartbeat, LABEL, lease_name};
use super::leader::{Candidate, Leadership, release};
use super::metrics::{ControllerMetrics, Written};
use super::registration::{Keeper, Observer, Registered, Registering, RegistrationMetrics, Standing};
use super::replicas::Replicas;
use super::watched::Rules;
use super::watching::events;
use super::write::{Pace, Writer};
use crate::api::RoutingRule;
use crate::rules::{LiveRules, Served};

/// How often statuses are looked at, if anything is new.
const PASS: Duration = Duration::from_millis(50);
/// How often they are looked at without: replicas go without a word, and writes that had to wait are due.
const ROUND: Duration = Duration::from_secs(1);
/// A new leader knows a rule by its resource version of now, which the others acknowledge with their next renewal, and a leader that died before
/// it never does: its Lease has to run out. Until then what was acknowledged to the leader before counts.
const GRACE: Duration = Duration::from_secs(20);
/// How long leaving may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// Keeps the status of rules and the webhook configurations true, together with the controllers of the other replicas.
pub struct Controller {
    client: Client,
    namespace: String,
    replica: String,
    metrics: ControllerMetrics,
    registration: Option<Registration>,
    /// `ByOthers` for good without.
    registered: watch::Receiver<Registered>,
}

/// Who keeps the webhook configurations.
enum Registration {
    /// This one.
    Own(Box<Keeper>),
    Others(Observer),
}

/// Says goodbye for a replica, after it has answered its last review.
pub struct Farewell {
    leases: Api<Lease>,
    replica: String,
}

impl std::fmt::Debug for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controller").field("replica", &self.replica).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Farewell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Farewell").field("replica", &self.replica).finish_non_exhaustive()
    }
}

impl Controller {
    /// `namespace` holds the Leases; `replica` is a name that no other replica has.
    pub fn new(client: Client, namespace: &str, replica: &str, metrics: ControllerMetrics) -> Self {
        let (_, registered) = watch::channel(Registered::ByOthers);
        let (namespace, replica) = (namespace.to_owned(), replica.to_owned());
        Self { client, namespace, replica, metrics, registration: None, registered }
    }

    /// Keeps the webhook configurations too, as the rules need them.
    #[must_use]
    pub fn registering(
        self,
        registering: Registering,
        live: LiveRules,
        metrics: RegistrationMetrics,
    ) -> Self {
        let (known, registered) = watch::channel(Registered::Unknown);
        let keeper = Keeper {
            client: self.client.clone(),
            own_namespace: self.namespace.clone(),
            registering,
            live,
            metrics,
            registered: known,
        };
        Self { registration: Some(Registration::Own(Box::new(keeper))), registered, ..self }
    }

    /// Looks whether the webhook configurations of a name, which others keep, cover the rules.
    #[must_use]
    pub fn observing(self, name: &str, live: LiveRules) -> Self {
        let (known, registered) = watch::channel(Registered::Unknown);
        let (client, name) = (self.client.clone(), name.to_owned());
        let observer = Observer { client, name, live, registered: known };
        Self { registration: Some(Registration::Others(observer)), registered, ..self }
    }

    /// What to say at the end.
    pub fn farewell(&self) -> Farewell {
        let leases = Api::namespaced(self.client.clone(), &self.namespace);
        Farewell { leases, replica: self.replica.clone() }
    }

    /// Runs for ever: says how far this replica is, and writes statuses while it leads.
    pub async fn run(mut self, served: watch::Receiver<Served>) {
        let heartbeat = Heartbeat::new(self.client.clone(), &self.namespace, self.replica.clone());
        let (candidate, leadership) =
            Candidate::new(self.client.clone(), &self.namespace, self.replica.clone());
        let registration = self.registration.take();
        let registering = async {
            match registration {
                Some(Registration::Own(keeper)) => keeper.run(leadership.clone(), served.clone()).await,
                Some(Registration::Others(observer)) => {
                    observer.run(leadership.clone(), served.clone()).await
                }
                None => {}
            }
        };
        let leading = self.lead(leadership.clone(), served.clone());
        tokio::join!(heartbeat.run(served.clone()), candidate.run(), leading, registering);
    }

    async fn lead(&self, mut leadership: Leadership, served: watch::Receiver<Served>) {
        while leadership.until_held().await {
            self.metrics.leader.set(1);
            self.write_while_held(&leadership, served.clone()).await;
            self.metrics.leader.set(0);
            self.metrics.forget_conditions();
        }
    }

    /// Watches only now: the other replicas have no use for it.
    async fn write_while_held(&self, leadership: &Leadership, mut served: watch::Receiver<Served>) {
        let mut news = self.news();
        let writer = Writer::new(self.client.clone(), &self.replica, self.metrics.clone());
        let mut desk = Desk::new(self.leases(), self.metrics.clone());
        let mut registered = self.registered.clone();
        let mut round = interval(ROUND);
        round.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while leadership.is_held() {
            tokio::select! {
                _ = round.tick() => {}
                Some(news) = news.next() => desk.take(news),
                changed = served.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    desk.is_stale = true;
                }
                // Ends where nobody registers.
                Ok(()) = registered.changed() => desk.is_stale = true,
            }
            // Changes come in heaps.
            let end = sleep(PASS);
            tokio::pin!(end);
            loop {
                tokio::select! {
                    () = &mut end => break,
                    Some(news) = news.next() => desk.take(news),
                }
            }
            let now = served.borrow_and_update().clone();
            let registered = registered.borrow_and_update().clone();
            desk.pass(&now, &registered, leadership, &writer).await;
        }
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn news(&self) -> SelectAll<BoxStream<'static, News>> {
        let rules: Api<DynamicObject> =
            Api::all_with(self.client.clone(), &ApiResource::erase::<RoutingRule>(&()));
        let label = format!("{}={}", LABEL.0, LABEL.1);
        let mut all = SelectAll::new();
        all.push(events(rules, "rules", |config| config).map(News::Rule).boxed());
        let replicas = events(self.leases(), "replicas", |config| config.labels(&label));
        all.push(replicas.map(News::Replica).boxed());
        all
    }
}

enum News {
    Rule(Event<DynamicObject>),
    Replica(Event<Lease>),
}

/// What the leader knows.
struct Desk {
    leases: Api<Lease>,
    metrics: ControllerMetrics,
    rules: Rules,
    replicas: Replicas,
    /// Names of a list that is not complete yet.
    listed_rules: BTreeSet<String>,
    listed_replicas: BTreeSet<String>,
    /// Lists that have been complete once.
    has_rules: bool,
    has_replicas: bool,
    /// When both were.
    began: Option<Instant>,
    pace: Pace,
    /// Something has changed since the last pass, or has to wait for the next.
    is_stale: bool,
    live: usize,
}

impl Desk {
    fn new(leases: Api<Lease>, metrics: ControllerMetrics) -> Self {
        Self {
            leases,
            metrics,
            rules: Rules::default(),
            replicas: Replicas::default(),
            listed_rules: BTreeSet::new(),
            listed_replicas: BTreeSet::new(),
            has_rules: false,
            has_replicas: false,
            began: None,
            pace: Pace::new(Instant::now()),
            is_stale: false,
            live: 0,
        }
    }

    fn take(&mut self, news: News) {
        self.is_stale = true;
        match news {
            News::Rule(Event::Init) => self.listed_rules.clear(),
            News::Rule(Event::InitApply(object)) => {
                self.listed_rules.insert(object.name_any());
                self.rules.apply(&object);
            }
            News::Rule(Event::InitDone) => {
                for name in self.rules.keep_only(&self.listed_rules) {
                    self.metrics.forget_conditions_of(&name);
                }
                self.has_rules = true;
            }
            News::Rule(Event::Apply(object)) => self.rules.apply(&object),
            News::Rule(Event::Delete(object)) => {
                self.rules.delete(&object.name_any());
                self.metrics.forget_conditions_of(&object.name_any());
            }
            News::Replica(Event::Init) => self.listed_replicas.clear(),
            News::Replica(Event::InitApply(lease)) => {
                self.listed_replicas.insert(lease.name_any());
                self.replicas.apply(&lease, Instant::now());
            }
            News::Replica(Event::InitDone) => {
                self.replicas.keep_only(&self.listed_replicas);
                self.has_replicas = true;
            }
            News::Replica(Event::Apply(lease)) => self.replicas.apply(&lease, Instant::now()),
            News::Replica(Event::Delete(lease)) => self.replicas.delete(&lease.name_any()),
        }
    }

    /// Writes what is different and may be written now.
    async fn pass(
        &mut self,
        served: &Served,
        registered: &Registered,
        leadership: &Leadership,
        writer: &Writer,
    ) {
        let now = Instant::now();
        self.forget_replicas(now).await;
        let live = self.replicas.live(now);
        let is_stale = self.is_stale || live != self.live;
        if !is_stale || !self.has_rules || !self.has_replicas {
            return;
        }
        self.live = live;
        self.is_stale = false;
        let began = *self.began.get_or_insert(now);
        let names: Vec<String> = self.rules.iter().map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some(rule) = self.rules.get(&name) else { continue };
            // This replica has not come so far itself, so it cannot say what becomes of the rule.
            if served.version < rule.since {
                continue;
            }
            let Some(report) = served.reports.get(name.as_str()) else { continue };
            let acknowledged = self.replicas.acknowledged(&name, rule.since, now);
            let is_known = rule.status.observed_generation == Some(rule.generation);
            if is_known && !acknowledged.is_complete() && now.saturating_duration_since(began) < GRACE {
                self.is_stale = true;
                continue;
            }
            let standing = registered.of(&name, rule.since);
            // Soon there is something to say. What is not accepted is told at once.
            if standing == Standing::Unknown && (is_known || report.accepted) {
                continue;
            }
            let facts = Facts {
                generation: rule.generation,
                mode: rule.mode,
                report,
                acknowledged,
                standing: &standing,
            };
            let wanted = status(facts, &rule.status, Timestamp::now());
            let different = difference(&rule.status, &wanted);
            if different == Difference::None {
                continue;
            }
            if !self.pace.allows(&name, different, Instant::now()) {
                self.is_stale = true;
                continue;
            }
            // Asked last: whatever took long before this, a write of one who leads no more is not made.
            if !leadership.is_held() {
                return;
            }
            match writer.write(&name, rule, &wanted).await {
                // The watch will say the same, but later than the next pass.
                Written::Success(object) => self.rules.apply(&object),
                // Of another version or a deletion there is news to come; another owner of a field keeps it.
                Written::Conflict => {}
                Written::Failure => {
                    self.is_stale = true;
                    return;
                }
            }
        }
    }

    async fn forget_replicas(&mut self, now: Instant) {
        for name in self.replicas.forgotten(now) {
            let deleted = timeout(FAREWELL, self.leases.delete(&name, &DeleteParams::default())).await;
            if let Ok(Err(error)) = deleted {
                tracing::debug!(lease = name, %error, "cannot delete the Lease of a replica that is gone");
            }
            self.replicas.delete(&name);
        }
    }
}

impl Farewell {
    /// Takes this replica out of the statuses, and lets another one lead. Gives up after 2 s.
    pub async fn say(self) {
        let said = timeout(FAREWELL, async {
            release(&self.leases, &self.replica).await?;
            self.leases.delete(&lease_name(&self.replica), &DeleteParams::default()).await
        });
        match said.await {
            Ok(Ok(_)) => tracing::info!("left the other replicas"),
            Ok(Err(error)) => tracing::warn!(%error, "cannot leave; the others notice within 15 s"),
            Err(_) => tracing::warn!("no answer to the farewell; the others notice within 15 s"),
        }
    }
}
