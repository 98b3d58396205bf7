//! `usher webhook-config`.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::{ArgGroup, Args};
use k8s_openapi::ByteString;
use serde_json::json;

use super::cel::CelArgs;
use super::findings::counts;
use super::load::{Rules, load};
use super::{Exit, terminal};
use crate::engine::Protected;
use crate::rules::registration::{
    Address, BaseUrl, CONFIGURATION_GROUP, ServiceAddress, configuration_kind, own_kinds, registrations,
};

/// Print the webhook configurations that rules need: what any of them matches, and no more than can be said; and RoutingRules themselves.
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

    /// The Service of the server, on its port 443 if none is named.
    #[arg(long, value_name = "NAMESPACE/NAME[:PORT]")]
    service: Option<ServiceAddress>,

    /// A server outside the cluster, such as https://usher.example.com:8443.
    #[arg(long, value_name = "URL")]
    url: Option<BaseUrl>,

    /// PEM file with the authority of the server's certificate. Without it the API server goes by those of its machine.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Namespace that the server runs in. It is never asked about, as are kube-system and kube-node-lease.
    #[arg(long, value_name = "NAME", default_value = "usher-system")]
    own_namespace: String,

    /// Name of both configurations.
    #[arg(long, value_name = "NAME", default_value = "usher")]
    name: String,

    #[command(flatten)]
    cel: CelArgs,
}

pub(super) fn run(args: WebhookConfigArgs) -> anyhow::Result<Exit> {
    let WebhookConfigArgs { rules, service, url, ca_file, own_namespace, name, cel } = args;
    let Rules { live, diagnostics, .. } =
        load(&rules, Some("--rules"), Protected::new(&own_namespace), cel.version)?;
    if counts(&diagnostics).0 > 0 {
        bail!("--rules: some of the rules have errors, which usher check shows");
    }
    let authority = ca_file
        .map(|path| {
            std::fs::read(&path).with_context(|| format!("--ca-file: cannot read {}", path.display()))
        })
        .transpose()?
        .map(ByteString);
    // The parser has seen to it that there is one.
    let address = service.map(Address::Service).or(url.map(Address::Url)).context("--service or --url")?;
    let entries = registrations(&live.load());
    let mut texts = Vec::new();
    for is_mutating in [true, false] {
        let of_kind = entries.iter().filter(|entry| entry.hook.is_mutating() == is_mutating);
        let own = address.client_config(own_kinds::PATH, authority.clone());
        let own = (!is_mutating).then(|| own_kinds::webhook(own));
        let webhooks: Vec<_> = of_kind
            .map(|entry| {
                let client = address.client_config(entry.hook.path(), authority.clone());
                entry.webhook(entry.hook.fails_closed(), client)
            })
            .chain(own)
            .collect();
        if webhooks.is_empty() {
            continue;
        }
        let configuration = json!({
            "apiVersion": format!("{CONFIGURATION_GROUP}/v1"),
            "kind": configuration_kind(is_mutating),
            "metadata": {"name": name},
            "webhooks": webhooks,
        });
        texts.push(serde_saphyr::to_string(&configuration)?);
    }
    terminal::out(&texts.join("---\n"))?;
    Ok(Exit::Clean)
}
