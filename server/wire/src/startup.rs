//! From an accepted socket to a session: TLS, the startup packet, authentication.
//!
//! Not here: who may connect (`session`), and the messages after that (`connection`).
//!
//! Rules: nothing is allocated for a client beyond a message of 64 KiB before it has proved who it
//! is; the whole phase is bounded by [`crate::Limits::authentication_timeout`] (see `listener`).

use std::net::SocketAddr;
use std::sync::Arc;

use braid_server::{Authentication, Server};
use braid_session::{ConnectionLost, Session, SessionOptions, utf8};
use braid_types::{Error, Result};
use bytes::Bytes;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::backend;
use crate::channel::{Channel, Stream, lost};
use crate::frontend::{Frontend, Startup, parse_startup, protocol};
use crate::socket::Socket;

/// PostgreSQL's limit of a startup packet.
const STARTUP_BYTES_MAX: usize = 10_000;
/// A longer message of a client that has not proved who it is ends its connection.
const PASSWORD_BYTES_MAX: usize = 10_000;
const MECHANISM: &str = "SCRAM-SHA-256";

/// What became of a startup.
pub(crate) enum Outcome {
    /// A session.
    Open(Channel, Box<Session>),
    /// The client is to be told, then the connection closed.
    Refused(Channel, Error),
    /// The connection is to be closed without a word.
    Gone,
}

pub(crate) struct Context<'a> {
    pub server: &'a Arc<Server>,
    pub tls: Option<&'a TlsAcceptor>,
    pub peer: SocketAddr,
    pub local: Option<SocketAddr>,
    pub message_bytes_max: usize,
}

/// Runs the startup phase.
pub(crate) async fn start(socket: TcpStream, context: &Context<'_>) -> Outcome {
    let mut channel = Channel::new(Stream::Plain(Socket::new(socket)));
    let mut encrypted = false;
    loop {
        let body = match startup_frame(&mut channel).await {
            Ok(Some(body)) => body,
            Ok(None) => return Outcome::Gone,
            Err(error) if error.cause::<ConnectionLost>().is_some() => return Outcome::Gone,
            Err(error) => return Outcome::Refused(channel, error),
        };
        match parse_startup(&body) {
            Ok(Startup::Ssl) => match context.tls.filter(|_| !encrypted) {
                None => {
                    if !answer(&mut channel, b'N').await {
                        return Outcome::Gone;
                    }
                }
                Some(tls) => {
                    channel = match encrypt(channel, tls).await {
                        Some(channel) => channel,
                        None => return Outcome::Gone,
                    };
                    encrypted = true;
                }
            },
            Ok(Startup::Gss) => {
                if !answer(&mut channel, b'N').await {
                    return Outcome::Gone;
                }
            }
            Ok(Startup::Cancel { pid, secret }) => {
                context.server.cancel(pid, secret);
                return Outcome::Gone;
            }
            Ok(Startup::Session { minor, parameters }) => {
                return match open(&mut channel, context, encrypted, minor, parameters).await {
                    Ok(session) => Outcome::Open(channel, Box::new(session)),
                    Err(error) if error.cause::<ConnectionLost>().is_some() => Outcome::Gone,
                    Err(error) => Outcome::Refused(channel, error),
                };
            }
            Err(error) => return Outcome::Refused(channel, error),
        }
    }
}

async fn answer(channel: &mut Channel, byte: u8) -> bool {
    channel.out().push(byte);
    channel.send().await.is_ok()
}

async fn encrypt(mut channel: Channel, tls: &TlsAcceptor) -> Option<Channel> {
    // Bytes behind an SSLRequest could only come from someone in the middle.
    if channel.has_input() || !answer(&mut channel, b'S').await {
        return None;
    }
    let stream = tls.accept(channel.into_plain()?).await.ok()?;
    Some(Channel::new(Stream::Tls(Box::new(stream))))
}

async fn startup_frame(channel: &mut Channel) -> Result<Option<Bytes>> {
    loop {
        if let Some(body) = channel.startup_frame(STARTUP_BYTES_MAX)? {
            return Ok(Some(body));
        }
        if !channel.fill().await.map_err(|error| lost(&error))? {
            return Ok(None);
        }
    }
}

async fn open(
    channel: &mut Channel,
    context: &Context<'_>,
    encrypted: bool,
    minor: u16,
    parameters: Vec<(String, String)>,
) -> Result<Session> {
    let unknown: Vec<&str> = parameters
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| name.starts_with("_pq_."))
        .collect();
    if minor > 0 || !unknown.is_empty() {
        backend::negotiate_version(channel.out(), &unknown);
    }
    let mut options = SessionOptions::from_startup(&parameters, Some(context.peer), encrypted)?;
    options.local = context.local;
    let permit = context.server.admit()?;
    match context.server.authentication(&options).await? {
        Authentication::Trust => {}
        Authentication::Scram(exchange) => prove(channel, *exchange).await?,
    }
    let session = context.server.open_session(options, permit).await?;
    channel.set_message_bytes_max(context.message_bytes_max);
    let out = channel.out();
    backend::authentication(out, 0, &[]);
    for (name, value) in session.reported_settings() {
        backend::parameter_status(out, name, &value);
    }
    let key = session.backend_key();
    backend::backend_key(out, key.pid, key.secret);
    backend::ready_for_query(out, session.status().as_byte());
    channel.send().await.map_err(|error| lost(&error))?;
    Ok(session)
}

async fn password_message(channel: &mut Channel) -> Result<Bytes> {
    loop {
        if let Some(frame) = channel.frame()? {
            if frame.kind != b'p' || frame.body.len() > PASSWORD_BYTES_MAX {
                return Err(protocol(format!(
                    "expected SASL response, got message type {}",
                    frame.kind
                )));
            }
            return Ok(frame.body);
        }
        channel.send().await.map_err(|error| lost(&error))?;
        if !channel.fill().await.map_err(|error| lost(&error))? {
            return Err(lost(&"the client left during authentication"));
        }
    }
}

/// The messages of a SCRAM exchange.
async fn prove(channel: &mut Channel, mut exchange: braid_auth::ScramExchange) -> Result<()> {
    let mut mechanisms = MECHANISM.as_bytes().to_vec();
    mechanisms.extend([0, 0]);
    backend::authentication(channel.out(), 10, &mechanisms);
    let initial = password_message(channel).await?;
    let (mechanism, data) = sasl_initial(&initial)?;
    if mechanism != MECHANISM {
        return Err(protocol("client selected an invalid SASL authentication mechanism"));
    }
    let first = exchange.first(data)?;
    backend::authentication(channel.out(), 11, first.as_bytes());
    let last = password_message(channel).await?;
    let Frontend::Password(bytes) = Frontend::parse(b'p', &last)? else {
        return Err(protocol("expected SASL response"));
    };
    let last = exchange.finish(utf8(bytes)?)?;
    backend::authentication(channel.out(), 12, last.as_bytes());
    Ok(())
}

/// Mechanism and data of SASLInitialResponse.
fn sasl_initial(body: &[u8]) -> Result<(&str, &str)> {
    let malformed = || protocol("malformed SASL initial response");
    let end = body.iter().position(|byte| *byte == 0).ok_or_else(malformed)?;
    let mechanism = utf8(&body[..end])?;
    let (length, data) = body[end + 1..].split_first_chunk::<4>().ok_or_else(malformed)?;
    if usize::try_from(i32::from_be_bytes(*length)) != Ok(data.len()) {
        return Err(malformed());
    }
    Ok((mechanism, utf8(data)?))
}
