//! A log writer that never makes the server wait: lines go to a thread over a bounded queue, and what does not fit is counted.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use tracing_subscriber::fmt::MakeWriter;

/// Lines that may wait: 8,192 of about 300 bytes are 2.4 MiB.
const QUEUE_LINES: usize = 8192;

/// Bytes that may wait: names come from requests and have no bound of their own.
const QUEUE_BYTES: usize = 16 << 20;

enum Item {
    Line(Vec<u8>),
    /// Write what is there and end.
    End,
}

/// Where log lines go.
#[derive(Clone, Debug)]
pub(super) struct LineWriter {
    tx: SyncSender<Item>,
    dropped: Arc<AtomicU64>,
    /// Bytes that wait.
    waiting: Arc<AtomicUsize>,
}

/// Keeps the writing thread; dropping it writes what is left.
#[derive(Debug)]
pub struct LogGuard {
    tx: SyncSender<Item>,
    thread: Option<JoinHandle<()>>,
}

impl LineWriter {
    /// Starts the thread that writes to `out`.
    pub(super) fn start(out: impl Write + Send + 'static) -> io::Result<(Self, LogGuard)> {
        let (tx, rx) = sync_channel(QUEUE_LINES);
        let dropped = Arc::new(AtomicU64::new(0));
        let waiting = Arc::new(AtomicUsize::new(0));
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn({
            let (dropped, waiting) = (Arc::clone(&dropped), Arc::clone(&waiting));
            move || write_lines(out, &rx, &dropped, &waiting)
        })?;
        let guard = LogGuard { tx: tx.clone(), thread: Some(thread) };
        Ok((Self { tx, dropped, waiting }, guard))
    }
}

fn write_lines(mut out: impl Write, rx: &Receiver<Item>, dropped: &AtomicU64, waiting: &AtomicUsize) {
    while let Ok(Item::Line(line)) = rx.recv() {
        // There is nobody to tell about a log that cannot be written.
        let _ = out.write_all(&line);
        waiting.fetch_sub(line.len(), Relaxed);
        let lost = dropped.swap(0, Relaxed);
        if lost > 0 {
            let _ = writeln!(out, "{{\"level\":\"WARN\",\"message\":\"{lost} log lines were lost\"}}");
        }
        let _ = out.flush();
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        // A writer that is stuck must not keep the process from ending.
        if self.tx.try_send(Item::End).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
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
        let (waiting, length) = (&self.writer.waiting, line.len());
        let fits = waiting.fetch_add(length, Relaxed).saturating_add(length) <= QUEUE_BYTES;
        if !fits || matches!(self.writer.tx.try_send(Item::Line(line)), Err(TrySendError::Full(_))) {
            waiting.fetch_sub(length, Relaxed);
            self.writer.dropped.fetch_add(1, Relaxed);
        }
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
        let line = vec![b'x'; 1 << 20];
        for _ in 0..100 {
            writer.make_writer().write_all(&line).unwrap();
        }
        assert_eq!(writer.dropped.load(Relaxed), 84);
        assert_eq!(writer.waiting.load(Relaxed), QUEUE_BYTES);
        drop(go);
        drop(guard);
        assert_eq!(writer.waiting.load(Relaxed), 0);
    }

    #[test]
    fn a_blocked_output_costs_lines_but_no_time() {
        let (go, blocked) = channel();
        let (writer, _guard) = LineWriter::start(Blocked(blocked)).unwrap();
        for _ in 0..QUEUE_LINES + 100 {
            writeln!(writer.make_writer(), "x").unwrap();
        }
        assert!(writer.dropped.load(Relaxed) >= 98);
        drop(go);
    }
}
