//! A socket that can be watched while a statement runs. The holder of a [`Watch`] learns that the
//! client has gone, so that the statement does not go on waiting for a lock.
//!
//! Not here: what a departure means (`connection`).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// How often it looks. Most statements that take less time go without a look.
const WATCH_EVERY: Duration = Duration::from_millis(50);

/// A connected socket.
pub(crate) struct Socket(Arc<TcpStream>);

/// Looks at a socket without reading from it.
pub(crate) struct Watch {
    stream: Arc<TcpStream>,
    /// When it looks next. Statements share the timer: a new one for each costs more than a short
    /// statement does.
    next_look: Pin<Box<Sleep>>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream) -> Socket {
        Socket(Arc::new(stream))
    }

    pub(crate) fn watch(&self) -> Watch {
        Watch { stream: self.0.clone(), next_look: Box::pin(tokio::time::sleep(WATCH_EVERY)) }
    }
}

impl Watch {
    /// Waits until the client has closed its side or the connection is broken. Bytes that it has
    /// sent before are of no account.
    pub(crate) async fn gone(&mut self) {
        // It may have ended while nobody waited for it.
        if self.next_look.is_elapsed() {
            self.delay();
        }
        loop {
            self.next_look.as_mut().await;
            self.delay();
            match self.stream.ready(Interest::READABLE).now_or_never() {
                Some(Ok(ready)) if ready.is_read_closed() || ready.is_error() => return,
                Some(Err(_)) => return,
                Some(Ok(_)) | None => {}
            }
            // While nothing has been sent ahead, the end of the stream is the next event.
            match self.stream.peek(&mut [0]).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    fn delay(&mut self) {
        self.next_look.as_mut().reset(Instant::now() + WATCH_EVERY);
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            // `try_read` would need a buffer of zeros: 4 KiB written for each message.
            match self.0.try_read_buf(buffer) {
                Ok(_) => return Poll::Ready(Ok(())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(socket2::SockRef::from(&*self.0).shutdown(std::net::Shutdown::Write))
    }
}
