//! ANALYZE: a table's rows are read once, by columns, and statistics are made of them.
//!
//! ```text
//!   rows in the order of the primary key
//!     ├──▶ Distinct for each column and index prefix    counts distinct values of all rows
//!     └──▶ Sample                                       keeps a random part of the rows
//!             └──▶ values of a column ──▶ common values, histogram, correlation
//! ```
//!
//! What it does not do: read a part of the rows only. The number of rows is exact.
//!
//! Rules: memory is bounded by the sample's limits and one sketch for each column; every batch
//! gives way to others and may be cancelled.

mod column;
mod counts;
mod distinct;
mod run;
mod sample;
mod sizes;

pub use run::analyze;
pub(crate) use run::{named, run};
pub(crate) use sizes::set_sizes;
