//! Queries: WITH, SELECT with its clauses, set operations, and row locks.

pub(crate) mod group;
pub(crate) mod lock;
pub(crate) mod nested_clauses;
pub(crate) mod ordered;
pub(crate) mod output;
pub(crate) mod recursion;
pub(crate) mod search_cycle;
pub(crate) mod select;
pub(crate) mod set_operation;
pub(crate) mod with;
pub(crate) mod with_order;
