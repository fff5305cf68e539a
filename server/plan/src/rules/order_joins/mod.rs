//! The order of joins: the cheapest tree over up to ten inputs, a greedy one over more.
//!
//! ```text
//!   run         a tree of joins is taken apart into inputs and conditions
//!   sizes       how many rows the join of some of the inputs has
//!   rebuild     the tree of joins that was found
//!   search      which inputs are joined first, and which of two sides is the right one
//!   interleaved which joins are one pass over a common range
//!   set         some of the inputs
//! ```
//!
//! Inner joins are reordered freely. The right side of a left, semi or anti join keeps its
//! condition and stays on the right. It is joined at any time after the inputs that its condition
//! reads, since it neither drops nor changes what the other joins see of those inputs:
//!
//! ```text
//!   (a ⟕ b ON a.x = b.x) ⋈ c ON a.y = c.y    =    (a ⋈ c ON a.y = c.y) ⟕ b ON a.x = b.x
//! ```
//!
//! All other operators, LATERAL, and right and full joins are single inputs.
//!
//! Rules: conditions of inner joins are checked as soon as both sides have what they read.
//! Equalities that follow from others (`a = b AND b = c`) are used only where none that was
//! written joins the two sides. Planning work is bounded: see [`search`].

mod interleaved;
mod rebuild;
mod run;
mod search;
mod set;
mod sizes;

pub(crate) use rebuild::apply;
pub(crate) use run::is_transitive;
pub(crate) use search::reads_table;
