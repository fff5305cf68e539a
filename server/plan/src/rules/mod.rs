//! Rewrites of a bound plan: the same rows, less work.
//!
//! ```text
//! plain policies into their scans → EXISTS without its list → dates and times of one type
//!   → NULLs that decide → unnest subqueries → factor ORs
//!   → push filters down, leaky conditions not through barriers
//!   → semi joins with one match become inner → counts of rows → prune, if the plan only reads
//!   → first rows of joins → order joins → choose indexes and methods → unions of scans
//!   → use order → lock while scanning
//!   → drop what a partial index implies → prune → rows that workers share → members of jsonb
//! ```

mod barriers;
mod choices;
mod choose_index;
mod conditions;
mod cost;
mod estimate;
mod interleave_joins;
mod join_methods;
mod lock_scans;
mod order;
mod order_joins;
mod parallel;
mod partial_indexes;
mod partitions;
mod pipeline;
mod prune;
mod push_filters;
mod spans;
mod unique_semi_joins;
mod unnest;
pub(crate) mod walk;

pub use conditions::cannot_fail::cannot_fail;
pub(crate) use conditions::null_operands;
pub(crate) use estimate::rows as planned_rows;
pub(crate) use estimate::values::put as put_values;
pub(crate) use pipeline::optimize;
pub(crate) use push_filters::rejects_null;
pub(crate) use spans::candidate::covers;
