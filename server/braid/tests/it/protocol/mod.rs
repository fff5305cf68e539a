//! Protocol messages, sent and shown one by one, and what drivers say in them.

pub mod connection;
mod exported;
mod observed;
pub mod show;
mod user_types;
