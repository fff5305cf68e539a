//! Accepting connections, bounding them, and ending them all.
//!
//! Rules: a connection that fails, panics or hangs affects no other; sockets that have not begun a
//! session are bounded in number and in time; [`Listener::run`] returns only when it has stopped
//! accepting and every connection has ended or the grace time is over.

use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use braid_server::Server;
use braid_session::Session;
use braid_types::{Error, SqlState};
use futures_util::FutureExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::channel::Channel;
use crate::startup::{self, Context, Outcome};
use crate::{backend, connection};

/// The most bytes of a connection's future, and of its session's. What is awaited seldom is boxed:
/// a connection keeps room for all else as long as it lasts.
const FUTURE_BYTES_MAX: usize = 4096;

/// Limits of the protocol, by name.
#[derive(Clone, Debug)]
pub struct Limits {
    /// `max_message_bytes`: a longer message ends its connection (08P01). Less is accepted before
    /// a client has proved who it is.
    pub message_bytes_max: usize,
    /// `authentication_timeout`: how long a client may take to begin its session.
    pub authentication_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { message_bytes_max: 64 << 20, authentication_timeout: Duration::from_secs(60) }
    }
}

/// Where and how to listen.
pub struct ListenerOptions {
    /// Certificate and key; without them TLS is not offered.
    pub tls: Option<TlsAcceptor>,
    /// The limits.
    pub limits: Limits,
}

/// An open listening socket.
pub struct Listener {
    socket: TcpListener,
    server: Arc<Server>,
    options: Arc<ListenerOptions>,
}

impl Listener {
    /// Opens the socket; port 0 picks a free one.
    pub async fn bind(
        address: SocketAddr,
        server: Arc<Server>,
        options: ListenerOptions,
    ) -> io::Result<Listener> {
        let socket = TcpListener::bind(address).await?;
        Ok(Listener { socket, server, options: Arc::new(options) })
    }

    /// The address that was bound.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Accepts until `stop` is done, then waits for the connections, at most `grace`.
    pub async fn run(self, stop: impl Future<Output = ()>, grace: Duration) {
        let mut tasks = JoinSet::new();
        // Sockets in their startup phase are cheap, but not free.
        let sockets_max = self.server.connections_max() * 2 + 64;
        let sockets = Arc::new(Semaphore::new(sockets_max));
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = self.socket.accept() => match accepted {
                    Ok((socket, peer)) => {
                        let Ok(permit) = Arc::clone(&sockets).try_acquire_owned() else {
                            continue;
                        };
                        let (server, options) = (self.server.clone(), self.options.clone());
                        tasks.spawn(small(async move {
                            serve(socket, peer, &server, &options).await;
                            drop(permit);
                        }));
                    }
                    Err(error) => {
                        // Out of file descriptors, most likely: let others finish first.
                        tracing::warn!(%error, "could not accept a connection");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
            }
        }
        drop(self.socket);
        self.server.end_sessions();
        let all = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_err() {
            tracing::warn!(connections = tasks.len(), "ending connections that did not finish");
            // What computes notices that it is to stop, not that nobody waits for it.
            self.server.stop_sessions();
            tasks.shutdown().await;
        }
    }
}

fn prepare(socket: &TcpStream) {
    // Without these the connection works all the same, only worse.
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "could not set TCP_NODELAY");
    }
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(60))
        .with_interval(Duration::from_secs(20));
    if let Err(error) = socket2::SockRef::from(socket).set_tcp_keepalive(&keepalive) {
        tracing::debug!(%error, "could not set keepalive");
    }
}

async fn serve(
    socket: TcpStream,
    peer: SocketAddr,
    server: &Arc<Server>,
    options: &ListenerOptions,
) {
    prepare(&socket);
    let context = Context {
        server,
        tls: options.tls.as_ref(),
        peer,
        local: socket.local_addr().ok(),
        message_bytes_max: options.limits.message_bytes_max,
    };
    let start = AssertUnwindSafe(startup::start(socket, &context)).catch_unwind();
    // A client that does not get to its session in time is dropped without a word, as PostgreSQL
    // does it.
    let outcome = match tokio::time::timeout(options.limits.authentication_timeout, start).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) | Err(_) => return,
    };
    match outcome {
        Outcome::Gone => {}
        Outcome::Refused(mut channel, error) => {
            tracing::debug!(%peer, code = error.state().code(), %error, "connection refused");
            fatal(&mut channel, &error).await;
        }
        Outcome::Open(channel, session) => {
            tracing::debug!(%peer, pid = session.backend_key().pid, "session begins");
            let (mut watch, terminator) = (channel.watch(), session.terminator());
            let life = Box::pin(small(live(channel, session)));
            terminator.attend(life, watch.gone()).await;
        }
    }
}

/// The same future. Each connection keeps its own for as long as it lasts.
fn small<F: Future>(work: F) -> F {
    debug_assert!(size_of::<F>() <= FUTURE_BYTES_MAX, "a future of {} bytes", size_of::<F>());
    work
}

/// A session from its beginning to its end.
async fn live(mut channel: Channel, mut session: Box<Session>) {
    let run = AssertUnwindSafe(connection::serve(&mut channel, &mut session));
    match run.catch_unwind().await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => fatal(&mut channel, &error).await,
        Err(_) => {
            let error = Error::new(
                SqlState::InternalError,
                "the server has met an internal error and closes this connection",
            );
            fatal(&mut channel, &error).await;
        }
    }
    Box::pin(session.close()).await;
    channel.shutdown().await;
}

async fn fatal(channel: &mut Channel, error: &Error) {
    channel.write(|out| backend::error(out, "FATAL", error));
    // The client may be gone; there is nobody else to tell.
    let goodbye = async {
        channel.send().await.ok();
        channel.shutdown().await;
    };
    tokio::time::timeout(Duration::from_secs(5), goodbye).await.ok();
}
