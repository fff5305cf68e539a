//! Subqueries become joins.
//!
//! ```text
//!   exists_lists EXISTS (SELECT a, f(b) FROM t)               → its list is not computed
//!   aggregates   a correlated scalar subquery of aggregates   → left join with groups, by cost
//!   late_values  values with subqueries below a LIMIT       → computed for the rows it leaves
//!   semi_joins   EXISTS and IN in WHERE, and their negations  → semi and anti joins
//! ```

mod aggregates;
mod exists_lists;
mod grouped;
mod late_values;
mod semi_joins;

pub(crate) use aggregates::apply as aggregates;
pub(crate) use exists_lists::apply as exists_lists;
pub(crate) use late_values::apply as late_values;
pub(crate) use semi_joins::apply as semi_joins;
