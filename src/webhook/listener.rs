//! The accept loop: connections up to a cap, TLS handshakes within a deadline, and the end of all of them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::activity::Moment;
use super::connection::{self, Answer};
use super::connection_metrics::{ConnectionMetrics, HandshakeResult};
use super::descriptors;
use super::drain::{Drain, Stage};

/// After the last stage of a drain, how long requests in flight still have.
const ABORT_AFTER: Duration = Duration::from_secs(1);
/// A drained backlog of more than this is an attack or a mistake; the kernel's default bound is 4096.
const BACKLOG: usize = 4096;

/// What a peer may take of the server, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Open connections. An API server keeps at most 25 idle; 1,024 at 45 KiB each are 45 MiB.
    pub max_connections: usize,
    /// Handshakes at a time. One costs as much CPU as a dozen requests, so that a flood of them must not starve what is open.
    pub max_handshakes: usize,
    /// From accept to the end of the handshake. The API server itself gives up after 10 s.
    pub handshake_timeout: Duration,
    /// From the handshake, or from a request's first byte, to the end of the request's head.
    pub head_timeout: Duration,
    /// Between requests. Must be longer than the 90 s for which the API server keeps connections: it has to be the one to close.
    pub idle_timeout: Duration,
    /// How long a peer may take to close after the server has said its last word.
    pub linger_timeout: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            max_handshakes: 64,
            handshake_timeout: Duration::from_secs(5),
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(120),
            linger_timeout: Duration::from_secs(1),
        }
    }
}

impl ConnectionLimits {
    /// No more connections than the process has file descriptors for, with some kept for everything else: when they run out, not
    /// even probes could be answered.
    #[must_use]
    pub fn within_descriptors(mut self) -> Self {
        let affordable = descriptors::affordable(self.max_connections);
        if affordable < self.max_connections {
            tracing::warn!(
                wanted = self.max_connections,
                affordable,
                "--max-connections is lowered to what the limit of open files (ulimit -n) allows"
            );
            self.max_connections = affordable;
        }
        self
    }

    pub(super) fn allowed(&self, moment: Moment) -> Duration {
        match moment {
            Moment::Fresh | Moment::Head => self.head_timeout,
            // Bounded by the body's deadline and the decision's; this is only the net below them.
            Moment::Answering | Moment::Idle => self.idle_timeout,
            Moment::Ending => self.linger_timeout,
        }
    }
}

/// A bound socket and what it takes to serve it.
pub struct Listener {
    tcp: TcpListener,
    tls: Option<TlsAcceptor>,
    limits: Arc<ConnectionLimits>,
    connections: Arc<Semaphore>,
    handshakes: Arc<Semaphore>,
    metrics: ConnectionMetrics,
}

impl Listener {
    /// Binds `address`. Without `tls` it speaks plain HTTP.
    ///
    /// # Errors
    /// What the operating system says.
    pub async fn bind(
        address: SocketAddr,
        tls: Option<TlsAcceptor>,
        limits: ConnectionLimits,
        metrics: ConnectionMetrics,
    ) -> io::Result<Self> {
        Ok(Self {
            tcp: TcpListener::bind(address).await?,
            tls,
            connections: Arc::new(Semaphore::new(limits.max_connections)),
            handshakes: Arc::new(Semaphore::new(limits.max_handshakes)),
            limits: Arc::new(limits),
            metrics,
        })
    }

    /// Where it listens; the port that was chosen if the port asked for was 0.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Serves until the drain is done and every connection has ended. Returns how many had to be cut.
    pub async fn serve<A: Answer>(self, answer: A, mut drain: Drain) -> usize {
        let mut tasks = JoinSet::new();
        let mut backoff = Backoff::default();
        let mut last_call = drain.clone();
        loop {
            tokio::select! {
                biased;
                _ = last_call.reached(Stage::LastCall) => break,
                Some(ended) = tasks.join_next(), if !tasks.is_empty() => self.reap(ended),
                accepted = self.tcp.accept() => match accepted {
                    Ok((socket, _)) => {
                        backoff.reset();
                        self.welcome(socket, &answer, &drain, &mut tasks);
                    }
                    Err(error) if is_of_one_connection(&error) => {}
                    Err(error) => {
                        let pause = backoff.next();
                        self.metrics.accept_errors.inc();
                        tracing::warn!(%error, ?pause, "cannot accept connections");
                        tokio::select! {
                            () = sleep(pause) => {}
                            _ = last_call.reached(Stage::LastCall) => break,
                        }
                    }
                }
            }
        }
        self.empty_backlog(&answer, &drain, &mut tasks).await;
        let Self { tcp, metrics, .. } = self;
        drop(tcp);
        finish(tasks, &metrics, &mut drain).await
    }

