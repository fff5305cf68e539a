//! Types whose values are held as texts, though they are something else.

pub mod bits;
pub mod citext;
pub mod hstore;
pub mod snapshot;
