//! The PostgreSQL protocol, version 3.0: from bytes on a socket to calls of a session and back.
//!
//! ```text
//! listener ── one task a connection ──► startup (TLS, SCRAM) ──► connection (message loop)
//!                                                                  │ frontend: frames to messages
//!                                                                  │ session:  what they mean
//!                                                                  ▼ backend:  results to bytes
//!                                                                 channel (buffers, flushing)
//! ```
//!
//! What is here: framing, limits, TLS, the authentication messages, the order of replies, when
//! bytes leave. What is not: what a statement does (`session`).
//!
//! Rules that must always hold:
//! - nothing leaves before Sync, Flush, an error or the end of a simple query, unless the buffer is
//!   full;
//! - after an error in the extended protocol every message up to Sync is skipped;
//! - a frame's length is checked before its bytes are waited for, so that no client can make the
//!   server keep more than [`Limits::message_bytes_max`];
//! - a panic in a session becomes XX000 on that connection, which is then closed.
//!
//! The codec is our own: the one of pgwire 0.42 replaces invalid UTF-8 silently and panics on a
//! message that is shorter than its fields.

mod backend;
mod channel;
mod connection;
mod encode;
mod frontend;
mod listener;
mod socket;
mod startup;
mod tls;

pub use listener::{Limits, Listener, ListenerOptions};
pub use tls::{TlsError, load_tls};

/// Reading of client messages, for tests and fuzzing.
pub mod messages {
    pub use crate::frontend::{Bind, Frontend, Header, Startup, parse_startup};
    pub use braid_session::Target;
}
