//! TLS: where the certificate comes from, how it is replaced while the server runs, and what is spoken.

mod metrics;
mod pair;
mod reload;
mod self_signed;

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::crypto::aws_lc_rs;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, SupportedProtocolVersion};
use tokio_rustls::TlsAcceptor;

pub use metrics::TlsMetrics;
pub use pair::{CertFiles, Pair, TlsError};
pub use reload::Reloader;
pub use self_signed::self_signed;

const VERSIONS: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13, &rustls::version::TLS12];

/// Hands the current pair to each handshake; open connections keep the one that they began with.
#[derive(Debug)]
pub struct CertResolver {
    current: ArcSwap<Pair>,
}

impl CertResolver {
    pub fn new(pair: Pair) -> Arc<Self> {
        Arc::new(Self { current: ArcSwap::from_pointee(pair) })
    }

    pub fn current(&self) -> Arc<Pair> {
        self.current.load_full()
    }

    pub(super) fn replace(&self, pair: Pair) {
        self.current.store(Arc::new(pair));
    }

    /// For readiness: whether a client would accept the certificate's dates.
    ///
    /// # Errors
    /// Says from when or until when the certificate is valid.
    pub fn check(&self) -> Result<(), String> {
        self.current.load().check_dates(pair::unix_now())
    }
}

impl ResolvesServerCert for CertResolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(self.current.load().certified_key()))
    }
}

/// TLS 1.2 and 1.3 for HTTP/1.1 only: the API server speaks nothing else to webhooks, and what is not there cannot be attacked.
/// No session tickets: it keeps connections rather than sessions.
///
/// # Errors
/// When the cryptography library supports none of the versions.
pub fn acceptor(resolver: Arc<CertResolver>) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(VERSIONS)
        .map_err(TlsError::Provider)?
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(TlsAcceptor::from(Arc::new(config)))
}
