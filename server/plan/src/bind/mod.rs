//! From syntax to plans with slots: names looked up, types decided, privileges checked.
//!
//! One file a statement kind or clause. What is not here: which index, which join method, which
//! order (`rules`).

mod binder;
mod bound_statement;
mod change;
mod domain;
mod expr;
mod from;
mod note_taking;
mod partitions;
mod query;
mod refusals;
mod routine;
mod scope;
mod statement;
mod stored;

pub(crate) use crate::collate::mark;
pub use binder::Refresh;
pub(crate) use binder::{Binder, defining};
pub(crate) use bound_statement::BoundStatement;
pub use change::triggers::ConditionReads;
pub(crate) use change::triggers::{TriggerRows, condition_reads};
pub use domain::{bind_domain_check, bind_domain_condition, bind_parts_check};
pub(crate) use expr::common_type::common_type;
pub use expr::data_type::{
    TypeNames, built_in_type, domain_of, more_dimensions_of, sql_type_of, time_modifier_of,
};
pub(crate) use expr::data_type::{interval_modifier, literal_type_of};
pub(crate) use expr::literal::string_of;
pub(crate) use expr::operators::{coerce, in_set};
pub(crate) use expr::scalar::call_function;
pub(crate) use expr::scalar::op_name;
pub(crate) use expr::window::range_offset_type;
pub(crate) use from::security::{bind_policy_to_store, check_policy};
pub use partitions::condition::bind_partition_condition;
pub(crate) use query::ordered::bind_query;
pub use refusals::{NoStoredForm, NotAllowedIn, NotAssignable, NotGrouped};
pub use routine::{FoundPart, find_part, is_same_binary};
pub use scope::names::column_name;
pub(crate) use scope::names::item_name;
pub(crate) use scope::notes::{ItemNote, Notes, Reference, RoutineNote, StarColumn};
pub(crate) use statement::{bind_call, bind_function_call, bind_statement};
pub use stored::{
    bind_assignment_cast, bind_default, bind_index_exprs, bind_scalar, bind_table_expr,
    check_written_expr, expr_collation,
};
pub(crate) use stored::{bind_to_store, stored_type};
