use std::fs;
use std::time::Instant as Clock;

use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::super::change::Snapshot;
use super::super::directory::tests::{rule, rules};
use super::*;

/// How long a test waits for what must come; a machine under load is slow.
const DEADLINE: Duration = Duration::from_secs(20);

struct Watched {
    changes: mpsc::Receiver<Change>,
    task: JoinHandle<()>,
}

impl Watched {
    async fn start(path: &Path, options: WatchOptions) -> Self {
        let source = DirectorySource::open([path.to_owned()]).unwrap();
        let (sender, changes) = mpsc::channel(1);
        let task = tokio::spawn(async move { watch(source, options, sender).await.unwrap() });
        Self { changes, task }
    }

    /// By signs of the system alone.
    async fn by_signs(path: &Path) -> Self {
        Self::start(path, WatchOptions { poll: Duration::from_secs(3600), ..WatchOptions::default() }).await
    }

    /// Waits for a snapshot with exactly these rules.
    async fn until(&mut self, wanted: &[&str]) -> Arc<Snapshot> {
        let end = Instant::now() + DEADLINE;
        let mut last = Vec::new();
        loop {
            match timeout_at(end, self.changes.recv()).await {
                Ok(Some(Change::Reset(snapshot))) => {
                    last = rules(&snapshot);
                    if last == wanted {
                        return snapshot;
                    }
                }
                Ok(other) => panic!("unexpected {other:?}"),
                Err(_) => panic!("waited for {wanted:?}, last seen {last:?}"),
            }
        }
    }

    async fn stop(self) {
        drop(self.changes);
        tokio::time::timeout(DEADLINE, self.task).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn all_objects_come_at_the_start_and_the_task_ends_with_its_receiver() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a.yaml"), rule("a", "one")).unwrap();
    let mut watched = Watched::by_signs(directory.path()).await;
    watched.until(&["a: one"]).await;
    watched.stop().await;
}

#[tokio::test]
async fn a_file_that_is_written_added_or_deleted_is_taken_up() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("a.yaml"), rule("a", "one")).unwrap();
    let mut watched = Watched::by_signs(directory.path()).await;
    watched.until(&["a: one"]).await;
    let started = Clock::now();
    fs::write(path("a.yaml"), rule("a", "two")).unwrap();
    watched.until(&["a: two"]).await;
    let took = started.elapsed();
    fs::write(path("b.yaml"), rule("b", "one")).unwrap();
    watched.until(&["a: two", "b: one"]).await;
    fs::remove_file(path("a.yaml")).unwrap();
    watched.until(&["b: one"]).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn a_directory_made_later_is_watched_too() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a.yaml"), rule("a", "one")).unwrap();
    let mut watched = Watched::by_signs(directory.path()).await;
    watched.until(&["a: one"]).await;
    let sub = directory.path().join("sub");
    for round in ["one", "two"] {
        fs::create_dir(&sub).unwrap();
        fs::write(sub.join("b.yaml"), rule("b", round)).unwrap();
        watched.until(&["a: one", &format!("b: {round}")]).await;
        fs::write(sub.join("b.yaml"), rule("b", "again")).unwrap();
        watched.until(&["a: one", "b: again"]).await;
        fs::remove_dir_all(&sub).unwrap();
        watched.until(&["a: one"]).await;
    }
}

