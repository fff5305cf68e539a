//! PostgreSQL's regular expressions: patterns compiled and matched.
//!
//! Here: the translation to the `regex` crates (`pattern`) and how far a match reaches (`extent`).
//! Not here: the functions and operators of SQL that use them (`builtins`).

mod extent;
mod pattern;

pub use extent::Groups;
pub use pattern::{Flags, Pattern, compile};
