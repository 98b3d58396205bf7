//! Where evaluations go that would hold up the accept threads.
//!
//! A few at a time, each on one of the lane's own threads: what the allocator keeps of a large document is used again for the next. Whoever waits has a deadline, and it is the only bound of the queue: a review that will not get its
//! turn in time is sent away at once, while its caller can still come back, instead of being answered when nobody listens any more.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

/// The newest evaluation's weight in the average, as a divisor.
const SMOOTHING: u64 = 4;

/// Of each thread; as much as any thread that decides has. Memory is only taken where a thread has been.
const STACK_BYTES: usize = 16 << 20;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Debug)]
pub(super) struct SlowLane {
    jobs: Sender<Job>,
    places: Arc<Semaphore>,
    /// How many run at a time.
    width: usize,
    /// Those that run or wait.
    inside: AtomicUsize,
    /// What an evaluation took of late, in microseconds.
    typical: AtomicU64,
}

/// There is no answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Late;

impl SlowLane {
    pub(super) fn new(width: usize) -> Self {
        let (jobs, waiting) = channel::<Job>();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..width {
            let waiting = Arc::clone(&waiting);
            // It ends with the lane, as soon as the last job is done, whose caller has gone by then. Where no thread can be had, jobs find none to
            // take them, and are sent away.
            let _ =
                Builder::new().name("slow".to_owned()).stack_size(STACK_BYTES).spawn(move || work(&waiting));
        }
        Self {
            jobs,
            places: Arc::new(Semaphore::new(width)),
            width,
            inside: AtomicUsize::new(0),
            typical: AtomicU64::new(0),
        }
    }

    /// Does `work` on a thread where it may take its time. It is handed what tells it to stop: when this future is dropped, since the caller has gone.
    ///
    /// # Errors
    /// When it cannot be expected to be done by `deadline`.
    pub(super) async fn run<T, W>(&self, deadline: Instant, work: W) -> Result<T, Late>
    where
        T: Send + 'static,
        W: FnOnce(&(dyn Fn() -> bool + Sync)) -> T + Send + 'static,
    {
        let ahead = self.inside.fetch_add(1, Relaxed);
        let _inside = Inside(&self.inside);
        let typical = Duration::from_micros(self.typical.load(Relaxed));
        // Whoever finds nobody is let in whatever the average says: it would never change otherwise.
        let turns = u32::try_from(ahead / self.width + 1).unwrap_or(u32::MAX);
        if ahead >= self.width && Instant::now() + typical.saturating_mul(turns) > deadline {
            return Err(Late);
        }
        let latest = deadline.checked_sub(typical).unwrap_or(deadline);
        let Ok(Ok(place)) = timeout_at(latest, Arc::clone(&self.places).acquire_owned()).await else {
            return Err(Late);
        };
        let gone = Arc::new(AtomicBool::new(false));
        let _caller = Caller(Arc::clone(&gone));
        let (tx, done) = oneshot::channel();
        let job: Job = Box::new(move || {
            let began = Instant::now();
            let result = work(&|| gone.load(Relaxed));
            drop(place);
            let _ = tx.send((result, began.elapsed()));
        });
        self.jobs.send(job).map_err(|_| Late)?;
        let (result, elapsed) = done.await.map_err(|_| Late)?;
        self.learn(elapsed);
        Ok(result)
    }

    fn learn(&self, elapsed: Duration) {
        let elapsed = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let before = self.typical.load(Relaxed);
        self.typical.store(before - before / SMOOTHING + elapsed / SMOOTHING, Relaxed);
    }
}

/// What each thread does, until the lane is gone.
fn work(waiting: &Mutex<Receiver<Job>>) {
    loop {
        // Held while it waits: the next thread in turn waits for the lock instead.
        let Ok(next) = waiting.lock().map(|waiting| waiting.recv()) else { return };
        let Ok(job) = next else { return };
        // Jobs answer for their own panics; one that got this far must not end the thread.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}

struct Inside<'l>(&'l AtomicUsize);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Says so when nobody waits for the result any more.
struct Caller(Arc<AtomicBool>);

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn what_cannot_be_done_in_time_is_sent_away_at_once() {
        let lane = SlowLane::new(1);
        let takes = |millis: u64| {
            move |_: &(dyn Fn() -> bool + Sync)| std::thread::sleep(Duration::from_millis(millis))
        };
        for _ in 0..8 {
            lane.run(Instant::now() + LONG, takes(100)).await.unwrap();
        }
        let soon = || Instant::now() + Duration::from_millis(150);
        let (first, second) = tokio::join!(lane.run(soon(), takes(100)), async {
            let began = Instant::now();
            (lane.run(soon(), takes(0)).await, began.elapsed())
        });
        assert_eq!(first, Ok(()));
        assert_eq!(second.0, Err(Late));
        assert!(second.1 < Duration::from_millis(50), "{:?}", second.1);
        // Alone, it is let in even when it is not expected to be in time.
        assert_eq!(lane.run(Instant::now() + Duration::from_millis(1), takes(0)).await, Ok(()));
        assert_eq!(lane.inside.load(Relaxed), 0);
    }

    #[tokio::test]
    async fn whoever_waits_is_sent_away_when_it_is_too_late_to_begin() {
        let lane = SlowLane::new(1);
        let (release, held) = channel::<()>();
        let (first, ()) =
            tokio::join!(lane.run(Instant::now() + LONG, move |_| held.recv().is_ok()), async {
                let deadline = Instant::now() + Duration::from_millis(50);
                assert_eq!(lane.run(deadline, |_| ()).await, Err(Late));
                release.send(()).unwrap();
            });
        assert_eq!(first, Ok(true));
    }

    #[tokio::test]
    async fn work_is_told_when_its_caller_has_gone() {
        let lane = SlowLane::new(1);
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (stopped, has_stopped) = tokio::sync::oneshot::channel();
        let running = lane.run(Instant::now() + LONG, move |gone| {
            let _ = begun.send(());
            while !gone() {
                std::thread::yield_now();
            }
            let _ = stopped.send(());
        });
        tokio::select! {
            _ = running => panic!("it ended by itself"),
            begun = has_begun => begun.unwrap(),
        }
        has_stopped.await.unwrap();
        // And the place is free again.
        assert_eq!(lane.run(Instant::now() + LONG, |_| 1).await, Ok(1));
    }
}