#[tokio::test]
async fn an_editor_that_renames_and_replaces_is_followed_again_and_again() {
    for named in ["", "a.yaml"] {
        let directory = TempDir::new().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("a.yaml"), rule("a", "zero")).unwrap();
        let mut watched = Watched::by_signs(&directory.path().join(named)).await;
        watched.until(&["a: zero"]).await;
        for round in ["one", "two", "three"] {
            fs::rename(path("a.yaml"), path("a.yaml~")).unwrap();
            fs::write(path("4913"), rule("a", round)).unwrap();
            fs::rename(path("4913"), path("a.yaml")).unwrap();
            watched.until(&[&format!("a: {round}")]).await;
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_swap_of_a_mounted_config_map_is_followed_twice_in_a_row() {
    for named in ["", "a.yaml"] {
        let directory = TempDir::new().unwrap();
        let path = |name: &str| directory.path().join(name);
        let swap = |version: &str| {
            let hidden = format!("..{version}");
            fs::create_dir(path(&hidden)).unwrap();
            fs::write(path(&hidden).join("a.yaml"), rule("a", version)).unwrap();
            std::os::unix::fs::symlink(&hidden, path("..data_tmp")).unwrap();
            let old = fs::read_link(path("..data")).ok();
            fs::rename(path("..data_tmp"), path("..data")).unwrap();
            if let Some(old) = old {
                fs::remove_dir_all(directory.path().join(old)).unwrap();
            }
        };
        swap("zero");
        std::os::unix::fs::symlink("..data/a.yaml", path("a.yaml")).unwrap();
        let mut watched = Watched::by_signs(&directory.path().join(named)).await;
        watched.until(&["a: zero"]).await;
        for round in ["one", "two", "three"] {
            swap(round);
            let snapshot = watched.until(&[&format!("a: {round}")]).await;
            assert_eq!(snapshot.diagnostics, []);
        }
    }
}

#[tokio::test]
async fn a_file_broken_while_running_keeps_its_rules_until_it_is_mended() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.yaml");
    fs::write(&path, rule("a", "one")).unwrap();
    let mut watched = Watched::by_signs(directory.path()).await;
    watched.until(&["a: one"]).await;
    fs::write(&path, "spec: [").unwrap();
    let snapshot = watched.until(&["a: one"]).await;
    assert_eq!((snapshot.broken_files, snapshot.diagnostics.len()), (1, 1));
    fs::write(&path, rule("a", "two")).unwrap();
    assert_eq!(watched.until(&["a: two"]).await.broken_files, 0);
}

#[tokio::test]
async fn many_writes_in_a_row_are_few_changes() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.yaml");
    fs::write(&path, rule("a", "start")).unwrap();
    let mut watched = Watched::by_signs(directory.path()).await;
    watched.until(&["a: start"]).await;
    for round in 0..200 {
        fs::write(&path, rule("a", &format!("v{round}"))).unwrap();
    }
    let end = Instant::now() + DEADLINE;
    let mut seen = 0;
    loop {
        let Ok(Some(Change::Reset(snapshot))) = timeout_at(end, watched.changes.recv()).await else {
            panic!("the last write was never seen")
        };
        seen += 1;
        if rules(&snapshot) == ["a: v199"] {
            break;
        }
    }
    assert!(seen < 20, "{seen} changes for 200 writes");
}

#[cfg(unix)]
#[tokio::test]
async fn a_change_that_gives_no_sign_is_found_by_the_poll() {
    let (directory, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let target = elsewhere.path().join("a.yaml");
    fs::write(&target, rule("a", "one")).unwrap();
    // Of a file behind a link only the link is watched.
    std::os::unix::fs::symlink(&target, directory.path().join("a.yaml")).unwrap();
    let options = WatchOptions { poll: Duration::from_millis(20), ..WatchOptions::default() };
    let mut watched = Watched::start(directory.path(), options).await;
    watched.until(&["a: one"]).await;
    fs::write(&target, rule("a", "two")).unwrap();
    watched.until(&["a: two"]).await;
    watched.stop().await;
}

#[tokio::test]
async fn reading_the_files_is_no_sign_of_a_change() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.yaml");
    fs::write(&path, rule("a", "one")).unwrap();
    let mut source = DirectorySource::open([directory.path().to_owned()]).unwrap();
    let (sign, mut signs) = mpsc::channel(1);
    let mut eyes = Eyes::default();
    assert!(eyes.open(&source, &sign));
    source.scan();
    fs::read(&path).unwrap();
    // The next sign must be that of the write, not of the reads before it.
    let quiet = tokio::time::timeout(Duration::from_millis(300), signs.recv()).await;
    assert!(quiet.is_err(), "a read gave a sign");
    fs::write(&path, rule("a", "two")).unwrap();
    assert_eq!(tokio::time::timeout(DEADLINE, signs.recv()).await.unwrap(), Some(()));
}
