//! Protocol messages, sent and shown one by one.

pub mod connection;
pub mod show;
