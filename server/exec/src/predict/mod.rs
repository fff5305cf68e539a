//! What a statement may read and write, told before it runs.
//!
//! [`predict_spans`] walks a plan with its parameters and gives two span sets. A key that is
//! fixed by constants or parameters is one key; what cannot be known before the run is the
//! whole index. The sets cover everything: scans, rows behind index entries, checks of unique
//! keys and of foreign keys in both directions, rows and index entries written.
//!
//! ```text
//!   INSERT INTO leg (id, account) VALUES (7, 1)
//!     reads   /leg/primary/7  /account/primary/1      writes  /leg/primary/7
//!   UPDATE account SET balance = 5 WHERE id = 2
//!     reads   /account/primary/2                      writes  /account/primary/2
//! ```
//!
//! Two statements of which neither reads or writes what the other writes give the same results
//! in any order, or side by side. A statement whose effect depends on time or order
//! (`nextval`, `clock_timestamp`) is *ordered*: it comes after all earlier ones and before all
//! later ones.
//!
//! What it does not do: wait, or fail. A value that cannot be computed now (it divides by zero,
//! say) only makes the sets wider; the error belongs to the run.
//!
//! Rules that must always hold: whatever the run reads, locks or writes of tables is in
//! the sets, for every outcome of the statements before it.

mod access;
mod cascade;
mod change;
mod check;
mod collector;
mod keys;
mod print;
mod spans;
mod values;
mod walk;

pub use spans::{Dependency, StatementSpans};
pub use walk::predict_spans;

pub(crate) use check::{compare, prediction};
pub(crate) use print::span_texts;
