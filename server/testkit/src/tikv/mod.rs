//! The TiKV stand-in.

pub mod engine;
mod clock;
mod cluster;
mod faults;
mod keys;
mod waits;
