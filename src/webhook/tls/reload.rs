//! Replacing the pair when its files change.
//!
//! Kubernetes replaces a Secret volume by renaming a symlink in the directory: whoever watches the file itself sees nothing of that, so
//! the directory is watched. And because a watch can be lost, the files are also read now and then.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::CertResolver;
use super::metrics::TlsMetrics;
use super::pair::{CertFiles, PairText};
use crate::webhook::drain::{Drain, Stage};

/// How often the files are read without being told to.
const POLL: Duration = Duration::from_secs(10);
/// Certificate and key are two files: after the first event the other one's is awaited for so long.
const SETTLE: Duration = Duration::from_millis(50);

/// Keeps a [`CertResolver`] at what the files hold.
#[derive(Debug)]
pub struct Reloader {
    files: CertFiles,
    resolver: Arc<CertResolver>,
    metrics: TlsMetrics,
    /// What was tried last, successfully or not.
    tried: Option<PairText>,
    /// The files could not be read, and that was said.
    is_unreadable: bool,
    poll: Duration,
}

impl Reloader {
    /// Loads the pair that the server begins with.
    ///
    /// # Errors
    /// When there is none: a server without a certificate cannot serve.
    pub fn start(
        files: CertFiles,
        metrics: TlsMetrics,
    ) -> Result<(Self, Arc<CertResolver>), super::TlsError> {
        let text = files.read()?;
        let pair = files.parse(&text)?;
        metrics.show(&pair);
        if let Err(reason) = pair.check_dates(super::pair::unix_now()) {
            tracing::warn!(cert = %files.cert.display(), "{reason}");
        }
        let resolver = CertResolver::new(pair);
        let reloader = Self {
            files,
            resolver: Arc::clone(&resolver),
            metrics,
            tried: Some(text),
            is_unreadable: false,
            poll: POLL,
        };
        Ok((reloader, resolver))
    }

    /// Reads the files so often without being told to.
    #[must_use]
    pub fn with_poll(mut self, poll: Duration) -> Self {
        self.poll = poll;
        self
    }

    /// Follows the files until connections are being closed.
    pub async fn run(mut self, mut drain: Drain) {
        tokio::select! {
            () = self.follow() => {}
            _ = drain.reached(Stage::Closing) => {}
        }
    }

    async fn follow(&mut self) {
        let (tx, mut changes) = mpsc::channel(1);
        // Held for as long as it shall watch.
        let _watcher = match watch(&self.files, tx) {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                tracing::warn!(%error, every = ?self.poll, "cannot watch the certificate's directory; polling only");
                None
            }
        };
        loop {
            // Without a watcher the channel is closed, and only the time passes.
            match timeout(self.poll, changes.recv()).await {
                Ok(Some(())) => sleep(SETTLE).await,
                Ok(None) => sleep(self.poll).await,
                Err(_) => {}
            }
            while changes.try_recv().is_ok() {}
            self.look().await;
        }
    }

    async fn look(&mut self) {
        let files = self.files.clone();
        let read = tokio::task::spawn_blocking(move || files.read()).await;
        let text = match read {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => {
                if !self.is_unreadable {
                    self.is_unreadable = true;
                    self.metrics.failed(&error);
                    tracing::error!(%error, "the certificate in use is kept");
                }
                return;
            }
            // The runtime is going down.
            Err(_) => return,
        };
        self.is_unreadable = false;
        if self.tried.as_ref() == Some(&text) {
            return;
        }
        match self.files.parse(&text) {
            Ok(pair) => {
                tracing::info!(cert = %self.files.cert.display(), not_after = pair.not_after(), "certificate reloaded");
                if let Err(reason) = pair.check_dates(super::pair::unix_now()) {
                    tracing::warn!(cert = %self.files.cert.display(), "{reason}");
                }
                self.metrics.reloaded(&pair);
                self.resolver.replace(pair);
            }
            Err(error) => {
                self.metrics.failed(&error);
                tracing::error!(%error, "the certificate in use is kept");
            }
        }
        self.tried = Some(text);
    }
}

/// Tells `tx` of any change in the directories of the files. One message is enough for many changes.
fn watch(files: &CertFiles, tx: mpsc::Sender<()>) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Our own reading is no change; everything else, errors too, is a reason to look.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            let _ = tx.try_send(());
        }
    })?;
    for directory in
        [&files.cert, &files.key].map(|file| directory_of(file)).into_iter().collect::<BTreeSet<_>>()
    {
        watcher.watch(&directory, RecursiveMode::NonRecursive)?;
    }
    Ok(watcher)
}

fn directory_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
