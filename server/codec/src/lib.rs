//! Datums to and from order-preserving keys and compact values.
//!
//! What is here: [`key`] (bytes that sort as the values sort, and a printer for humans) and
//! [`value`] (a row's other columns behind a small directory). What is not: which columns go where
//! (`catalog` knows), what a store does with the bytes (`kv` and the stores).
//!
//! ```text
//! key    table index column… [sentinel table index column…] [family]
//! value  flags first count [absent bits] [null bits] ends… cells…
//! ```
//!
//! Rules that must always hold:
//! - two encoded keys compare bytewise as their values compare in SQL, `NULL` after every value
//!   (before, when descending); equal values have equal keys.
//! - no encoded column is a prefix of another encoding of that column, so that a span
//!   `[prefix, prefix_end(prefix))` ([`braid_kv::prefix_end`]) holds the rows with that prefix and
//!   no others.
//! - `decode(encode(x)) = x` where [`key::is_exact`] says so, and always for cells.
//! - bytes that nobody wrote are an [`Error`], never a panic.

mod error;
pub mod key;
mod numeric;
pub mod terms;
pub mod value;

pub use error::{Error, Result};
