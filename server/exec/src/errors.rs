//! kv errors as SQL errors, once.

use std::sync::Arc;

use braid_catalog::{Catalog, CatalogKeyNames};
use braid_kv::{DeadlockEdge, Error as Kv, LockStrength};
use braid_system_views::RuntimeInfo;
use braid_types::{Error, SqlState};

/// NOWAIT met a lock.
const NOT_OBTAINED: &str = "could not obtain lock on row";

/// The error that a client sees, with the kv error as its cause. Constraint violations get their
/// names where they are known.
pub fn from_kv(error: Kv) -> Error {
    shown(&error).caused_by(error)
}

fn shown(error: &Kv) -> Error {
    match error {
        Kv::Retry(conflict) => Error::new(
            SqlState::SerializationFailure,
            format!("restart transaction: {}", conflict.reason),
        )
        .detail(conflict.reason.as_str())
        .hint("Run the transaction again from its start."),
        Kv::LockTimeout { .. } => {
            Error::new(SqlState::LockNotAvailable, "canceling statement due to lock timeout")
        }
        Kv::LockNotAvailable { .. } => Error::new(SqlState::LockNotAvailable, NOT_OBTAINED),
        Kv::Deadlock { cycle } => {
            // At the commit, where no names are known; statements use `ExecContext::kv_error`.
            let lines: Vec<String> = cycle
                .iter()
                .map(|edge| {
                    format!("Transaction {} waits for transaction {}.", edge.waiter, edge.holder)
                })
                .collect();
            deadlock(lines)
        }
        Kv::LimitExceeded { name, limit } => limit_reached(name, *limit),
        Kv::Duplicate { .. } => {
            Error::new(SqlState::UniqueViolation, "duplicate key value violates unique constraint")
        }
        Kv::WrittenInside { .. } => Error::new(
            SqlState::TriggeredDataChangeViolation,
            "tuple to be updated was already modified by an operation triggered by the current \
             command",
        )
        .hint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows."),
        Kv::CheckChanged(_) => Error::new(
            SqlState::ForeignKeyViolation,
            "a row that a foreign key or unique constraint depends on has changed",
        ),
        Kv::SnapshotTooOld => Error::new(SqlState::SnapshotTooOld, "snapshot too old")
            .hint("Run the transaction again from its start."),
        Kv::Unknown => {
            Error::new(SqlState::StatementCompletionUnknown, "the outcome of the commit is unknown")
        }
        Kv::ReadOnly => {
            Error::new(SqlState::ReadOnlySqlTransaction, "cannot write in a read-only transaction")
        }
        Kv::Finished => Error::internal("the transaction has ended"),
        Kv::Cancelled => {
            Error::new(SqlState::QueryCanceled, "canceling statement due to user request")
        }
        Kv::Stopped(why) => {
            Error::new(SqlState::CannotConnectNow, format!("the store has stopped: {why}"))
                .hint("Start the server again; committed data is safe.")
        }
        Kv::DiskFull(what) => Error::new(SqlState::DiskFull, format!("disk full: {what}")).hint(
            "Free some space in the data folder's file system; the transaction was not \
                   committed and can be run again.",
        ),
        Kv::Corrupt(what) => Error::new(SqlState::DataCorrupted, format!("corrupt data: {what}")),
        Kv::Unreachable(why) => {
            Error::new(SqlState::SystemError, format!("the store is unreachable: {why}"))
                .hint("The server goes on trying; run the transaction again later.")
        }
        Kv::Storage(what) => Error::new(SqlState::IoError, format!("storage failure: {what}")),
    }
}

fn limit_reached(name: &str, limit: u64) -> Error {
    match name {
        "locks_max" => Error::new(SqlState::OutOfMemory, "too many row locks")
            .detail(format!("All transactions together hold locks_max ({limit}) locks."))
            .hint("Lock fewer rows at a time, or start the server with a larger --locks-max."),
        "temporary_memory_limit" => {
            Error::new(SqlState::OutOfMemory, "out of memory for temporary tables")
                .detail(format!(
                    "Temporary tables of this session may take {limit} bytes \
                     (temporary_memory_limit)."
                ))
                .hint("Delete rows of temporary tables, or raise temporary_memory_limit.")
        }
        _ => Error::new(SqlState::OutOfMemory, format!("limit \"{name}\" of {limit} reached"))
            .hint("Split the transaction into smaller ones, or raise the limit."),
    }
}

/// The same for a statement, which can name keys and sessions.
pub(crate) fn from_kv_named(error: Kv, catalog: &Arc<Catalog>, runtime: &dyn RuntimeInfo) -> Error {
    let Kv::Deadlock { cycle } = &error else { return from_kv(error) };
    let names = CatalogKeyNames(catalog.clone());
    let sessions = runtime.sessions();
    let process = |txn: braid_kv::TxnId| {
        let session = sessions.iter().find(|session| session.transaction == Some(txn.0));
        match session {
            Some(session) => format!("process {}", session.pid),
            None => format!("transaction {txn}"),
        }
    };
    let line = |edge: &DeadlockEdge| {
        let mode = match edge.strength {
            LockStrength::Shared => "ShareLock",
            LockStrength::Exclusive => "ExclusiveLock",
        };
        let (waiter, holder) = (process(edge.waiter), process(edge.holder));
        let key = braid_codec::key::print(&edge.key, &names);
        format!("{waiter} waits for {mode} on {key}; blocked by {holder}.").replacen('p', "P", 1)
    };
    deadlock(cycle.iter().map(line).collect()).caused_by(error.clone())
}

fn deadlock(lines: Vec<String>) -> Error {
    Error::new(SqlState::DeadlockDetected, "deadlock detected")
        .detail(lines.join("\n"))
        .hint("Run the transaction again from its start.")
}

/// NOWAIT's error with the relation's name, as PostgreSQL words it.
pub(crate) fn name_relation(error: Error, relation: &str) -> Error {
    match error.cause::<Kv>() {
        Some(Kv::LockNotAvailable { key }) => {
            let message = format!("{NOT_OBTAINED} in relation \"{relation}\"");
            let cause = Kv::LockNotAvailable { key: key.clone() };
            Error::new(SqlState::LockNotAvailable, message).caused_by(cause)
        }
        _ => error,
    }
}
