//! What is counted about connections.

use std::io;

use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry, Result};

use super::connection::ConnectionEnd;
use crate::telemetry::registered;

/// How a TLS handshake ended; a metric label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeResult {
    Success,
    Timeout,
    /// The bytes are not TLS, for example plain HTTP.
    NotTls,
    /// No common version, cipher or protocol.
    Incompatible,
    /// The peer sent an alert, for example because it does not trust the certificate.
    Alert,
    /// The peer broke the protocol.
    Protocol,
    /// The connection broke.
    Io,
}

impl HandshakeResult {
    pub const ALL: [Self; 7] = [
        Self::Success,
        Self::Timeout,
        Self::NotTls,
        Self::Incompatible,
        Self::Alert,
        Self::Protocol,
        Self::Io,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Timeout => "timeout",
            Self::NotTls => "not_tls",
            Self::Incompatible => "incompatible",
            Self::Alert => "alert",
            Self::Protocol => "protocol",
            Self::Io => "io",
        }
    }

    pub(super) fn of(error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match inner {
            None => Self::Io,
            Some(rustls::Error::InvalidMessage(_)) => Self::NotTls,
            Some(rustls::Error::PeerIncompatible(_) | rustls::Error::NoApplicationProtocol) => {
                Self::Incompatible
            }
            Some(rustls::Error::AlertReceived(_)) => Self::Alert,
            Some(_) => Self::Protocol,
        }
    }
}

/// Metrics of connections.
#[derive(Clone, Debug)]
pub struct ConnectionMetrics {
    pub(super) open: IntGauge,
    pub(super) refused: IntCounter,
    pub(super) accept_errors: IntCounter,
    pub(super) panics: IntCounter,
    handshakes: Vec<IntCounter>,
    ended: Vec<IntCounter>,
}

impl ConnectionMetrics {
    /// # Errors
    /// When the registry has metrics of these names.
    pub fn register(registry: &Registry) -> Result<Self> {
        let counter = |name: &str, help: &str| registered(registry, IntCounter::new(name, help)?);
        let counters = |name: &str, help: &str, label: &str| {
            registered(registry, IntCounterVec::new(Opts::new(name, help), &[label])?)
        };
        let handshakes =
            counters("usher_tls_handshakes_total", "TLS handshakes by how they ended.", "result")?;
        let ended =
            counters("usher_webhook_connections_ended_total", "Connections by why they ended.", "reason")?;
        Ok(Self {
            open: registered(registry, IntGauge::new("usher_tls_connections", "Open connections.")?)?,
            refused: counter(
                "usher_webhook_connections_refused_total",
                "Connections closed at once because --max-connections were open.",
            )?,
            accept_errors: counter(
                "usher_webhook_accept_errors_total",
                "Connections that could not be accepted, for example for lack of file descriptors.",
            )?,
            panics: counter("usher_webhook_connection_panics_total", "Connections that ended by a panic.")?,
            handshakes: HandshakeResult::ALL
                .iter()
                .map(|result| handshakes.with_label_values(&[result.as_str()]))
                .collect(),
            ended: ConnectionEnd::ALL.iter().map(|end| ended.with_label_values(&[end.as_str()])).collect(),
        })
    }

    /// Counted, but for nobody to read: for servers beside the webhook.
    ///
    /// # Errors
    /// Never in practice; as [`Self::register`].
    pub fn unregistered() -> Result<Self> {
        Self::register(&Registry::new())
    }

    pub(super) fn handshake(&self, result: HandshakeResult) {
        self.handshakes[result as usize].inc();
    }

    pub(super) fn ended(&self, end: ConnectionEnd) {
        self.ended[end as usize].inc();
    }
}
