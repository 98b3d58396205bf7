//! A server in this process, on a port of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use prometheus::Registry;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use usher::engine::{Decision, Query, Request};
use usher::telemetry::Gate;
use usher::webhook::tls::{CertFiles, Reloader, TlsMetrics, acceptor, self_signed};
use usher::webhook::{
    AdmissionMetrics, Admit, BodyLimits, ConnectionLimits, ConnectionMetrics, Drain, DrainSwitch, Handler,
    Listener, ReviewLimits, Stage, Webhook, drain,
};

/// Decides by a function.
pub(crate) struct Decide<F>(pub(crate) F);

impl<F> Admit for Decide<F>
where
    F: Fn(&Request<'_>, &Query<'_>) -> Decision + Send + Sync + 'static,
{
    fn admit(&self, request: &Request<'_>, query: &Query<'_>) -> Decision {
        (self.0)(request, query)
    }

    /// What it decides about are requests of others.
    fn admit_rule(&self, _: &Request<'_>) -> Decision {
        Decision::default()
    }
}

/// Allows everything.
pub(crate) fn allow() -> impl Admit {
    Decide(|_: &Request<'_>, _: &Query<'_>| Decision::default())
}

/// What a test sets differently from the server's defaults.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) connections: ConnectionLimits,
    pub(crate) reviews: ReviewLimits,
    pub(crate) rules: Option<Gate>,
    /// The certificate's files; self-signed ones by default.
    pub(crate) files: Option<CertFiles>,
    pub(crate) address: Option<SocketAddr>,
}

/// The server's defaults with other bounds of bodies.
pub(crate) fn bodies(bodies: BodyLimits) -> ReviewLimits {
    ReviewLimits { bodies, ..ReviewLimits::default() }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) switch: Arc<DrainSwitch>,
    pub(crate) drain: Drain,
    registry: Registry,
    serving: JoinHandle<usize>,
    reloading: JoinHandle<()>,
    authority: Option<CertificateDer<'static>>,
    _directory: TempDir,
}

impl Server {
    pub(crate) async fn start(admit: impl Admit) -> Self {
        Self::with(admit, Settings::default()).await
    }

    pub(crate) async fn with(admit: impl Admit, settings: Settings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::new();
        let (files, authority) = match settings.files {
            Some(files) => (files, None),
            None => {
                let files = self_signed(directory.path()).unwrap();
                let authority = CertificateDer::from_pem_file(directory.path().join("ca.crt")).unwrap();
                (files, Some(authority))
            }
        };
        let (reloader, resolver) = Reloader::start(files, TlsMetrics::register(&registry).unwrap()).unwrap();
        let listener = Listener::bind(
            settings.address.unwrap_or_else(|| "127.0.0.1:0".parse().unwrap()),
            Some(acceptor(resolver).unwrap()),
            settings.connections,
            ConnectionMetrics::register(&registry).unwrap(),
        )
        .await
        .unwrap();
        let rules = settings.rules.unwrap_or_else(Gate::opened);
        let metrics = AdmissionMetrics::register(&registry).unwrap();
        let webhook = Webhook::new(Handler::new(admit, settings.reviews, rules, metrics));
        let (switch, drain) = drain();
        Self {
            address: listener.local_addr().unwrap(),
            switch: Arc::new(switch),
            serving: tokio::spawn(listener.serve(webhook, drain.clone())),
            reloading: tokio::spawn(reloader.with_poll(Duration::from_millis(300)).run(drain.clone())),
            drain,
            registry,
            authority,
            _directory: directory,
        }
    }

    /// The authority of the self-signed certificate.
    pub(crate) fn authority(&self) -> CertificateDer<'static> {
        self.authority.clone().unwrap()
    }

    /// The value of a metric, by its name and the values of some of its labels.
    pub(crate) fn metric(&self, name: &str, labels: &[&str]) -> f64 {
        let families = self.registry.gather();
        let family =
            families.iter().find(|family| family.name() == name).unwrap_or_else(|| panic!("no {name}"));
        let metrics = family.get_metric().iter().filter(|metric| {
            labels.iter().all(|value| metric.get_label().iter().any(|label| label.value() == *value))
        });
        metrics.map(|metric| metric.get_counter().get_value() + metric.get_gauge().get_value()).sum()
    }

    /// Waits for the end of a server that is draining; how many connections were cut.
    pub(crate) async fn ended(self) -> usize {
        let cut = self.serving.await.unwrap();
        self.switch.advance(Stage::Aborting);
        self.reloading.await.unwrap();
        cut
    }

    /// Ends the server; every connection must end in order.
    pub(crate) async fn stop(self) {
        self.switch.advance(Stage::Closing);
        assert_eq!(self.ended().await, 0);
    }
}
