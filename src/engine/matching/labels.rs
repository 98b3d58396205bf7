//! Labels of the objects of a request, read from their text when a selector asks, and only then.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde::Deserialize;

use crate::engine::request::Request;

/// Labels by key. `None` where an object has no `metadata` at all: such an object is selected by no selector.
pub(crate) type Labels = Option<BTreeMap<String, String>>;

/// The labels of `object` and `oldObject`, each read at most once.
#[derive(Debug, Default)]
pub(crate) struct RequestLabels {
    object: OnceCell<Labels>,
    old_object: OnceCell<Labels>,
}

impl RequestLabels {
    pub(crate) fn object(&self, request: &Request<'_>) -> &Labels {
        self.object.get_or_init(|| request.object.and_then(read))
    }

    pub(crate) fn old_object(&self, request: &Request<'_>) -> &Labels {
        self.old_object.get_or_init(|| request.old_object.and_then(read))
    }

    /// For an object that was changed since it was received.
    pub(crate) fn of_changed_object(labels: Labels) -> Self {
        Self { object: OnceCell::from(labels), old_object: OnceCell::new() }
    }
}

/// Reads `metadata.labels`. Everything else is skipped without recursion, so depth does no harm. What cannot come from an API server (text
/// that is no object, labels that are not text) counts as not there.
pub(crate) fn read(json: &str) -> Labels {
    #[derive(Deserialize)]
    struct Object {
        metadata: Option<Metadata>,
    }
    #[derive(Deserialize)]
    struct Metadata {
        labels: Option<BTreeMap<String, String>>,
    }
    let metadata = serde_json::from_str::<Object>(json).ok()?.metadata?;
    Some(metadata.labels.unwrap_or_default())
}
