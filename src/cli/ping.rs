//! `usher ping`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, anyhow, ensure};
use clap::Args;
use http::Uri;
use kube::{Client, Config};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use super::{Exit, terminal};
use crate::webhook::{Endpoint, answer_to, question};

/// The API server's usual patience with a webhook.
const PATIENCE: Duration = Duration::from_secs(10);

/// Send a review to a server, as the API server would, and say what came back.
///
/// It passes by name resolution, network policies and certificates on its way. Whether the rules allow the request, a ConfigMap that nobody
/// makes, does not matter: any answer is one.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: usher ping https://usher.usher-system.svc --ca-file /etc/usher/tls/ca.crt")]
pub(super) struct PingArgs {
    /// Where the server listens.
    #[arg(value_name = "URL", value_parser = url)]
    url: Uri,

    /// PEM file with the authority of the server's certificate. Without it those of this machine count.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

fn url(text: &str) -> Result<Uri, String> {
    let url: Uri = text.parse().map_err(|error| format!("{error}"))?;
    let is_whole = url.scheme_str() == Some("https") && url.host().is_some() && url.path() == "/";
    is_whole.then_some(url).ok_or_else(|| "expected https://HOST or https://HOST:PORT".to_owned())
}

pub(super) fn run(args: PingArgs) -> anyhow::Result<Exit> {
    let PingArgs { url, ca_file } = args;
    let mut config = Config::new(url.clone());
    config.root_cert = ca_file.as_deref().map(authorities).transpose()?;
    config.connect_timeout = Some(PATIENCE);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let start = Instant::now();
    let asked = runtime.block_on(async {
        let client = Client::try_from(config)?;
        tokio::time::timeout(PATIENCE, ask(client))
            .await
            .map_err(|_| anyhow!("no answer within {PATIENCE:?}"))?
    });
    let is_allowed = asked.with_context(|| format!("{url} does not answer as Usher does"))?;
    let word = if is_allowed { "allowed" } else { "denied" };
    terminal::out(&format!("{url} answered within {} ms: {word}\n", start.elapsed().as_millis()))?;
    Ok(Exit::Clean)
}

async fn ask(client: Client) -> anyhow::Result<bool> {
    // As unlike others as it must be for the answer not to be taken for that to another request.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let uid = format!("usher-ping-{}-{}", std::process::id(), now.as_nanos());
    let request = http::Request::post(Endpoint::Validate.path())
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(question(&uid).into_bytes())?;
    let text = client.request_text(request).await?;
    answer_to(&uid, &text).map_err(|instead| anyhow!("the answer is {instead}"))
}

/// The certificates of a PEM file.
fn authorities(path: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let what = || format!("--ca-file: cannot read {}", path.display());
    let text = std::fs::read(path).with_context(what)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.with_context(what)?;
    ensure!(!certificates.is_empty(), "--ca-file: there is no certificate in {}", path.display());
    Ok(certificates.into_iter().map(|certificate| certificate.to_vec()).collect())
}
