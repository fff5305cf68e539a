//! Subqueries become joins.
//!
//! ```text
//!   aggregates   a correlated scalar subquery of aggregates   → left join with groups, by cost
//!   semi_joins   EXISTS and IN in WHERE, and their negations  → semi and anti joins
//! ```

mod aggregates;
mod grouped;
mod never_null;
mod semi_joins;

pub use aggregates::apply as aggregates;
pub use semi_joins::apply as semi_joins;
