//! Who may connect: SCRAM-SHA-256 secrets and the exchange that proves a password.
//!
//! Not here: the messages that carry it (`wire`), and where roles are kept (`catalog`).

mod scram;

pub use scram::{ScramExchange, ScramSecret, hash_password};
