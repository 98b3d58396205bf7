//! Writing an AdmissionReview with a response.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::envelope::Review;
use super::{ReviewVersion, warnings};
use crate::engine::{Decision, Phase, Rejection};

/// Rejections that are written one by one; more are counted.
const MAX_CAUSES: usize = 50;
/// Of one rejection. Kubernetes bounds its own message expressions at 5 KiB.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// What an answer said; for metrics and the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::webhook) struct Verdict {
    pub(in crate::webhook) allowed: bool,
    pub(in crate::webhook) patched: bool,
    pub(in crate::webhook) warnings: usize,
    /// There was a patch that the API server would have failed the request for.
    pub(in crate::webhook) patch_withheld: bool,
}

/// A refusal that no rule made.
#[derive(Clone, Copy, Debug)]
pub(in crate::webhook) struct Denial<'a> {
    pub(in crate::webhook) code: u16,
    /// `metav1.StatusReason`.
    pub(in crate::webhook) reason: &'static str,
    pub(in crate::webhook) message: &'a str,
}

/// Writes what was decided about a review.
pub(in crate::webhook) fn write_answer(
    review: &Review<'_>,
    phase: Phase,
    decision: &Decision,
) -> (Vec<u8>, Verdict) {
    let allowed = decision.allowed();
    let patch = decision.patch.as_deref().filter(|_| allowed);
    // A patch in the validating phase fails the call, one without an object fails the user's request whatever the failure
    // policy says, and an empty one would only cost time (apiserver `VerifyAdmissionResponse`, mutating dispatcher).
    let sendable = patch
        .filter(|patch| phase == Phase::Mutating && review.request.object.is_some() && !is_empty_list(patch));
    let warnings = warnings::fitting(&decision.warnings);

    let mut out = Writer::begin(review.version, review.request.uid, allowed);
    if !allowed {
        out.rejections(&decision.rejections);
    }
    if let Some(patch) = sendable {
        out.patch(patch);
    }
    if !decision.audit_annotations.is_empty() {
        out.audit_annotations(&decision.audit_annotations);
    }
    if !warnings.is_empty() {
        out.warnings(&warnings);
    }
    let verdict = Verdict {
        allowed,
        patched: sendable.is_some(),
        warnings: warnings.len(),
        patch_withheld: patch.is_some() && sendable.is_none(),
    };
    (out.finish(), verdict)
}

/// Writes a refusal that no rule made.
pub(in crate::webhook) fn write_denial(version: ReviewVersion, uid: &str, denial: Denial<'_>) -> Vec<u8> {
    let mut out = Writer::begin(version, uid, false);
    out.status(denial.message, denial.reason, &[], denial.code);
    out.finish()
}

/// One line of a rejection: who says so, and what.
pub(in crate::webhook) fn line(rejection: &Rejection) -> String {
    let message = bounded(&rejection.message);
    match &rejection.route {
        Some(route) => format!("[{}/{route}] {message}", rejection.rule),
        None => format!("[{}] {message}", rejection.rule),
    }
}

fn bounded(message: &str) -> &str {
    &message[..message.floor_char_boundary(MAX_MESSAGE_BYTES)]
}

fn is_empty_list(patch: &[u8]) -> bool {
    patch.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).eq(*b"[]")
        || patch.trim_ascii().is_empty()
}

struct Writer {
    out: Vec<u8>,
}

