//! PostgreSQL's regular expressions: patterns compiled and matched.
//!
//! Here: the translation to the `regex` crates (`pattern`), how far a match reaches (`extent`), and
//! what its groups are (`division`).
//! Not here: the functions and operators of SQL that use them (`builtins`).

mod division;
mod extent;
mod matcher;
mod pattern;
mod preference;

pub use matcher::Groups;
pub use pattern::{Flags, Pattern, compile};
