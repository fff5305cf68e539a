//! Passwords: SCRAM-SHA-256 secrets and the exchange that proves a password.
//!
//! ```text
//!   CREATE ROLE … PASSWORD ──▶ scram_secret ──▶ the role's descriptor
//!                                                      │ ScramSecret::parse
//!   a client ◀── first, finish ──▶ ScramExchange ◀─────┘
//! ```
//!
//! What it does not do: carry messages (`wire`), keep roles (`catalog`), decide who may connect
//! (`server`).
//!
//! Rules that must always hold:
//! - a password is never stored nor logged;
//! - a proof is compared in constant time;
//! - a role that does not exist gets the same exchange as one that does, and fails at its end.

mod base64;
mod crypto;
mod exchange;
mod secret;

pub use exchange::ScramExchange;
pub use secret::{ScramSecret, is_secret, salt, scram_secret};