    /// Connections that the kernel has completed belong to clients who think that they are connected.
    async fn empty_backlog<A: Answer>(&self, answer: &A, drain: &Drain, tasks: &mut JoinSet<()>) {
        for _ in 0..BACKLOG {
            let accepted = std::future::poll_fn(|cx| match self.tcp.poll_accept(cx) {
                Poll::Ready(Ok((socket, _))) => Poll::Ready(Some(socket)),
                Poll::Ready(Err(_)) | Poll::Pending => Poll::Ready(None),
            });
            let Some(socket) = accepted.await else { return };
            self.welcome(socket, answer, drain, tasks);
        }
    }

    fn welcome<A: Answer>(&self, socket: TcpStream, answer: &A, drain: &Drain, tasks: &mut JoinSet<()>) {
        let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() else {
            // Refused before any work is done for it.
            self.metrics.refused.inc();
            return;
        };
        // Answers are one write each; waiting to fill a packet would only delay them.
        let _ = socket.set_nodelay(true);
        let (limits, metrics, answer, drain) =
            (Arc::clone(&self.limits), self.metrics.clone(), answer.clone(), drain.clone());
        match &self.tls {
            None => tasks.spawn(async move {
                let _open = Open::new(permit, &metrics);
                metrics.ended(connection::serve(socket, &limits, drain, answer).await);
            }),
            Some(tls) => {
                let (tls, handshakes) = (tls.clone(), Arc::clone(&self.handshakes));
                tasks.spawn(async move {
                    let _open = Open::new(permit, &metrics);
                    match shake_hands(socket, &tls, &handshakes, limits.handshake_timeout).await {
                        Ok(stream) => {
                            metrics.handshake(HandshakeResult::Success);
                            metrics.ended(connection::serve(stream, &limits, drain, answer).await);
                        }
                        Err((result, error)) => {
                            metrics.handshake(result);
                            tracing::debug!(result = result.as_str(), error, "TLS handshake failed");
                        }
                    }
                })
            }
        };
    }

    fn reap(&self, ended: Result<(), JoinError>) {
        reap(ended, &self.metrics);
    }
}

/// Handles a connection's task that has ended.
fn reap(ended: Result<(), JoinError>, metrics: &ConnectionMetrics) {
    if let Err(error) = ended
        && error.is_panic()
    {
        // The panic's message may quote an object; the hook has logged its place.
        metrics.panics.inc();
        tracing::error!("a connection ended by a panic");
    }
}

/// Waits for all connections; cuts what is left a little after the drain's last stage.
async fn finish(mut tasks: JoinSet<()>, metrics: &ConnectionMetrics, drain: &mut Drain) -> usize {
    loop {
        tokio::select! {
            biased;
            ended = tasks.join_next() => match ended {
                Some(ended) => reap(ended, metrics),
                None => return 0,
            },
            _ = drain.reached(Stage::Aborting) => break,
        }
    }
    let end = Instant::now() + ABORT_AFTER;
    while let Ok(ended) = timeout_at(end, tasks.join_next()).await {
        match ended {
            Some(ended) => reap(ended, metrics),
            None => return 0,
        }
    }
    let cut = tasks.len();
    tasks.shutdown().await;
    cut
}

async fn shake_hands(
    socket: TcpStream,
    tls: &TlsAcceptor,
    handshakes: &Semaphore,
    limit: Duration,
) -> Result<TlsStream<TcpStream>, (HandshakeResult, String)> {
    let handshake = async {
        // A peer that says nothing must not take a place from those who do.
        socket.readable().await?;
        let _place = handshakes.acquire().await.map_err(io::Error::other)?;
        tls.accept(socket).await
    };
    match timeout(limit, handshake).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err((HandshakeResult::of(&error), error.to_string())),
        Err(_) => Err((HandshakeResult::Timeout, format!("not complete within {limit:?}"))),
    }
}

/// A connection's place among the permitted ones.
struct Open<'m> {
    _permit: OwnedSemaphorePermit,
    metrics: &'m ConnectionMetrics,
}

impl<'m> Open<'m> {
    fn new(permit: OwnedSemaphorePermit, metrics: &'m ConnectionMetrics) -> Self {
        metrics.open.inc();
        Self { _permit: permit, metrics }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.metrics.open.dec();
    }
}

/// Whether an accept error is about the connection that was to be accepted, not about the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

/// Pauses after errors such as "too many open files", which last: 50, 100, 200, 400, 500, 500 … ms.
#[derive(Debug, Default)]
struct Backoff {
    failures: u32,
}

impl Backoff {
    fn next(&mut self) -> Duration {
        let pause = Duration::from_millis(50) * (1 << self.failures.min(4));
        self.failures += 1;
        pause.min(Duration::from_millis(500))
    }

    fn reset(&mut self) {
        self.failures = 0;
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("tcp", &self.tcp)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_errors_are_paused_for_longer_and_longer_up_to_half_a_second() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..6).map(|_| backoff.next().as_millis()).collect();
        assert_eq!(pauses, [50, 100, 200, 400, 500, 500]);
        backoff.reset();
        assert_eq!(backoff.next().as_millis(), 50);
    }
}
