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

/// Statements that take less time go without a look, and clients that send ahead are looked at this
/// often.
const WATCH_EVERY: Duration = Duration::from_millis(50);

/// A connected socket.
pub(crate) struct Socket(Arc<TcpStream>);

/// Looks at a socket without reading from it.
pub(crate) struct Watch {
    stream: Arc<TcpStream>,
    /// Statements share it: to set a new one for each costs more than a short statement does.
    timer: Pin<Box<Sleep>>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream) -> Socket {
        Socket(Arc::new(stream))
    }

    pub(crate) fn watch(&self) -> Watch {
        Watch { stream: self.0.clone(), timer: Box::pin(tokio::time::sleep(WATCH_EVERY)) }
    }
}

impl Watch {
    /// Waits until the client has closed its side or the connection is broken. Bytes that it has
    /// sent before are of no account.
    pub(crate) async fn gone(&mut self) {
        loop {
            self.pause().await;
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

    /// Waits for the whole time: what the client has just sent, such as its farewell, may be read
    /// meanwhile. The timer may be set for another end.
    async fn pause(&mut self) {
        let end = Instant::now() + WATCH_EVERY;
        loop {
            self.timer.as_mut().await;
            if Instant::now() >= end {
                return;
            }
            self.timer.as_mut().reset(end);
        }
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

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn what_a_client_sends_before_it_goes_can_be_read_first() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(address).await.expect("a connection");
        let (stream, _) = listener.accept().await.expect("the same connection");
        let mut watch = Socket::new(stream).watch();
        let gone = tokio::spawn(async move {
            watch.gone().await;
            Instant::now()
        });
        // The first look is over, and the next event is awaited.
        tokio::time::sleep(WATCH_EVERY * 2).await;
        let sent = Instant::now();
        client.write_all(b"X").await.expect("a byte");
        client.shutdown().await.expect("an end");
        let noticed = gone.await.expect("the watch ends");
        assert!(noticed.duration_since(sent) >= WATCH_EVERY);
    }
}
