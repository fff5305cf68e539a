//! Interleaved tables and indexes: how their keys are laid out below the rows of other tables.

mod layout;
mod path;
mod tables;

pub use path::{KeyPath, path_shape};
pub use tables::{InterleavedTables, owner_of};
