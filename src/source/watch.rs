use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::change::Change;
use super::directory::DirectorySource;

/// How fast a change of a file is taken up.
#[derive(Clone, Copy, Debug)]
pub struct WatchOptions {
    /// How long the files must be quiet before they are read: an editor writes in several steps.
    pub quiet: Duration,
    /// How long to wait at most from the first sign of a change, whatever goes on.
    pub patience: Duration,
    /// How often the files are read without any sign: network file systems give none.
    pub poll: Duration,
    /// The same where the system cannot watch at all, or not all directories.
    pub blind_poll: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            patience: Duration::from_millis(500),
            poll: Duration::from_secs(10),
            blind_poll: Duration::from_millis(500),
        }
    }
}

/// Sends all objects of the source once at the start, and again after each change of a file, until nobody receives any
/// more. A change is taken up within a second.
///
/// # Errors
///
/// Reading the files panicked; the source is lost.
pub async fn watch(
    mut source: DirectorySource,
    options: WatchOptions,
    changes: mpsc::Sender<Change>,
) -> Result<(), tokio::task::JoinError> {
    // One sign is as good as many: what does not fit into the channel is dropped.
    let (sign, mut signs) = mpsc::channel(1);
    let mut eyes = Eyes::default();
    let mut send = true;
    loop {
        // Watch before the files are read again: what changes in between is seen by one or the other.
        if eyes.open(&source, &sign) {
            (source, send) = scan(source, send).await?;
        }
        if send && changes.send(Change::Reset(Arc::new(source.snapshot()))).await.is_err() {
            return Ok(());
        }
        let poll = Instant::now() + if eyes.blind { options.blind_poll } else { options.poll };
        tokio::select! {
            () = changes.closed() => return Ok(()),
            () = sleep_until(poll) => {}
            _ = signs.recv() => settle(&mut signs, options).await,
        }
        (source, send) = scan(source, false).await?;
    }
}

/// Waits until the files are quiet, or patience ends.
async fn settle(signs: &mut mpsc::Receiver<()>, options: WatchOptions) {
    let end = Instant::now() + options.patience;
    while Instant::now() < end {
        let quiet = end.min(Instant::now() + options.quiet);
        if timeout_at(quiet, signs.recv()).await.is_err() {
            return;
        }
    }
}

/// Reads the files on a thread that may block; says whether there is something to send.
async fn scan(
    mut source: DirectorySource,
    send: bool,
) -> Result<(DirectorySource, bool), tokio::task::JoinError> {
    tokio::task::spawn_blocking(move || {
        let changed = source.scan();
        (source, send || changed)
    })
    .await
}

/// The watches of the system. They follow directories, not files: a file that is replaced is another file, and of a
/// mounted ConfigMap only a link in the directory changes.
#[derive(Default)]
struct Eyes {
    watcher: Option<RecommendedWatcher>,
    /// What is watched, and which directory stood at the path then: one that was made anew needs a new watch.
    watched: BTreeMap<PathBuf, Option<(u64, u64)>>,
    /// Some directory cannot be watched.
    blind: bool,
}

impl Eyes {
    /// Watches the directories of the source; says whether they are others than before.
    fn open(&mut self, source: &DirectorySource, sign: &mpsc::Sender<()>) -> bool {
        let wanted: BTreeMap<_, _> = source.directories().iter().map(|d| (d.clone(), identity(d))).collect();
        if wanted == self.watched {
            return false;
        }
        self.watched = wanted;
        self.blind = false;
        let sign = sign.clone();
        let roots = Roots::new(source.roots());
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error, such as an overflow of the queue, is a reason to look as well.
            if event.as_ref().map_or(true, |event| roots.concern(event)) {
                let _ = sign.try_send(());
            }
        });
        self.watcher = match watcher {
            Ok(mut watcher) => {
                for directory in self.watched.keys() {
                    if let Err(error) = watcher.watch(directory, RecursiveMode::NonRecursive) {
                        self.blind = true;
                        tracing::warn!(directory = %directory.display(), %error, "cannot watch for changes; polling");
                    }
                }
                Some(watcher)
            }
            Err(error) => {
                self.blind = true;
                tracing::warn!(%error, "cannot watch for changes; polling");
                None
            }
        };
        true
    }
}

/// Tells signs that matter from others.
struct Roots {
    /// Paths that were named, and for a file its directory: a link beside it may lead to it.
    paths: Vec<PathBuf>,
}

impl Roots {
    fn new(roots: &[PathBuf]) -> Self {
        let near = |root: &PathBuf| {
            let root = std::path::absolute(root).unwrap_or_else(|_| root.clone());
            match root.parent() {
                Some(parent) if !root.is_dir() => parent.to_owned(),
                _ => root,
            }
        };
        Self { paths: roots.iter().map(near).collect() }
    }

    fn concern(&self, event: &Event) -> bool {
        // Our own reading must not wake us.
        let reading = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
            EventKind::Access(_) => true,
            _ => false,
        };
        let ours =
            |path: &PathBuf| self.paths.iter().any(|root| path.starts_with(root) || root.starts_with(path));
        !reading && (event.paths.is_empty() || event.paths.iter().any(ours))
    }
}

/// Which directory stands at a path, whatever it is called.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|_| (0, 0))
}

#[cfg(test)]
mod tests;
