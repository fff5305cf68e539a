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

mod access;
mod bind;
mod cascades;
pub mod eval;
pub mod explain;
mod expr;
mod identify;
mod layout;
mod memo;
mod node;
mod planned;
mod range_delete;
mod row_change;
mod row_lock;
mod rules;
mod sharing;
mod subscript;
mod visit;

pub use bind::{
    TypeNames, bind_assignment_cast, bind_default, bind_index_exprs, bind_scalar, bind_table_expr,
    built_in_type, column_name, more_dimensions_of, sql_type_of, time_modifier_of,
};
pub use cascades::{CascadeEffect, CascadeStep, CascadeTable, Cascades};
pub use expr::{
    CallExpr, CaseExpr, CastExpr, CompareOp, Expr, QuantifiedExpr, Slot, SubqueryExpr, SubqueryKind,
};
pub use identify::{identify, identify_expr};
pub use memo::Memo;
pub use node::*;
pub use planned::{OutputColumn, PlanContext, PlannedStatement, StatementKind, plan};
pub use range_delete::{RangeDelete, Refusal, range_delete};
pub use subscript::{Place, SubscriptExpr};
