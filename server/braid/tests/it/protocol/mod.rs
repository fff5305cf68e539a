//! Protocol messages, sent and shown one by one, and what drivers say in them.

pub mod connection;
pub mod show;
mod user_types;
