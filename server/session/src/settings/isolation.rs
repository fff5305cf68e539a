//! Isolation levels as settings write them.

use braid_sql::ast::IsolationLevel;

/// An isolation level as SHOW prints it.
pub(crate) fn isolation_text(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::ReadUncommitted => "read uncommitted",
        IsolationLevel::ReadCommitted => "read committed",
        IsolationLevel::RepeatableRead => "repeatable read",
        IsolationLevel::Serializable => "serializable",
    }
}

/// The level that a setting's value names.
pub(crate) fn isolation_of(text: &str) -> IsolationLevel {
    match text {
        "read uncommitted" => IsolationLevel::ReadUncommitted,
        "read committed" => IsolationLevel::ReadCommitted,
        "repeatable read" => IsolationLevel::RepeatableRead,
        _ => IsolationLevel::Serializable,
    }
}
