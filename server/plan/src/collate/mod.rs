//! Collations of expressions, and comparisons by them.
//!
//! Binding knows no collations: it marks `COLLATE` with a call of `braid_collate`. Before the rules
//! run, this pass finds the collation of each expression as PostgreSQL does, takes the marks away,
//! and puts sort keys where a collation of ICU decides an order:
//!
//! ```text
//! a < 'ö'                      braid_sort_key(a, 'sv') < braid_sort_key('ö', 'sv')
//! ORDER BY a                   ORDER BY braid_sort_key(a, 'sv')
//! min(a)                       braid_sorted_text(min(braid_sort_key(a, 'sv')))
//! a = 'ö'   deterministic      a = 'ö'
//!           nondeterministic   braid_equality_key(a, '…') = braid_equality_key('ö', '…')
//! ```
//!
//! So the rules, the operators and the stores compare bytes only. An index whose key has a
//! collation has such a call as its key, which the rules match as any expression.
//!
//! Rules that must always hold:
//! - a plan without `COLLATE` and without columns with a collation is not looked at.
//! - each expression is looked through once: a second pass would not see `COLLATE` any more.
//! - what compares texts and is not known here must be refused, never run with bytes.

mod assign;
mod assigner;
mod collation;
mod derived;
mod exprs;
mod functions;
mod groups;
mod keys;
mod mark;
mod nodes;
mod rows;

pub(crate) use assign::{
    assign_collations_over, assign_expr_collations, assign_plan_collations, collation_over,
};
pub use collation::{Collation, Icu, collation_named, stored_collation};
pub(crate) use mark::mark;
pub(crate) use rows::is_collated_row;
