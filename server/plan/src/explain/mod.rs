//! A plan that can be read: operators, what they do, and what they are expected to give.
//!
//! [`describe`] turns a plan that is laid out into [`Operator`]s; [`text`] and [`document()`] print
//! them in PostgreSQL's forms. Plans speak of positions, so names are found again on the way up:
//! each operator knows what its input's columns are called.
//!
//! ```text
//! Node ──describe──▶ Operator ──text, document──▶ lines   (exec adds spans and what was measured)
//! ```
//!
//! What it does not do: run anything or read a key; who has parameters hands the spans in.
//!
//! Rules that must always hold: the tree is walked by reference, so that [`Operator::node`] is
//! the address under which `exec` counted; a projection of plain columns is not shown, nor is
//! WITH itself (its entries stand under the statement).

mod deparse;
mod describe;
mod document;
mod join;
mod options;
mod render;
mod row_change;
mod steps;
mod unary;

pub use describe::{Describing, Operator, describe};
pub use options::ExplainOptions;
pub use render::{Actual, DiskUse, Measured, Summary, document, text};
pub(crate) use steps::Steps;