impl Writer {
    fn begin(version: ReviewVersion, uid: &str, allowed: bool) -> Self {
        let mut this = Self { out: Vec::with_capacity(256) };
        this.push(r#"{"kind":"AdmissionReview","apiVersion":""#);
        this.push(version.api_version());
        this.push(r#"","response":{"uid":"#);
        this.string(uid);
        this.push(if allowed { r#","allowed":true"# } else { r#","allowed":false"# });
        this
    }

    fn rejections(&mut self, rejections: &[Rejection]) {
        let Some(first) = rejections.first() else { return };
        let mut lines: Vec<_> = rejections.iter().take(MAX_CAUSES).map(line).collect();
        if rejections.len() > MAX_CAUSES {
            lines.push(format!("and {} more", rejections.len() - MAX_CAUSES));
        }
        self.status(&lines.join("\n"), first.reason, rejections, first.code);
    }

    /// A `metav1.Status`, members in the order of Kubernetes' own encoder.
    fn status(&mut self, message: &str, reason: &str, causes: &[Rejection], code: u16) {
        self.push(r#","status":{"metadata":{},"status":"Failure","message":"#);
        self.string(message);
        self.push(r#","reason":"#);
        self.string(reason);
        for (index, cause) in causes.iter().take(MAX_CAUSES).enumerate() {
            self.push(if index == 0 { r#","details":{"causes":[{"reason":"# } else { r#",{"reason":"# });
            self.string(cause.reason);
            self.push(r#","message":"#);
            self.string(&line(cause));
            self.push("}");
        }
        self.push(if causes.is_empty() { r#","code":"# } else { r#"]},"code":"# });
        self.push(&code.to_string());
        self.push("}");
    }

    fn patch(&mut self, patch: &[u8]) {
        self.push(r#","patchType":"JSONPatch","patch":""#);
        self.push(&STANDARD.encode(patch));
        self.push("\"");
    }

    fn audit_annotations(&mut self, annotations: &[(String, String)]) {
        self.push(r#","auditAnnotations":{"#);
        for (index, (key, value)) in annotations.iter().enumerate() {
            if index > 0 {
                self.push(",");
            }
            self.string(key);
            self.push(":");
            self.string(value);
        }
        self.push("}");
    }

    fn warnings(&mut self, warnings: &[String]) {
        self.push(r#","warnings":["#);
        for (index, warning) in warnings.iter().enumerate() {
            if index > 0 {
                self.push(",");
            }
            self.string(warning);
        }
        self.push("]");
    }

    fn finish(mut self) -> Vec<u8> {
        self.push("}}");
        self.out
    }

    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn string(&mut self, text: &str) {
        // Writing a string into memory cannot fail.
        let _ = serde_json::to_writer(&mut self.out, text);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bumpalo::Bump;
    use serde_json::{Value, json};

    use super::super::parse;
    use super::*;

    fn answer(request: &str, phase: Phase, decision: &Decision) -> (Value, Verdict) {
        let body =
            format!(r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{request}}}"#);
        let memory = Bump::new();
        let review = parse(body.as_bytes(), &memory).unwrap();
        let (bytes, verdict) = write_answer(&review, phase, decision);
        (serde_json::from_slice(&bytes).unwrap(), verdict)
    }

    fn rejection(rule: &str, route: Option<&str>, message: &str) -> Rejection {
        Rejection {
            rule: Arc::from(rule),
            route: route.map(Arc::from),
            message: message.to_owned(),
            reason: "Invalid",
            code: 422,
            error: None,
        }
    }

    const CREATE: &str = r#"{"uid":"u \"1\"","operation":"CREATE","object":{}}"#;

    #[test]
    fn an_allowed_request_gets_nothing_but_that() {
        let (answer, verdict) = answer(CREATE, Phase::Mutating, &Decision::default());
        let expected = json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {"uid": "u \"1\"", "allowed": true}});
        assert_eq!(answer, expected);
        assert!(verdict.allowed && !verdict.patched && !verdict.patch_withheld);
    }

    #[test]
    fn every_rejection_is_named_and_the_first_gives_code_and_reason() {
        let decision = Decision {
            rejections: vec![
                rejection("images", Some("no-latest"), "pin \"it\""),
                rejection("broken", None, "no value"),
            ],
            patch: Some(b"[{}]".to_vec()),
            ..Decision::default()
        };
        let (answer, verdict) = answer(CREATE, Phase::Mutating, &decision);
        assert_eq!(
            answer["response"],
            json!({"uid": "u \"1\"", "allowed": false, "status": {
                "metadata": {}, "status": "Failure", "reason": "Invalid", "code": 422,
                "message": "[images/no-latest] pin \"it\"\n[broken] no value",
                "details": {"causes": [
                    {"reason": "Invalid", "message": "[images/no-latest] pin \"it\""},
                    {"reason": "Invalid", "message": "[broken] no value"}]}}})
        );
        assert!(!verdict.patched && !verdict.patch_withheld);
    }

    #[test]
    fn a_patch_goes_only_where_the_api_server_takes_one() {
        let patched =
            |patch: &str| Decision { patch: Some(patch.as_bytes().to_vec()), ..Decision::default() };
        let change = r#"[{"op":"remove","path":"/a"}]"#;
        let (sent, verdict) = answer(CREATE, Phase::Mutating, &patched(change));
        assert_eq!(sent["response"]["patchType"], "JSONPatch");
        let bytes = STANDARD.decode(sent["response"]["patch"].as_str().unwrap()).unwrap();
        assert_eq!(bytes, change.as_bytes());
        assert!(verdict.patched);

        let delete = r#"{"uid":"u","operation":"DELETE","object":null,"oldObject":{}}"#;
        for (request, phase, patch) in [
            (CREATE, Phase::Validating, change),
            (delete, Phase::Mutating, change),
            (CREATE, Phase::Mutating, "[ ]"),
        ] {
            let (sent, verdict) = answer(request, phase, &patched(patch));
            assert_eq!(sent["response"].get("patch"), None);
            assert_eq!(sent["response"].get("patchType"), None);
            assert!(verdict.patch_withheld);
        }
    }

    #[test]
    fn warnings_and_annotations_are_sent() {
        let decision = Decision {
            warnings: vec!["old\napi".to_owned()],
            audit_annotations: vec![("why".to_owned(), "break-glass".to_owned())],
            ..Decision::default()
        };
        let (answer, verdict) = answer(CREATE, Phase::Validating, &decision);
        assert_eq!(answer["response"]["warnings"], json!(["old api"]));
        assert_eq!(answer["response"]["auditAnnotations"], json!({"why": "break-glass"}));
        assert_eq!(verdict.warnings, 1);
    }

    #[test]
    fn thousands_of_rejections_and_endless_messages_stay_bounded() {
        let decision = Decision {
            rejections: vec![rejection("r", Some("x"), &"é".repeat(10_000)); 1000],
            ..Decision::default()
        };
        let (answer, _) = answer(CREATE, Phase::Validating, &decision);
        let status = &answer["response"]["status"];
        assert_eq!(status["details"]["causes"].as_array().unwrap().len(), 50);
        assert!(status["message"].as_str().unwrap().ends_with("and 950 more"));
        assert!(status["message"].as_str().unwrap().len() < 300 * 1024);
    }
}
