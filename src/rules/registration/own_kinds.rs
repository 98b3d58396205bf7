//! The entry by which Usher is asked about its own objects before they are stored.
//!
//! It fails open: a server that does not answer must not keep anybody from mending a rule. It names neither deletions nor the status.

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, RuleWithOperations, WebhookClientConfig};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::entry;
use crate::api::{GROUP, VERSION};
use crate::engine::Operation;
use crate::rules::review::RESOURCE;

/// Of the entry. Only a configuration of validating webhooks has it.
pub const NAME: &str = "rules.validate.usher.dev";
/// That answers for it.
pub const PATH: &str = "/validate-rules";

/// The entry.
pub fn webhook(client_config: WebhookClientConfig) -> MutatingWebhook {
    let strings = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect());
    MutatingWebhook {
        rules: Some(vec![RuleWithOperations {
            api_groups: strings(&[GROUP]),
            api_versions: strings(&[VERSION]),
            operations: strings(&[Operation::Create.as_str(), Operation::Update.as_str()]),
            resources: strings(&[RESOURCE]),
            scope: Some("Cluster".to_owned()),
        }]),
        namespace_selector: Some(LabelSelector::default()),
        object_selector: Some(LabelSelector::default()),
        ..entry(NAME.to_owned(), false, false, client_config)
    }
}
