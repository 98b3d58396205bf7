//! Keeps both configurations as they should be, while this replica leads.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, FuturesUnordered, SelectAll};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until};

use super::Registering;
use super::metrics::RegistrationMetrics;
use super::path::Outcome;
use super::registered::Registered;
use super::work::Work;
use crate::controller::leader::Leadership;
use crate::controller::watching::events;
use crate::rules::registration::Hook;
use crate::rules::{LiveRules, Served};

/// Changes of rules come in heaps.
pub(super) const HEAP: Duration = Duration::from_millis(20);

/// Keeps the configurations, while this replica leads.
pub(in crate::controller) struct Keeper {
    pub(in crate::controller) client: Client,
    pub(in crate::controller) own_namespace: String,
    pub(in crate::controller) registering: Registering,
    pub(in crate::controller) live: LiveRules,
    pub(in crate::controller) metrics: RegistrationMetrics,
    /// Who writes statuses reads it.
    pub(in crate::controller) registered: watch::Sender<Registered>,
}

/// A probe under way.
pub(super) type Probe = BoxFuture<'static, (Hook, String, Outcome)>;

impl Keeper {
    /// Runs for as long as somebody wants to lead.
    pub(in crate::controller) async fn run(
        self,
        mut leadership: Leadership,
        served: watch::Receiver<Served>,
    ) {
        while leadership.until_held().await {
            self.keep(&leadership, served.clone()).await;
            self.registered.send_replace(Registered::Unknown);
            self.metrics.forget();
        }
    }

    async fn keep(&self, leadership: &Leadership, mut served: watch::Receiver<Served>) {
        let mut news = news(&self.client, &self.registering.name);
        let mut probes: FuturesUnordered<Probe> = FuturesUnordered::new();
        let mut work = Work::new(self, Instant::now());
        while leadership.is_held() {
            let wake = work.wake(Instant::now());
            tokio::select! {
                Some((is_mutating, event)) = news.next() => work.take(is_mutating, event, Instant::now()),
                Some((hook, token, outcome)) = probes.next(), if !probes.is_empty() => {
                    work.probed(hook, &token, outcome, Instant::now());
                }
                changed = served.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    sleep(HEAP).await;
                }
                () = sleep_until(wake.into()) => {}
            }
            let version = served.borrow_and_update().version;
            work.pass(version, leadership, &mut probes).await;
        }
    }
}

/// Of both configurations, by name, so that rights on these two objects are enough.
pub(super) fn news(
    client: &Client,
    name: &str,
) -> SelectAll<BoxStream<'static, (bool, Event<DynamicObject>)>> {
    let one = |is_mutating: bool| {
        let by_name = format!("metadata.name={name}");
        let all = configurations(client, is_mutating);
        let events = events(all, "webhook configurations", |config| config.fields(&by_name));
        events.map(move |event| (is_mutating, event)).boxed()
    };
    [true, false].into_iter().map(one).collect()
}

pub(super) fn configurations(client: &Client, is_mutating: bool) -> Api<DynamicObject> {
    let resource = if is_mutating {
        ApiResource::erase::<MutatingWebhookConfiguration>(&())
    } else {
        ApiResource::erase::<ValidatingWebhookConfiguration>(&())
    };
    Api::all_with(client.clone(), &resource)
}
