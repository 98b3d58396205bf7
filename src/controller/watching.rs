use std::fmt::Debug;
use std::time::Duration;

use backon::ExponentialBuilder;
use futures_util::{Stream, StreamExt};
use kube::runtime::watcher::{Config, Event, ExponentialBackoff};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

/// As the source's watches: the API server ends them after so many seconds, and the client gives up 5 s later.
const WATCH_SECONDS: u32 = 200;
/// Pauses after errors of a watch: the first, and the largest, which chance may double.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// The events of a watch; its errors are told and mended by the watch itself.
pub(super) fn events<K>(
    api: Api<K>,
    what: &'static str,
    narrow: impl FnOnce(Config) -> Config,
) -> impl Stream<Item = Event<K>> + Send + 'static
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let (first, most) = PAUSES;
    let pauses = ExponentialBuilder::default().with_min_delay(first).with_max_delay(most).with_factor(2.0);
    let pauses = ExponentialBackoff::from(pauses.with_jitter().without_max_times());
    let config = narrow(Config::default().timeout(WATCH_SECONDS));
    watcher(api, config).backoff(pauses).filter_map(move |event| async move {
        event.inspect_err(|error| tracing::warn!(%error, "the controller cannot watch {what}")).ok()
    })
}
