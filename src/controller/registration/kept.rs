//! One configuration as far as it is known, and writing it.

use std::time::{Duration, Instant};

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::watcher::Event;
use kube::{Api, ResourceExt};
use tokio::time::timeout;

use super::configuration::Stored;
use crate::controller::bucket::Bucket;
use crate::controller::write::MANAGER;

/// Writes of each configuration a second, and at once: a rule that is the first of its kind takes two, and what somebody edits who does not
/// give up is put right twice a second.
const PER_SECOND: f64 = 2.0;
const BURST: f64 = 10.0;
/// Pauses after writes that failed: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));
const ANSWER: Duration = Duration::from_secs(5);

pub(super) struct Kept {
    pub(super) is_mutating: bool,
    /// Whether it is known what there is.
    pub(super) is_listed: bool,
    pub(super) stored: Option<Stored>,
    /// Why it cannot be written.
    pub(super) error: Option<String>,
    /// Rules up to this resource version are covered by the configuration with this token.
    pub(super) covers: Option<(String, u64)>,
    /// Seen in a list that is not complete yet.
    listing: Option<Stored>,
    writes: Bucket,
    failures: u32,
    not_before: Instant,
}

/// What an event has brought.
pub(super) enum News {
    None,
    /// Another version, which was not written here.
    Other,
    Deleted,
}

/// How an attempt to write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Success,
    /// There is another version.
    Conflict,
    Failure,
}

impl Kept {
    pub(super) fn new(is_mutating: bool, now: Instant) -> Self {
        Self {
            is_mutating,
            is_listed: false,
            stored: None,
            error: None,
            covers: None,
            listing: None,
            writes: Bucket::new(PER_SECOND, BURST, now),
            failures: 0,
            not_before: now,
        }
    }

    pub(super) fn take(&mut self, event: Event<DynamicObject>, name: &str) -> News {
        let is_ours = |object: &DynamicObject| object.name_any() == name;
        match event {
            Event::Init => self.listing = None,
            Event::InitApply(object) if is_ours(&object) => self.listing = Some(Stored::of(object)),
            Event::InitDone => {
                self.is_listed = true;
                self.stored = self.listing.take();
                return News::Other;
            }
            Event::Apply(object) if is_ours(&object) => {
                let stored = Stored::of(object);
                // What was written is known before the watch brings it.
                if self.stored.as_ref().is_none_or(|known| known.version() < stored.version()) {
                    self.stored = Some(stored);
                    return News::Other;
                }
            }
            Event::Delete(object) if is_ours(&object) => {
                tracing::warn!(
                    configuration = name,
                    mutating = self.is_mutating,
                    "somebody has deleted the webhook configuration"
                );
                self.stored = None;
                return News::Deleted;
            }
            Event::InitApply(_) | Event::Apply(_) | Event::Delete(_) => {}
        }
        News::None
    }

    /// It is as it should be.
    pub(super) fn forgive(&mut self) {
        self.error = None;
        self.failures = 0;
    }

    /// Whether it may be written now; if so, that counts as a write.
    pub(super) fn may_write(&mut self, now: Instant) -> bool {
        let may = now >= self.not_before && self.writes.has_one(now);
        if may {
            self.writes.take_one();
        }
        may
    }

    /// Writes on the version that is known, or makes it.
    pub(super) async fn write(
        &mut self,
        api: Api<DynamicObject>,
        name: &str,
        object: DynamicObject,
    ) -> Written {
        let written = match self.stored {
            Some(_) => {
                let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
                timeout(ANSWER, api.replace(name, &params, &object)).await
            }
            // Made by an apply, since rights to create cannot be given by name otherwise. Without force: whoever was faster stays.
            None => {
                timeout(ANSWER, api.patch(name, &PatchParams::apply(MANAGER), &Patch::Apply(&object))).await
            }
        };
        let error = match written {
            Ok(Ok(object)) => {
                tracing::info!(
                    configuration = name,
                    mutating = self.is_mutating,
                    "webhook configuration written"
                );
                self.forgive();
                self.stored = Some(Stored::of(object));
                return Written::Success;
            }
            // There is news to come.
            Ok(Err(kube::Error::Api(status))) if status.code == 409 || status.code == 404 => {
                self.not_before = Instant::now() + PAUSES.0;
                return Written::Conflict;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        self.failures = self.failures.saturating_add(1);
        self.not_before = Instant::now() + (PAUSES.0 * 2_u32.pow(self.failures.min(5))).min(PAUSES.1);
        if self.error.as_ref() != Some(&error) {
            tracing::warn!(
                configuration = name,
                mutating = self.is_mutating,
                error,
                "cannot write the webhook configuration"
            );
        }
        self.error = Some(error);
        Written::Failure
    }
}
