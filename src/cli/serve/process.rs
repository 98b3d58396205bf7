//! `usher serve`: the process around the webhook server.
//!
//! Two runtimes: one for reviews, and a small one of its own for the admin port, which stays up until the very end.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::sync_channel;

use anyhow::{Context as _, anyhow};
use prometheus::Registry;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::admin;
use crate::telemetry::{Gate, ProcessMetrics, Readiness};
use crate::webhook::tls::{Reloader, TlsMetrics, acceptor};
use crate::webhook::{
    AdmissionMetrics, Admit, ConnectionLimits, ConnectionMetrics, Drain, DrainSwitch, Handler, Listener,
    Routed, ServerArgs, Stage, Webhook, drain, termination_signals,
};

/// The admin port has a handful of clients: kubelet, a scraper, somebody with curl.
const ADMIN_CONNECTIONS: usize = 64;

/// Of each thread that decides or compiles: an expression may nest as deep as the parser allows, sixteen variables of a rule may do so on
/// top of each other, and what does not fit ends the process. Memory is only taken where a thread has been.
const STACK_BYTES: usize = 16 << 20;

/// The runtime for reviews, and for what follows the rules.
///
/// # Errors
/// When the system has no threads left.
pub(super) fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .thread_name("serve")
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
}

/// What decides, and what keeps it up to date.
#[derive(Debug)]
pub struct Deciding<A, F> {
    pub admit: A,
    /// Open once there are rules.
    pub rules: Gate,
    /// Follows the sources of rules. It must not end before the server does.
    pub follow: F,
}

/// A process that is ready to run.
pub struct Process<A, F> {
    args: ServerArgs,
    registry: Registry,
    deciding: Deciding<A, F>,
    reloader: Reloader,
    tls: TlsAcceptor,
    readiness: Readiness,
    switch: DrainSwitch,
    drain: Drain,
}

impl<A, F> Process<A, F>
where
    A: Admit,
    F: Future<Output = ()> + Send + 'static,
{
    /// Loads the certificate and registers what is counted.
    ///
    /// # Errors
    /// Names the flag that is wrong.
    pub fn prepare(args: ServerArgs, registry: Registry, deciding: Deciding<A, F>) -> anyhow::Result<Self> {
        args.check()?;
        ProcessMetrics::register(&registry)?;
        let (reloader, resolver) = Reloader::start(args.cert_files()?, TlsMetrics::register(&registry)?)?;
        let tls = acceptor(resolver.clone())?;
        let (switch, drain) = drain();
        let draining = drain.clone();
        let readiness = Readiness::default()
            .with_gate("rules", deciding.rules.clone(), "not loaded yet")
            .with("certificate", move || resolver.check())
            .with("shutdown", move || {
                if draining.has_begun() { Err("the server is draining".to_owned()) } else { Ok(()) }
            });
        Ok(Self { args, registry, deciding, reloader, tls, readiness, switch, drain })
    }

    /// Serves until a signal says to stop and the drain is done.
    ///
    /// # Errors
    /// When an address cannot be bound, or when a part that must run for as long as the server has ended before.
    pub fn run(self, runtime: &Runtime) -> anyhow::Result<()> {
        runtime.block_on(async {
            let (signals, forward) = termination_signals().context("cannot catch signals")?;
            self.serve(signals, forward, |_| {}).await
        })
    }

    /// As [`Self::run`], with other signals; says where it listens.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn serve(
        self,
        signals: mpsc::Receiver<&'static str>,
        forward: impl Future<Output = ()>,
        bound: impl FnOnce(Addresses),
    ) -> anyhow::Result<()> {
        let Self { args, registry, deciding, reloader, tls, readiness, switch, drain } = self;
        let limits = args.connection_limits().within_descriptors();
        let listener = Listener::bind(args.bind, Some(tls), limits, ConnectionMetrics::register(&registry)?)
            .await
            .with_context(|| format!("--bind: cannot listen on {}", args.bind))?;
        let metrics = AdmissionMetrics::register(&registry)?;
        let (admin, admin_address) = Admin::start(args.admin_bind, readiness, registry)?;
        let addresses = Addresses { webhook: listener.local_addr()?, admin: admin_address };
        tracing::info!(webhook = %addresses.webhook, admin = %addresses.admin, "listening");
        bound(addresses);

        let Deciding { admit, rules, follow } = deciding;
        let webhook = Webhook::new(Handler::new(admit, args.review_limits(), rules, metrics));
        let reloading = tokio::spawn(reloader.run(drain.clone()));
        let mut following = JoinSet::new();
        following.spawn(follow);
        let served = tokio::select! {
            cut = listener.serve(webhook, drain) => Ok(cut),
            Some(ended) = following.join_next() => Err(match ended {
                Ok(()) => anyhow!("whoever follows the rules ended before the server"),
                Err(error) => anyhow!("whoever follows the rules failed: {error}"),
            }),
            () = switch.conduct(signals, args.drain_settings()) => Ok(0),
            () = forward => Ok(0),
        };
        switch.advance(Stage::Aborting);
        following.shutdown().await;
        reloading.await.context("whoever follows the certificate failed")?;
        admin.stop()?;
        match served? {
            0 => tracing::info!("drained; every request was answered"),
            cut => tracing::warn!(connections = cut, "drained; requests that took too long were cut"),
        }
        Ok(())
    }
}

impl<A, F> fmt::Debug for Process<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("args", &self.args).finish_non_exhaustive()
    }
}

/// Where the process listens.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    pub webhook: SocketAddr,
    pub admin: SocketAddr,
}

/// The admin port with its thread.
struct Admin {
    switch: DrainSwitch,
    thread: admin::AdminThread,
}

impl Admin {
    fn start(
        address: SocketAddr,
        readiness: Readiness,
        registry: Registry,
    ) -> anyhow::Result<(Self, SocketAddr)> {
        let (switch, drain) = drain();
        let (tx, rx) = sync_channel(1);
        let router = Routed(admin::router(readiness, registry));
        let metrics = ConnectionMetrics::unregistered()?;
        let limits = ConnectionLimits { max_connections: ADMIN_CONNECTIONS, ..ConnectionLimits::default() };
        let thread = admin::spawn(async move {
            let bound = Listener::bind(address, None, limits, metrics).await;
            match bound.and_then(|listener| Ok((listener.local_addr()?, listener))) {
                Ok((address, listener)) => {
                    let _ = tx.send(Ok(address));
                    listener.serve(router, drain).await;
                }
                Err(error) => {
                    let _ = tx.send(Err(error));
                }
            }
        })?;
        let address = rx
            .recv()
            .context("the admin thread ended")?
            .with_context(|| format!("--admin-bind: cannot listen on {address}"))?;
        Ok((Self { switch, thread }, address))
    }

    fn stop(self) -> anyhow::Result<()> {
        self.switch.advance(Stage::Aborting);
        if self.thread.join() { Ok(()) } else { Err(anyhow!("the admin thread failed")) }
    }
}
