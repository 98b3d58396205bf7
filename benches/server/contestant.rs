//! The servers that are compared.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use axum::Router;
use axum::routing::post;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use prometheus::Registry;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use usher::engine::{Decision, Query, Request, RuleSet, decide};
use usher::rules::{Context, Kinds, review_rule};
use usher::telemetry::Gate;
use usher::webhook::tls::{CertResolver, acceptor, self_signed};
use usher::webhook::{
    AdmissionMetrics, Admit, Answer, ConnectionLimits, ConnectionMetrics, DrainSwitch, Handler, Listener,
    ReviewLimits, Routed, Stage, Webhook, drain,
};
use usher_cel::KubernetesVersion;

use crate::client::Client;
use crate::rules;

pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    /// The ratio to the no-op that is aimed at.
    pub(crate) goal: Option<f64>,
    client: Client,
    /// The scheduler's account of the server's thread.
    account: String,
    switch: DrainSwitch,
    thread: JoinHandle<()>,
}

/// The no-op first: the others are measured by it. `workload`: where the common workload is.
pub(crate) fn all(directory: &Path, workload: Option<&Path>) -> Vec<Contestant> {
    let serving = |name, goal, rules| Contestant::start(name, goal, directory, webhook(Rules(rules)));
    let mut all = vec![
        Contestant::start("axum + TLS no-op, same accept loop", None, directory, noop()),
        serving("no candidate rule", Some(1.8), rules::not_matching()),
        serving("one containers.all rule", Some(3.2), rules::containers()),
        serving("1,000 rules, 5 match", Some(6.0), rules::thousand()),
    ];
    all.extend(
        workload.and_then(rules::controls).map(|rules| serving("20 imported Pod controls", None, rules)),
    );
    all.push(serving("10 rules, guarded by namespace", None, rules::guarded(10)));
    all.push(serving("10,000 rules, guarded by namespace", None, rules::guarded(10_000)));
    all
}

/// Collects the body and answers a fixed review.
fn noop() -> Routed {
    const ANSWER: &str = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"00000000-0000-0000-0000-000000000000","allowed":true}}"#;
    let answer = async |body: Bytes| {
        assert!(!body.is_empty());
        ([(CONTENT_TYPE, "application/json")], ANSWER)
    };
    Routed(Router::new().route("/validate", post(answer)))
}

/// What `serve` does with a request, without its changing rules.
struct Rules(Arc<RuleSet>);

impl Admit for Rules {
    fn admit(&self, request: &Request<'_>, query: &Query<'_>) -> Decision {
        decide(&self.0, request, query)
    }

    fn admit_rule(&self, request: &Request<'_>) -> Decision {
        review_rule(
            request,
            &Context {
                kinds: &Kinds::default(),
                protected: self.0.protected(),
                version: KubernetesVersion::default(),
            },
        )
    }
}

fn webhook(admit: impl Admit) -> Webhook<impl Admit> {
    let metrics = AdmissionMetrics::register(&Registry::new()).expect("metrics");
    Webhook::new(Handler::new(admit, ReviewLimits::default(), Gate::opened(), metrics))
}

impl Contestant {
    fn start(name: &'static str, goal: Option<f64>, directory: &Path, answer: impl Answer) -> Self {
        let files = self_signed(directory).expect("a certificate");
        let authority = CertificateDer::from_pem_file(directory.join("ca.crt")).expect("an authority");
        let pair = files.load().expect("a pair");
        let (switch, drain) = drain();
        let (tx, rx) = sync_channel::<(SocketAddr, String)>(1);
        let main = async move {
            let tls = acceptor(CertResolver::new(pair)).expect("TLS");
            let address = "127.0.0.1:0".parse().expect("an address");
            let metrics = ConnectionMetrics::unregistered().expect("metrics");
            let listener = Listener::bind(address, Some(tls), ConnectionLimits::default(), metrics)
                .await
                .expect("a listener");
            let thread = std::fs::read_link("/proc/thread-self").expect("Linux");
            let account = format!("/proc/{}/schedstat", thread.display());
            tx.send((listener.local_addr().expect("an address"), account)).expect("the main thread");
            listener.serve(answer, drain).await;
        };
        let serve = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(main);
        };
        // Named, so that a profiler can tell the contestants apart.
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(serve).expect("a thread");
        let (address, account) = rx.recv().expect("a server");
        Self { name, goal, client: Client::connect(address, authority), account, switch, thread }
    }

    /// CPU time per request, in microseconds.
    pub(crate) fn round(&mut self, review: &[u8], count: usize) -> f64 {
        let before = self.spent();
        self.client.run(review, count);
        (self.spent() - before) / count as f64
    }

    /// Microseconds that the server's thread was running.
    fn spent(&self) -> f64 {
        let account = std::fs::read_to_string(&self.account).expect("the scheduler's account");
        let nanos: u64 = account.split(' ').next().and_then(|nanos| nanos.parse().ok()).expect("a number");
        nanos as f64 / 1000.0
    }

    pub(crate) fn stop(self) {
        drop(self.client);
        self.switch.advance(Stage::Aborting);
        self.thread.join().expect("the server's end");
    }
}
