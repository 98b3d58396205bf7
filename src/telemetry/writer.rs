//! A log writer that never makes the server wait: lines go to a thread over a bounded queue, and what does not fit is counted.

use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// Bytes that may wait, some ten thousand lines: names come from requests and have no bound of their own.
const QUEUE_BYTES: usize = 4 << 20;

/// How long the last lines may take to be written.
const LAST_LINES: Duration = Duration::from_secs(2);

/// What a line that waits takes besides its text.
const LINE_BYTES: usize = 64;

enum Item {
    Line(Vec<u8>),
    /// Write what is there and end.
    End,
}

/// Where log lines go.
#[derive(Clone, Debug)]
pub(super) struct LineWriter {
    tx: Sender<Item>,
    dropped: Arc<AtomicU64>,
    /// Bytes that wait.
    waiting: Arc<AtomicUsize>,
}

/// Keeps the writing thread; dropping it writes what is left.
#[derive(Debug)]
pub struct LogGuard {
    tx: Sender<Item>,
    /// Closed when the thread ends.
    ended: Receiver<Infallible>,
}

impl LineWriter {
    /// Starts the thread that writes to `out`.
    pub(super) fn start(out: impl Write + Send + 'static) -> io::Result<(Self, LogGuard)> {
        // Bounded by `waiting`: a channel with a bound of its own takes the memory for all of its lines at once.
        let (tx, rx) = channel();
        let dropped = Arc::new(AtomicU64::new(0));
        let waiting = Arc::new(AtomicUsize::new(0));
        let (running, ended) = channel();
        std::thread::Builder::new().name("log".to_owned()).spawn({
            let (dropped, waiting) = (Arc::clone(&dropped), Arc::clone(&waiting));
            move || {
                let _running = running;
                write_lines(out, &rx, &dropped, &waiting);
            }
        })?;
        let guard = LogGuard { tx: tx.clone(), ended };
        Ok((Self { tx, dropped, waiting }, guard))
    }
}

fn write_lines(mut out: impl Write, rx: &Receiver<Item>, dropped: &AtomicU64, waiting: &AtomicUsize) {
    while let Ok(Item::Line(line)) = rx.recv() {
        // There is nobody to tell about a log that cannot be written.
        let _ = out.write_all(&line);
        waiting.fetch_sub(line.len() + LINE_BYTES, Relaxed);
        let lost = dropped.swap(0, Relaxed);
        if lost > 0 {
            let _ = writeln!(out, "{{\"level\":\"WARN\",\"message\":\"{lost} log lines were lost\"}}");
        }
        let _ = out.flush();
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        // An output that is stuck must not keep the process from ending.
        if self.tx.send(Item::End).is_ok() {
            let _ = self.ended.recv_timeout(LAST_LINES);
        }
    }
}

/// One line in the making.
pub(super) struct Line<'w> {
    writer: &'w LineWriter,
    line: Vec<u8>,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        let line = std::mem::take(&mut self.line);
        let (waiting, length) = (&self.writer.waiting, line.len() + LINE_BYTES);
        if waiting.fetch_add(length, Relaxed).saturating_add(length) > QUEUE_BYTES {
            waiting.fetch_sub(length, Relaxed);
            self.writer.dropped.fetch_add(1, Relaxed);
            return;
        }
        // The thread lives as long as there is a writer.
        let _ = self.writer.tx.send(Item::Line(line));
    }
}

impl<'w> MakeWriter<'w> for LineWriter {
    type Writer = Line<'w>;

    fn make_writer(&'w self) -> Self::Writer {
        Line { writer: self, line: Vec::with_capacity(256) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_come_out_in_order_before_the_guard_is_gone() {
        let out = Shared::default();
        let (writer, guard) = LineWriter::start(out.clone()).unwrap();
        for n in 0..100 {
            writeln!(writer.make_writer(), "{n}").unwrap();
        }
        drop(guard);
        let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
        assert_eq!(
            text.lines().map(|line| line.parse().unwrap()).collect::<Vec<usize>>(),
            (0..100).collect::<Vec<_>>()
        );
    }

    /// Blocks until it is told to go on.
    struct Blocked(Receiver<()>);

    impl Write for Blocked {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn long_lines_that_wait_are_bounded_by_their_bytes() {
        let (go, blocked) = channel();
        let (writer, guard) = LineWriter::start(Blocked(blocked)).unwrap();
        let line = vec![b'x'; (1 << 20) - LINE_BYTES];
        for _ in 0..100 {
            writer.make_writer().write_all(&line).unwrap();
        }
        assert_eq!(writer.dropped.load(Relaxed), 96);
        assert_eq!(writer.waiting.load(Relaxed), QUEUE_BYTES);
        drop(go);
        drop(guard);
        assert_eq!(writer.waiting.load(Relaxed), 0);
    }

    #[test]
    fn a_blocked_output_costs_lines_but_no_time() {
        let (go, blocked) = channel();
        let (writer, guard) = LineWriter::start(Blocked(blocked)).unwrap();
        for _ in 0..QUEUE_BYTES / (LINE_BYTES + 1) + 100 {
            writer.make_writer().write_all(b"x").unwrap();
        }
        assert!(writer.dropped.load(Relaxed) >= 98);
        // Nor does it keep the process.
        drop(guard);
        drop(go);
    }
}
