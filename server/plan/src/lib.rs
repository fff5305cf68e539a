//! Names and types bound, plans chosen, spans predicted.
//!
//! [`plan`] takes a parsed statement and gives a [`PlannedStatement`] that `exec` can run any
//! number of times with different parameters, as long as the catalog version stays the same.
//!
//! ```text
//! ast ──bind──▶ Node with slots ──rules──▶ Node with accesses and methods ──layout──▶ positions
//! ```
//!
//! What it does not do: read a row, wait for anything, or know about transactions.
//!
//! Rules that must always hold: a rule never changes the rows of a query; an expression that can
//! fail is never evaluated on more rows than SQL allows (CASE and COALESCE stay lazy).

mod aggregate;
mod bind;
mod collate;
mod context;
mod current_of;
pub mod eval;
pub mod explain;
mod identify;
mod implies;
mod layout;
mod memo;
mod planned;
pub mod pruning;
mod range_delete;
mod rules;
mod sharing;
mod tree;
mod verify;

pub use aggregate::{AggregateKind, UserAggregate};
pub use bind::{
    ConditionReads, FoundPart, NoStoredForm, NotAllowedIn, NotAssignable, NotGrouped, Refresh,
    TypeNames, bind_assignment_cast, bind_default, bind_domain_check, bind_domain_condition,
    bind_index_exprs, bind_partition_condition, bind_parts_check, bind_scalar, bind_table_expr,
    built_in_type, check_written_expr, column_name, domain_of, expr_collation, find_part,
    is_same_binary, more_dimensions_of, sql_type_of, time_modifier_of,
};
pub use collate::{Collation, Icu, collation_named, stored_collation};
pub use context::{OutputColumn, PlanContext, StatementKind, TransitionTable, Variable, Variables};
pub use current_of::{at_key, current_of, keyed_query, target_table, with_selection};
pub use identify::{identify, identify_expr, identify_policy, identify_when};
pub use memo::Memo;
pub use planned::{
    PlannedStatement, plan, plan_call, plan_definition, plan_for, plan_function_call, plan_refresh,
};
pub use range_delete::range_delete;
pub use rules::cannot_fail;
pub use tree::cascades::{CascadeEffect, CascadeMoves, CascadeStep, CascadeTable, Cascades};
pub use tree::expr::{
    CallExpr, CaseExpr, CastExpr, CompareOp, DomainExpr, DomainRules, Expr, LetExpr,
    QuantifiedExpr, RoutineExpr, Slot, SubqueryExpr, SubqueryKind,
};
pub use tree::node::*;
pub use tree::range::{RangeDelete, Refusal};
pub use tree::subscript::{Place, SubscriptExpr};
