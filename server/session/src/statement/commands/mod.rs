//! Statements without a plan: definitions, transaction control, two-phase commit, settings, SHOW,
//! LOCK TABLE.

pub(crate) mod check_table;
pub(crate) mod ddl;
pub(crate) mod dispatch;
pub(crate) mod explain;
pub(crate) mod lock_table;
pub(crate) mod prepared_transactions;
pub(crate) mod savepoints;
pub(crate) mod settings;
pub(crate) mod show;
pub(crate) mod transaction_control;
