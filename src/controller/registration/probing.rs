//! Asking the API server whether it asks us.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use tokio::time::timeout;

use super::path::Outcome;
use crate::controller::write::MANAGER;
use crate::rules::registration::{Hook, probe};

/// Longer than the API server waits for a webhook.
const ANSWER: Duration = Duration::from_secs(8);
/// Characters of an error that are kept.
const MESSAGE: usize = 1024;

/// Sends a dry run that only we refuse. `number` makes the question unlike any other.
pub(super) async fn ask(
    leases: Api<Lease>,
    hook: Hook,
    token: String,
    number: u64,
) -> (Hook, String, Outcome) {
    let name = format!("{}{token}-{number}", probe::NAME_PREFIX);
    let labels = [(probe::LABEL.to_owned(), probe::label(hook, &token))].into();
    let metadata = ObjectMeta { name: Some(name.clone()), labels: Some(labels), ..ObjectMeta::default() };
    let lease = Lease { metadata, spec: None };
    let params = PostParams { dry_run: true, field_manager: Some(MANAGER.to_owned()) };
    let outcome = match timeout(ANSWER, leases.create(&params, &lease)).await {
        Ok(Ok(_)) => Outcome::NotAsked,
        Ok(Err(kube::Error::Api(status))) => told(hook, &name, status.code, &status.message),
        Ok(Err(error)) => Outcome::Silence(error.to_string()),
        Err(_) => Outcome::Silence("no answer to the probe".to_owned()),
    };
    (hook, token, outcome)
}

fn told(hook: Hook, name: &str, code: u16, message: &str) -> Outcome {
    let cut = || message.chars().take(MESSAGE).collect();
    // The API server quotes the entry that refuses or fails.
    let is_by_entry = message.contains(&format!("\"{}\"", probe::entry_name(hook)));
    if is_by_entry && message.ends_with(&probe::text(name, hook.path())) {
        return Outcome::Answered;
    }
    if is_by_entry {
        return Outcome::Unreachable(cut());
    }
    // Too many requests, or etcd is away; but not that a webhook of others fails.
    if (code == 429 || code >= 500) && !message.contains("failed calling webhook") {
        Outcome::Silence(cut())
    } else {
        Outcome::Refused(cut())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ANSWERED: &str = "admission webhook \"probe.fail.validate.usher.dev\" denied the request: usher answers \
                            usher-probe-1-2 at /validate/fail";

    #[rstest]
    #[case(422, ANSWERED, Outcome::Answered)]
    #[case::other_path(
        403,
        "admission webhook \"probe.fail.validate.usher.dev\" denied the request: usher answers usher-probe-1-2 at /validate",
        Outcome::Unreachable(String::new())
    )]
    #[case::call_failed(
        500,
        "Internal error occurred: failed calling webhook \"probe.fail.validate.usher.dev\": failed to call webhook: x509",
        Outcome::Unreachable(String::new())
    )]
    #[case::another_webhook(
        403,
        "admission webhook \"a.example.com\" denied the request: no",
        Outcome::Refused(String::new())
    )]
    #[case::call_of_another_failed(
        500,
        "Internal error occurred: failed calling webhook \"a.example.com\": failed to call webhook",
        Outcome::Refused(String::new())
    )]
    #[case::no_rights(403, "leases.coordination.k8s.io is forbidden", Outcome::Refused(String::new()))]
    #[case::namespace_gone(404, "namespaces \"usher-system\" not found", Outcome::Refused(String::new()))]
    #[case::busy(429, "too many requests", Outcome::Silence(String::new()))]
    #[case::etcd(500, "etcdserver: request timed out", Outcome::Silence(String::new()))]
    fn only_our_own_refusal_is_an_answer(
        #[case] code: u16,
        #[case] message: &str,
        #[case] expected: Outcome,
    ) {
        let told = told(Hook::ValidateFail, "usher-probe-1-2", code, message);
        assert_eq!(std::mem::discriminant(&told), std::mem::discriminant(&expected), "{told:?}");
    }
}
