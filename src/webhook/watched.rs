//! The byte stream below HTTP: notes when something arrives, and ends without losing what was written.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::activity::{Activity, Moment};

/// Reads thrown away in one go before other tasks get their turn.
const DISCARDS_PER_POLL: usize = 32;

/// A stream that can be read below its encryption once nobody cares about the content.
pub(super) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {
    fn socket(&mut self) -> &mut TcpStream;
}

impl Transport for TcpStream {
    fn socket(&mut self) -> &mut TcpStream {
        self
    }
}

impl Transport for TlsStream<TcpStream> {
    fn socket(&mut self) -> &mut TcpStream {
        self.get_mut().0
    }
}

/// A [`Transport`] whose shutdown lingers: it says that nothing more is coming and then throws away what still arrives, until the
/// peer closes too. Closing with unread data would make the kernel send a reset, and a peer that is still sending a body
/// would see a broken connection and not the answer. The connection's deadline for [`Moment::Ending`] bounds it.
#[derive(Debug)]
pub(super) struct Watched<T> {
    inner: T,
    activity: Arc<Activity>,
    is_shut_down: bool,
}

impl<T> Watched<T> {
    pub(super) fn new(inner: T, activity: Arc<Activity>) -> Self {
        Self { inner, activity, is_shut_down: false }
    }
}

impl<T: Transport> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        if buf.filled().len() > before {
            self.activity.received();
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: Transport> AsyncWrite for Watched<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut_down {
            if self.activity.moment() != Moment::Ending {
                self.activity.enter(Moment::Ending);
            }
            ready!(Pin::new(&mut self.inner).poll_shutdown(cx))?;
            self.is_shut_down = true;
        }
        let mut discarded = [0; 16 * 1024];
        for _ in 0..DISCARDS_PER_POLL {
            let mut buf = ReadBuf::new(&mut discarded);
            match ready!(Pin::new(self.inner.socket()).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {}
                // The end, or a reset: the peer is gone either way, and the answer was delivered or cannot be.
                Ok(()) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
