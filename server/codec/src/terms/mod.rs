//! Terms: what an inverted index has entries of.
//!
//! ```text
//!   value      {"tags": ["a", "b"], "n": 1}      terms_of ▶ K tags, K a, K b, K n, N 1
//!   condition  @> {"tags": ["a"]}                wanted   ▶ K tags and K a
//! ```
//!
//! A value has each of its terms once, in no order that matters. [`TermClass`] says what terms are:
//! it is what an operator class is in SQL.
//!
//! Rules that must always hold:
//!
//! - If a condition holds for a value, the value has the terms that [`wanted`] asks for. The other
//!   way round need not be true, so a reader checks the condition again.
//! - Equal values have equal terms: `1` and `1.0` in `jsonb` are one.
//! - A term never changes its bytes, since indexes have them on disk.

mod array;
mod bytes;
mod class;
mod extract;
mod jsonb;
mod lexeme;
mod path;
mod query;
pub mod trigram;
mod wanted;

pub use bytes::Term;
pub use class::{TermClass, has_terms};
pub use extract::terms_of;
pub use query::TermQuery;
pub use wanted::{TermOperator, wanted};
