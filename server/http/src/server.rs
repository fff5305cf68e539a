//! The socket: accepting, reading a request's head, answering, closing.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::request;
use crate::respond::{Response, respond};
use crate::watched::Watched;

/// The longest request head.
pub const REQUEST_BYTES_MAX: usize = 8 << 10;
/// How long a request may take, its answer included.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The most connections at a time; more are closed at once.
pub const CONNECTIONS_MAX: usize = 64;

/// An open HTTP socket.
pub struct HttpServer {
    socket: TcpListener,
    watched: Arc<Watched>,
}

impl HttpServer {
    /// Opens the socket; port 0 picks a free one.
    pub async fn bind(address: SocketAddr, watched: Arc<Watched>) -> io::Result<HttpServer> {
        Ok(HttpServer { socket: TcpListener::bind(address).await?, watched })
    }

    /// The address that was bound.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Answers requests for ever.
    pub async fn run(self) {
        let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            match self.socket.accept().await {
                Ok((socket, _)) => {
                    let Ok(permit) = permits.clone().try_acquire_owned() else { continue };
                    let watched = self.watched.clone();
                    tokio::spawn(async move {
                        // A client that is slow or gone gets no answer; nobody else is concerned.
                        tokio::time::timeout(REQUEST_TIMEOUT, answer(socket, &watched)).await.ok();
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "could not accept an HTTP connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

async fn answer(mut socket: TcpStream, watched: &Watched) -> io::Result<()> {
    let mut head = Vec::with_capacity(1024);
    while !request::is_whole(&head) {
        if head.len() >= REQUEST_BYTES_MAX || socket.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    let parsed = request::parse(&head).filter(|_| request::is_whole(&head));
    let (response, head_only) = match &parsed {
        Some(request) => (respond(request, watched), request.method == "HEAD"),
        None => (Response::bad_request(), false),
    };
    socket.write_all(&response.into_bytes(head_only)).await?;
    socket.shutdown().await
}
