//! The flags about registration.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;

use crate::controller::Registering;
use crate::rules::registration::{Address, BaseUrl, ServiceAddress};
use crate::source::Connection;
use crate::webhook::ServerArgs;

/// Name of the Service that the manifests make.
const SERVICE: &str = "usher";

/// Whether this server tells the API server what to ask about, and how it is reached.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Registration")]
pub(super) struct RegistrationArgs {
    /// Keep the webhook configurations as the rules need them. The default inside a Pod that takes its rules from the API server, and where
    /// --webhook-service or --webhook-url is given.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    register: Option<bool>,

    /// The Service by which the API server reaches this server; inside a Pod the Service `usher` of its namespace.
    #[arg(long, value_name = "NAMESPACE/NAME[:PORT]", conflicts_with = "webhook_url")]
    webhook_service: Option<ServiceAddress>,

    /// The URL by which the API server reaches this server, such as https://usher.example.com:8443.
    #[arg(long, value_name = "URL")]
    webhook_url: Option<BaseUrl>,

    /// PEM file with the authority of the server's certificate, for the webhook configurations. The default with --tls-self-signed is its
    /// ca.crt; without any, `caBundle` is left to whoever fills it in. Read again while running.
    #[arg(long, value_name = "FILE")]
    webhook_ca_file: Option<PathBuf>,

    /// Name of both webhook configurations. Those that others keep under it are looked at, for the status of rules.
    #[arg(long, value_name = "NAME", default_value = "usher")]
    webhook_name: String,
}

impl RegistrationArgs {
    pub(super) fn name(&self) -> &str {
        &self.webhook_name
    }

    /// What to register; `None`: others do it.
    ///
    /// # Errors
    /// Names the flag that is missing.
    pub(super) fn registering(
        &self,
        own_namespace: &str,
        server: &ServerArgs,
        writes_status: bool,
    ) -> anyhow::Result<Option<Registering>> {
        let is_in_pod = Connection::is_in_pod();
        let service = self.webhook_service.clone().map(Address::Service);
        let named = service.or_else(|| self.webhook_url.clone().map(Address::Url));
        let is_wanted = self.register.unwrap_or(writes_status && (is_in_pod || named.is_some()));
        if !is_wanted {
            return Ok(None);
        }
        if !writes_status {
            bail!(
                "--register: needs --cluster, and --status, whose leader writes the webhook configurations"
            );
        }
        let own = || is_in_pod.then(|| Address::Service(ServiceAddress::new(own_namespace, SERVICE)));
        let address = named.or_else(own).context(
            "--register: say how the API server reaches this server, with --webhook-service or --webhook-url",
        )?;
        let made = || server.tls_self_signed.as_ref().map(|directory| directory.join("ca.crt"));
        let authority = self.webhook_ca_file.clone().or_else(made);
        Ok(Some(Registering { name: self.webhook_name.clone(), address, authority }))
    }

    /// Whether the authority can be read, once it must be there.
    ///
    /// # Errors
    /// Names the flag and the file.
    pub(super) fn check(registering: &Registering) -> anyhow::Result<()> {
        let Some(path) = &registering.authority else { return Ok(()) };
        std::fs::read(path)
            .map(drop)
            .with_context(|| format!("--webhook-ca-file: cannot read {}", path.display()))
    }
}
