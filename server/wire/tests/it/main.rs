//! The protocol: a stock client, and random messages.

mod fuzz_messages;
mod pgwire_client;
