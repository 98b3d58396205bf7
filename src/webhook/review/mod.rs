//! The AdmissionReview on the wire (`k8s.io/api/admission/v1`): the only place that knows its JSON.
//!
//! One pass over the body reads the envelope and leaves `object`, `oldObject` and `options` as raw text. The answer is written straight to
//! bytes, always the same bytes for the same decision.

mod answer;
mod envelope;
mod question;
mod warnings;

pub(super) use answer::{Denial, Verdict, write_answer, write_denial};
pub use envelope::{Refusal, Review, parse};
pub use question::{answer_to, question};

/// The version of the review, which the answer must have too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReviewVersion {
    #[default]
    V1,
    V1Beta1,
}

impl ReviewVersion {
    pub(super) const ALL: [Self; 2] = [Self::V1, Self::V1Beta1];

    pub(super) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1Beta1 => "admission.k8s.io/v1beta1",
        }
    }
}
