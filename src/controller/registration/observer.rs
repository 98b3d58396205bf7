//! Looks at configurations that others keep, while this replica leads.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use kube::Client;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::keeper::{HEAP, news};
use super::kept::{Kept, News};
use super::registered::{Observed, Registered};
use crate::controller::leader::Leadership;
use crate::rules::registration::covered;
use crate::rules::{LiveRules, Served};

/// How often it is looked whether this replica still leads.
const ROUND: Duration = Duration::from_secs(1);
/// Who may not read the configurations, or gets no answer, says so after that.
const PATIENCE: Duration = Duration::from_secs(5);

/// Says which rules the configurations of a name cover. They are not written, and nothing proves that they work.
pub(in crate::controller) struct Observer {
    pub(in crate::controller) client: Client,
    /// Of both configurations.
    pub(in crate::controller) name: String,
    pub(in crate::controller) live: LiveRules,
    pub(in crate::controller) registered: watch::Sender<Registered>,
}

impl Observer {
    /// Runs for as long as somebody wants to lead.
    pub(in crate::controller) async fn run(
        self,
        mut leadership: Leadership,
        served: watch::Receiver<Served>,
    ) {
        while leadership.until_held().await {
            self.observe(&leadership, served.clone()).await;
            self.registered.send_replace(Registered::Unknown);
        }
    }

    async fn observe(&self, leadership: &Leadership, mut served: watch::Receiver<Served>) {
        let mut news = news(&self.client, &self.name);
        let start = Instant::now();
        let mut kept = [Kept::new(true, start), Kept::new(false, start)];
        let mut entries = Vec::new();
        // The rules that the last look was at, and what came of it.
        let mut looked: Option<(u64, Arc<BTreeSet<Arc<str>>>)> = None;
        while leadership.is_held() {
            let next = async {
                tokio::select! {
                    Some((is_mutating, event)) = news.next() => Some((is_mutating, event)),
                    changed = served.changed() => {
                        if changed.is_err() {
                            std::future::pending::<()>().await;
                        }
                        sleep(HEAP).await;
                        None
                    }
                }
            };
            if let Ok(Some((is_mutating, event))) = timeout(ROUND, next).await
                && !matches!(kept[usize::from(!is_mutating)].take(event, &self.name), News::None)
            {
                let stored = kept.iter().filter_map(|kept| kept.stored.as_ref());
                entries = stored.flat_map(|stored| stored.webhooks().iter().cloned()).collect();
                looked = None;
            }
            let version = served.borrow_and_update().version;
            let is_listed = kept.iter().all(|kept| kept.is_listed);
            if version == 0 || !is_listed {
                if start.elapsed() > PATIENCE {
                    self.registered.send_if_modified(|known| {
                        let is_news = *known != Registered::ByOthers;
                        *known = Registered::ByOthers;
                        is_news
                    });
                }
                continue;
            }
            let rules = self.live.load();
            let covered = match &looked {
                Some((revision, covered)) if *revision == rules.revision() => Arc::clone(covered),
                _ => Arc::new(covered(&rules, &entries)),
            };
            looked = Some((rules.revision(), Arc::clone(&covered)));
            let observed = Registered::Observed(Observed { version, covered });
            self.registered.send_if_modified(|known| {
                let is_news = *known != observed;
                *known = observed;
                is_news
            });
        }
    }
}
