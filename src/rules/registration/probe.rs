//! The question whose answer proves a path: from the API server by the address and the authority of a webhook configuration to a server
//! that has its rules.
//!
//! It is a dry run: a Lease in Usher's own namespace that is never kept. An entry beside the one of the rules, with the same client
//! configuration, matches nothing but dry runs of Leases there that carry one label, so no rule, no real request and no other object is ever
//! concerned, whatever becomes of the entry. The label's value changes whenever the configuration does: an answer proves that the API server
//! goes by the newest one. The server answers with a refusal that names the Lease and the path, before it looks at any rule.
//!
//! The entry fails closed. Otherwise a call that fails would look like one that was never made, and the API server would keep the reason to itself.

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, RuleWithOperations, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

use super::{Hook, entry};
use crate::engine::matching::NAME_LABEL;
use crate::engine::{Operation, Request};

/// On the Lease.
pub const LABEL: &str = "usher.dev/probe";
/// How its name begins.
pub const NAME_PREFIX: &str = "usher-probe-";
const GROUP: &str = "coordination.k8s.io";
const RESOURCE: &str = "leases";

/// Name of the entry.
pub fn entry_name(hook: Hook) -> String {
    format!("probe.{}", hook.name())
}

/// Value of the label. `token` stands for one version of the configuration: at most 40 letters and digits.
pub fn label(hook: Hook, token: &str) -> String {
    format!("{}{token}", label_prefix(hook))
}

/// The token that an entry waits for.
pub fn token(hook: Hook, entry: &MutatingWebhook) -> Option<&str> {
    let labels = entry.object_selector.as_ref()?.match_labels.as_ref()?;
    labels.get(LABEL)?.strip_prefix(&label_prefix(hook)).filter(|token| !token.is_empty())
}

fn label_prefix(hook: Hook) -> String {
    // As in `validate-fail-`.
    format!("{}-", hook.path().trim_start_matches('/').replace('/', "-"))
}

/// The entry, with the client configuration that is to be proved.
pub fn webhook(
    hook: Hook,
    own_namespace: &str,
    token: &str,
    client_config: WebhookClientConfig,
) -> MutatingWebhook {
    let strings = |text: &str| Some(vec![text.to_owned()]);
    let own = meta::LabelSelectorRequirement {
        key: NAME_LABEL.to_owned(),
        operator: "In".to_owned(),
        values: strings(own_namespace),
    };
    let labels = [(LABEL.to_owned(), label(hook, token))].into();
    let dry = MatchCondition { name: "dry-run".to_owned(), expression: "request.dryRun".to_owned() };
    MutatingWebhook {
        rules: Some(vec![RuleWithOperations {
            api_groups: strings(GROUP),
            api_versions: strings("v1"),
            operations: strings(Operation::Create.as_str()),
            resources: strings(RESOURCE),
            scope: Some("Namespaced".to_owned()),
        }]),
        namespace_selector: Some(meta::LabelSelector {
            match_expressions: Some(vec![own]),
            match_labels: None,
        }),
        object_selector: Some(meta::LabelSelector { match_expressions: None, match_labels: Some(labels) }),
        match_conditions: Some(vec![dry]),
        ..entry(entry_name(hook), hook.is_mutating(), true, client_config)
    }
}

/// The refusal by which a path answers, if this is the question.
pub fn answer(request: &Request<'_>, path: &str) -> Option<String> {
    let resource = request.resource;
    let is_probe = request.dry_run
        && request.operation == Operation::Create
        && (resource.group, resource.resource, request.sub_resource) == (GROUP, RESOURCE, "")
        && request.name.starts_with(NAME_PREFIX);
    is_probe.then(|| text(request.name, path))
}

/// What the refusal of a Lease of this name says.
pub fn text(name: &str, path: &str) -> String {
    format!("usher answers {name} at {path}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::engine::GroupVersionResource;
    use crate::engine::testing::mk_request;

    fn question() -> Request<'static> {
        Request {
            resource: GroupVersionResource { group: GROUP, version: "v1", resource: RESOURCE },
            name: "usher-probe-1",
            namespace: "usher-system",
            dry_run: true,
            operation: Operation::Create,
            ..mk_request()
        }
    }

    #[rstest]
    #[case::not_dry(Request { dry_run: false, ..question() })]
    #[case::update(Request { operation: Operation::Update, ..question() })]
    #[case::other_name(Request { name: "usher-replica-1", ..question() })]
    #[case::other_kind(Request { resource: GroupVersionResource { group: "", version: "v1", resource: "pods" }, ..question() })]
    fn nothing_real_is_the_question(#[case] request: Request<'static>) {
        assert_eq!(answer(&request, "/validate/fail"), None);
    }

    #[test]
    fn the_answer_names_the_question_and_the_path() {
        let answer = answer(&question(), "/validate/fail").unwrap();
        assert_eq!(answer, text("usher-probe-1", "/validate/fail"));
    }

    #[test]
    fn an_entry_tells_its_token() {
        for hook in Hook::ALL {
            let entry = webhook(hook, "usher-system", "17b", WebhookClientConfig::default());
            assert_eq!(token(hook, &entry), Some("17b"));
            assert_eq!(entry.reinvocation_policy.is_some(), hook.is_mutating());
        }
    }
}
