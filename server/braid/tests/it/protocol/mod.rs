//! Protocol messages, sent and shown one by one, and what drivers say in them.

pub(crate) mod connection;
mod exported;
mod observed;
pub(crate) mod show;
mod user_types;
