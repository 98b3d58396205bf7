//! The way out: no request may fail because a replica is replaced.
//!
//! Closing a connection that a client is about to use is what loses requests, and only the client knows when it is. So the server
//! asks: while it drains, every answer carries `Connection: close`, and the clients move away one by one at a moment when
//! nothing is in flight. Only what is still idle at the very end is closed from here.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

/// How long a connection that nobody uses is kept after the listener was closed: a request may be on its way on it.
const LAST_CALL: Duration = Duration::from_millis(400);

/// The stages of a server's life, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Serving,
    /// Not ready. The listener is open, since load balancers need a while to hear of it; every answer closes its connection.
    Draining,
    /// The listener is closed; open connections are answered as before.
    LastCall,
    /// Idle connections are closed; requests in flight are finished.
    Closing,
    /// As Closing, but whatever is not done within a second is cut.
    Aborting,
}

/// How a drain is paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainSettings {
    /// How long new connections are accepted after the signal.
    pub window: Duration,
    /// From the signal until requests in flight are cut.
    pub grace: Duration,
}

impl Default for DrainSettings {
    fn default() -> Self {
        Self { window: Duration::from_secs(10), grace: Duration::from_secs(25) }
    }
}

/// Makes the pair: who moves the stage on, and who watches it.
pub fn drain() -> (DrainSwitch, Drain) {
    let (tx, rx) = watch::channel(Stage::Serving);
    (DrainSwitch { tx }, Drain { rx })
}

/// Moves the stage on, never back.
#[derive(Debug)]
pub struct DrainSwitch {
    tx: watch::Sender<Stage>,
}

impl DrainSwitch {
    pub fn advance(&self, stage: Stage) {
        self.tx.send_if_modified(|current| {
            let later = stage > *current;
            if later {
                *current = stage;
            }
            later
        });
    }

    /// Leads a server through its end: waits for the first item of `signals` and then moves from stage to stage. A second item cuts
    /// it short. Pends for ever after the last stage; whoever serves knows when everything is done.
    pub async fn conduct(&self, mut signals: mpsc::Receiver<&'static str>, settings: DrainSettings) {
        let Some(signal) = signals.recv().await else { return std::future::pending().await };
        let end = Instant::now() + settings.grace;
        tracing::info!(signal, window = ?settings.window, grace = ?settings.grace, "draining");
        self.advance(Stage::Draining);
        tokio::select! {
            () = self.wind_down(settings.window) => {}
            () = sleep_until(end) => tracing::warn!("the drain took its whole grace; cutting what is left"),
            Some(signal) = signals.recv() => tracing::warn!(signal, "second signal: stopping at once"),
        }
        self.advance(Stage::Aborting);
        std::future::pending().await
    }

    async fn wind_down(&self, window: Duration) {
        sleep(window).await;
        self.advance(Stage::LastCall);
        sleep(LAST_CALL).await;
        self.advance(Stage::Closing);
        std::future::pending().await
    }
}

/// Watches the stage.
#[derive(Clone, Debug)]
pub struct Drain {
    rx: watch::Receiver<Stage>,
}

impl Drain {
    pub fn stage(&self) -> Stage {
        *self.rx.borrow()
    }

    /// Whether answers have to close their connections.
    pub fn has_begun(&self) -> bool {
        self.stage() > Stage::Serving
    }

    /// Waits until the stage is `stage` or a later one. A switch that was dropped counts as Aborting: nobody is left who could end
    /// the server in order.
    pub async fn reached(&mut self, stage: Stage) -> Stage {
        match self.rx.wait_for(|current| *current >= stage).await {
            Ok(current) => *current,
            Err(_) => Stage::Aborting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_listener_stays_open_for_the_window_and_idle_connections_go_last() {
        let (switch, mut drain) = drain();
        let (tx, rx) = mpsc::channel(2);
        let settings = DrainSettings { window: Duration::from_secs(3), grace: Duration::from_secs(25) };
        let conductor = tokio::spawn(async move { switch.conduct(rx, settings).await });
        assert!(!drain.has_begun());
        let start = Instant::now();
        tx.send("SIGTERM").await.unwrap();
        assert_eq!(drain.reached(Stage::Draining).await, Stage::Draining);
        assert!(drain.has_begun());
        assert_eq!(drain.reached(Stage::LastCall).await, Stage::LastCall);
        assert_eq!(start.elapsed(), Duration::from_secs(3));
        assert_eq!(drain.reached(Stage::Closing).await, Stage::Closing);
        assert_eq!(drain.reached(Stage::Aborting).await, Stage::Aborting);
        assert_eq!(start.elapsed(), Duration::from_secs(25));
        conductor.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_signal_skips_the_window() {
        let (switch, mut drain) = drain();
        let (tx, rx) = mpsc::channel(2);
        let conductor = tokio::spawn(async move { switch.conduct(rx, DrainSettings::default()).await });
        let start = Instant::now();
        tx.send("SIGTERM").await.unwrap();
        tx.send("SIGINT").await.unwrap();
        drain.reached(Stage::Aborting).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        conductor.abort();
    }

    #[tokio::test]
    async fn stages_never_go_back() {
        let (switch, drain) = drain();
        switch.advance(Stage::Closing);
        switch.advance(Stage::Draining);
        assert_eq!(drain.stage(), Stage::Closing);
    }
}
