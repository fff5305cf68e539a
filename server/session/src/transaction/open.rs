//! The open kv transaction of a session, and the catalog as it sees it.
//!
//! Rule: the kv transaction begins with the first statement that needs it, not at BEGIN.

use std::sync::Arc;

use braid_catalog::{Catalog, Draft};
use braid_exec::from_kv;
use braid_kv::{Isolation, Seq, TxnOptions};
use braid_sql::ast::IsolationLevel;
use braid_types::{Error, Result, SqlState};

use crate::clock::now_micros;
use crate::observe::transactions::begin_transaction;
use crate::session::Session;
use crate::statement::deadline::deadline_of;
use crate::transaction::machine::Block;
use crate::transaction::state::Open;

/// The open transaction; begins one if there is none.
pub(crate) fn ensure_open(session: &mut Session) -> &mut Open {
    if session.open.is_none() {
        let open = begin_kv(session);
        let mut activity = session.shared.entry.activity.lock();
        activity.transaction_start = Some(open.micros);
        activity.transaction = Some(open.txn.id().0);
        drop(activity);
        session.open = Some(open);
        begin_transaction(session);
    }
    session.open.as_mut().expect("was set above")
}

fn begin_kv(session: &mut Session) -> Open {
    let active = session.active();
    let lock_timeout = active.lock_timeout;
    session.temporary.keys.set_bytes_max(active.temporary_bytes_max);
    let modes = session.shared.modes();
    // A savepoint from before READ ONLY may be rolled back to: then it can write again.
    let is_read_only = modes.read_only
        && session.block_state.savepoints.iter().all(|savepoint| savepoint.read_only);
    let options = TxnOptions {
        isolation: match modes.isolation {
            IsolationLevel::ReadUncommitted | IsolationLevel::ReadCommitted => {
                Isolation::ReadCommitted
            }
            IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
            IsolationLevel::Serializable => Isolation::Serializable,
        },
        read_only: is_read_only,
        lock_timeout,
        local: Some(session.temporary.keys.clone()),
        ..TxnOptions::default()
    };
    let txn = session.engine.kv.begin(options);
    // A fresh transaction takes it.
    let joined = session.shared.advisory.begin(&txn);
    debug_assert!(joined.is_ok(), "a transaction that has just begun is active");
    let micros = session.block_state.micros.unwrap_or_else(now_micros);
    let start = txn.savepoint();
    // A transaction that reads at a given snapshot counts as begun. So it is never run again
    // by itself, because at that snapshot it would meet the same conflict.
    let mut statements = 0;
    if let Some(snapshot) = &session.block_state.snapshot {
        let imported = txn.snapshots().import(snapshot);
        debug_assert!(imported.is_ok(), "a transaction that has just begun has no snapshot");
        statements = 1;
    }
    Open {
        txn,
        start,
        draft: Arc::default(),
        catalog_since: None,
        micros,
        statements,
        doomed: false,
        unchecked: None,
        deadlocked: false,
    }
}

/// Replaces the kv transaction by a fresh one, to run its first statement again.
pub(crate) async fn restart_kv(session: &mut Session) {
    session.shared.advisory.undo_transaction();
    if let Some(open) = session.open.take() {
        open.txn.rollback().await;
    }
    ensure_open(session);
}

/// The catalog as the statement sees it: the transaction's own changes included.
pub(crate) async fn catalog_at(session: &mut Session, seq: Seq) -> Result<Arc<Catalog>> {
    let (server, entry) = (session.engine.clone(), session.shared.entry.clone());
    let deadline = deadline_of(session);
    let open = ensure_open(session);
    if let Some(draft) = open.draft.get().filter(Draft::is_locked) {
        return Ok(draft.catalog().clone());
    }
    let before = open.txn.commit_terms().snapshot();
    // The first wait for the store: it may be away. Before a statement runs nobody else looks
    // at the time.
    let running = entry.is_running();
    let late = async {
        match deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    let shared = tokio::select! {
        biased;
        catalog = server.catalog.at(&open.txn, seq) => catalog.map_err(from_kv),
        error = entry.cancel.stopped(), if running => Err(error),
        () = late, if !running => Err(server.statement_timeout()),
    }?;
    // Statements that run side by side may move the snapshot at any moment. At READ COMMITTED a
    // statement keeps its own.
    let after = open.txn.commit_terms().snapshot();
    open.catalog_since = match open.txn.isolation() {
        Isolation::ReadCommitted => after,
        Isolation::RepeatableRead | Isolation::Serializable => before.or(after),
    };
    open.draft.note_seen(shared.version(), open.statements <= 1);
    Ok(over_shared(session, shared))
}

/// 25P01 unless in a block.
pub(crate) fn require_block(session: &Session, command: &str) -> Result<()> {
    if session.block != Block::None || session.in_simple_list {
        return Ok(());
    }
    Err(Error::new(
        SqlState::NoActiveSqlTransaction,
        format!("{command} can only be used in transaction blocks"),
    ))
}

/// The catalog as a statement of the transaction sees it, made of the shared one.
fn over_shared(session: &mut Session, base: Arc<Catalog>) -> Arc<Catalog> {
    match session.open.as_ref().and_then(|open| open.draft.rebased(&base)) {
        Some(catalog) => catalog,
        None => session.temporary.over(base),
    }
}

/// The same for a transaction that is not, or no longer, the session's open one.
pub(crate) async fn catalog_of(session: &mut Session, open: &Open) -> Result<Arc<Catalog>> {
    if let Some(draft) = open.draft.get().filter(Draft::is_locked) {
        return Ok(draft.catalog().clone());
    }
    let seq = open.txn.next_statement();
    let base = session.engine.catalog.at(&open.txn, seq).await.map_err(from_kv)?;
    Ok(match open.draft.rebased(&base) {
        Some(catalog) => catalog,
        None => session.temporary.over(base),
    })
}
