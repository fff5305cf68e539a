//! JSON values: `json` keeps its text, `jsonb` is normalised and compared as PostgreSQL does.
//!
//! Here: the value, its parser (`parse`), its text forms (`print`), its order (`order`) and the
//! cores of the operators and functions (`access`, [`edit`]). Not here: functions by name.
//!
//! Rules: only [`Json::Raw`] keeps text, and only for the `json` type; objects hold each key
//! once, shorter keys first, then by bytes; nesting is at most 1000 deep.

mod access;
mod assign;
pub mod edit;
mod order;
mod parse;
mod print;
mod value;

pub use assign::assign_path;
pub use print::quote;
pub use value::Json;
