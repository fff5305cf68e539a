//! The protocol: a stock client, and random messages.

mod fuzz_messages;
mod other_client;
