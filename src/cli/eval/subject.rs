//! What is asked about: a manifest or a review.

use bumpalo::Bump;
use serde::Serialize;

use super::EvalArgs;
use super::input::Input;
use super::manifest::ManifestRequest;
use super::resources::Resources;
use crate::diagnostic::{Code, Diagnostic};
use crate::engine::Request;
use crate::webhook::parse_review;

/// One request, with where it comes from.
#[derive(Debug)]
pub(super) struct Subject {
    place: Place,
    source: Source,
}

/// Where a manifest or review starts.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Place {
    pub(super) file: String,
    /// From 1.
    pub(super) line: usize,
}

#[derive(Debug)]
enum Source {
    Manifest(Box<ManifestRequest>),
    /// The text of a review that can be read.
    Review(String),
}

impl Subject {
    /// # Errors
    /// Why no request can be made of it.
    pub(super) fn new(
        input: &Input,
        old: Option<&Input>,
        args: &EvalArgs,
        resources: &Resources,
    ) -> Result<Self, Box<Diagnostic>> {
        let place = input.map.place(&input.path);
        let place = Place { file: place.file.to_string(), line: place.line };
        if !input.is_review() {
            let request = ManifestRequest::new(input, old, args, resources)?;
            return Ok(Self { place, source: Source::Manifest(Box::new(request)) });
        }
        let text = input.value.to_string();
        if let Err(refusal) = parse_review(text.as_bytes(), &Bump::new()) {
            // The message begins with the field.
            let (field, message) = refusal.message.split_once(": ").unwrap_or(("", &refusal.message));
            let help = "write it as the API server sends it, or evaluate the manifest instead";
            return Err(Box::new(input.error(Code::InvalidValue, field, message, help)));
        }
        Ok(Self { place, source: Source::Review(text) })
    }

    /// Calls `f` with the request. `None` never happens: what cannot be read was refused.
    pub(super) fn with_request<R>(&self, f: impl FnOnce(&Request<'_>) -> R) -> Option<R> {
        match &self.source {
            Source::Manifest(manifest) => Some(f(&manifest.request())),
            Source::Review(text) => {
                let memory = Bump::new();
                let review = parse_review(text.as_bytes(), &memory).ok()?;
                Some(f(&review.request))
            }
        }
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn notes(&self) -> &[String] {
        match &self.source {
            Source::Manifest(manifest) => &manifest.notes,
            Source::Review(_) => &[],
        }
    }

    pub(super) fn is_review(&self) -> bool {
        matches!(self.source, Source::Review(_))
    }
}
