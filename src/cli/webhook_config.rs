//! `usher webhook-config`.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::{ArgGroup, Args};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ServiceReference, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use kube::api::ObjectMeta;

use super::findings::counts;
use super::load::{Rules, load};
use super::{Exit, terminal};
use crate::engine::{Phase, Protected};
use crate::rules::registration::{Registration, registrations};

/// Print the webhook configurations that rules need: what any of them matches, and no more than can be said.
#[derive(Args, Clone, Debug)]
#[command(
    group = ArgGroup::new("server").required(true).args(["service", "url"]),
    after_help = "Example: usher webhook-config -f policies/ --service usher-system/usher --ca-file certs/dev/ca.crt | kubectl apply \
                  --server-side -f -"
)]
pub(super) struct WebhookConfigArgs {
    /// Rules: files, or directories with .yaml, .yml and .json files.
    #[arg(short = 'f', long, value_name = "PATH", required = true, num_args = 1..)]
    rules: Vec<PathBuf>,

    /// The Service of the server, on its port 443.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = service)]
    service: Option<(String, String)>,

    /// A server outside the cluster, such as https://usher.example.com:8443.
    #[arg(long, value_name = "URL", value_parser = url)]
    url: Option<String>,

    /// PEM file with the authority of the server's certificate. Without it the API server goes by those of its machine.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Namespace that the server runs in. It is never asked about, as are kube-system and kube-node-lease.
    #[arg(long, value_name = "NAME", default_value = "usher-system")]
    own_namespace: String,

    /// Name of both configurations.
    #[arg(long, value_name = "NAME", default_value = "usher")]
    name: String,
}

pub(super) fn run(args: WebhookConfigArgs) -> anyhow::Result<Exit> {
    let WebhookConfigArgs { rules, service, url, ca_file, own_namespace, name } = args;
    let Rules { live, diagnostics, .. } = load(&rules, Some("--rules"), Protected::new(&own_namespace))?;
    if counts(&diagnostics).0 > 0 {
        bail!("--rules: some of the rules have errors, which usher check shows");
    }
    let authority = ca_file
        .map(|path| {
            std::fs::read(&path).with_context(|| format!("--ca-file: cannot read {}", path.display()))
        })
        .transpose()?
        .map(ByteString);
    let client = |entry: &Registration| WebhookClientConfig {
        ca_bundle: authority.clone(),
        service: service.clone().map(|(namespace, name)| ServiceReference {
            namespace,
            name,
            path: Some(entry.path().to_owned()),
            port: Some(443),
        }),
        url: url.as_ref().map(|url| format!("{url}{}", entry.path())),
    };
    let entries = registrations(&live.load());
    let of = |phase| entries.iter().filter(move |entry| entry.phase == phase);
    let metadata = || ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
    let mut texts = Vec::new();
    let mutating: Vec<_> = of(Phase::Mutating).map(|entry| entry.mutating(client(entry))).collect();
    if !mutating.is_empty() {
        let configuration = MutatingWebhookConfiguration { metadata: metadata(), webhooks: Some(mutating) };
        texts.push(serde_saphyr::to_string(&configuration)?);
    }
    let validating: Vec<_> = of(Phase::Validating).map(|entry| entry.validating(client(entry))).collect();
    if !validating.is_empty() {
        let configuration =
            ValidatingWebhookConfiguration { metadata: metadata(), webhooks: Some(validating) };
        texts.push(serde_saphyr::to_string(&configuration)?);
    }
    terminal::out(&texts.join("---\n"))?;
    Ok(Exit::Clean)
}

fn service(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err("expected NAMESPACE/NAME, such as usher-system/usher".to_owned()),
    }
}

fn url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").ok_or("expected a URL that starts with https://")?;
    if rest.is_empty() || rest.contains(['?', '#', '@']) {
        return Err("expected https://HOST:PORT, without user, query and fragment".to_owned());
    }
    Ok(text.trim_end_matches('/').to_owned())
}
