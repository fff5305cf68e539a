//! A view's query with ids in place of names: what `CREATE VIEW` stores. Expressions of tables are
//! stored in the same form (`stored_exprs`).
//!
//! The query is bound once, with notes on what its names mean and which types its parts have
//! (`bind::notes`). Then it is written again from its syntax and the notes, in the form that
//! `braid_sql`'s module `deparse` describes: `*` is written out, names are numbers, every literal
//! and every implicit cast has its type. The result is bound again and has to have the same
//! columns.
//!
//! ```text
//!   syntax ── bind ── notes ──┐
//!     └───────────────────────┴─ Identifier ── stored syntax ── text ── bind, to compare
//! ```
//!
//! What is not here: how the stored form is shown with names (`braid_sql`), and what may be dropped
//! (`exec`).

mod comparisons;
mod exprs;
mod from;
mod functions;
mod identifier;
mod literals;
mod operators;
mod queries;
mod rows;
mod stored_exprs;
mod stored_query;
mod syntax;

pub use stored_exprs::{identify_expr, identify_policy, identify_when};
pub use stored_query::identify;
