//! The tests that run the server as its users do: a process, reached over the network.
//!
//! They are one binary, because each binary links the server's crates again. `cargo test -p braid
//! --test it -- golden::` runs one topic. Tests of moments and time limits are in `timing`, a
//! binary of their own, so that no other test takes their processor time.

mod dump;
mod house;
mod plans;
mod protocol;
mod schema;
mod sql;
mod transactions;
