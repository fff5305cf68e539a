//! Tests of the kv contract that every store has to pass. A crate of a store includes this folder
//! and gives `super::database()`: an empty database, and what has to live as long as it.

#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod helpers;
mod many;
mod reads;
mod writes;
