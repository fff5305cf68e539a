//! The transaction of a session: implicit or a block, its savepoints, its end.
//!
//! ```text
//!            BEGIN                     an error
//!   None ───────────▶ Active ───────────────────────────▶ Failed
//!    ▲ ◀── COMMIT ──────┤ ◀──── ROLLBACK TO SAVEPOINT ─────┤
//!    ├ ◀── ROLLBACK ────┴───────── ROLLBACK or COMMIT ◀────┘
//!    └ an implicit transaction is open while the block is None and `open` is not
//! ```
//!
//! Rules: the kv transaction begins with the first statement that needs it, not at BEGIN; a
//! failed transaction without savepoints gives its locks back at once; the catalog's draft, the
//! settings and the write buffer go back together.

use std::sync::Arc;

use braid_catalog::{Catalog, Draft, PendingChange, Token, token_key};
use braid_kv::{
    CommitOutcome, Error as Kv, Isolation, SavepointId, Seq, SharedSnapshot, Transaction,
    TxnOptions,
};
use braid_sql::ast::{IsolationLevel, TransactionModes};
use braid_types::{Error, Result, SqlState, work};

use crate::clock::now_micros;
use crate::errors::{is_restart, is_retryable};
use crate::savepoints::Savepoint;
use crate::session::{Session, default_modes};
use crate::shared::Modes;
use braid_exec::{ConstraintModes, from_kv};

/// Whether the session is in a transaction block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// No.
    None,
    /// Yes.
    Active,
    /// Yes, and it has failed.
    Failed,
    /// Yes, and it has committed already by `RELEASE SAVEPOINT cockroach_restart`.
    Released,
}

/// An open kv transaction.
pub(crate) struct Open {
    pub txn: Arc<Transaction>,
    /// The position before its first statement.
    pub start: SavepointId,
    pub draft: Option<Draft>,
    /// Its timestamp: microseconds since 2000-01-01.
    pub micros: i64,
    /// Statements run in it.
    pub statements: u32,
    /// The client was told of a retry error, so nothing that it has seen here counts.
    pub doomed: bool,
    /// Keys are still to be checked; the catalog tells their constraints.
    pub unchecked: Option<Arc<Catalog>>,
    /// It was the victim of a deadlock: its locks stand in the way of others.
    pub deadlocked: bool,
}

/// What belongs to a block even before its kv transaction begins.
#[derive(Default)]
pub(crate) struct BlockState {
    pub savepoints: Vec<Savepoint>,
    /// How often it was rolled back to the restart savepoint.
    pub restarts: u32,
    /// SET CONSTRAINTS.
    pub constraints: Arc<ConstraintModes>,
    /// SET TRANSACTION SNAPSHOT.
    pub snapshot: Option<SharedSnapshot>,
    /// When BEGIN was.
    pub micros: Option<i64>,
}

impl Session {
    /// The open transaction; begins one if there is none.
    pub(crate) fn ensure_open(&mut self) -> &mut Open {
        if self.open.is_none() {
            let open = self.begin_kv();
            let mut activity = self.shared.entry.activity.lock();
            activity.transaction_start = Some(open.micros);
            activity.transaction = Some(open.txn.id().0);
            drop(activity);
            self.open = Some(open);
        }
        self.open.as_mut().expect("was set above")
    }

    fn begin_kv(&mut self) -> Open {
        let active = self.active();
        let lock_timeout = active.lock_timeout;
        self.temporary.keys.set_bytes_max(active.temporary_bytes_max);
        let modes = self.modes();
        // A savepoint from before READ ONLY may be rolled back to: then it can write again.
        let is_read_only = modes.read_only
            && self.block_state.savepoints.iter().all(|savepoint| savepoint.read_only);
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
            local: Some(self.temporary.keys.clone()),
            ..TxnOptions::default()
        };
        let txn = self.server.kv.begin(options);
        // A fresh transaction takes it.
        let joined = self.shared.advisory.begin(&txn);
        debug_assert!(joined.is_ok(), "a transaction that has just begun is active");
        let micros = self.block_state.micros.unwrap_or_else(now_micros);
        let start = txn.savepoint();
        // A transaction that reads at a given snapshot counts as begun. So it is never run again
        // by itself, because at that snapshot it would meet the same conflict.
        let mut statements = 0;
        if let Some(snapshot) = &self.block_state.snapshot {
            let imported = txn.import_snapshot(snapshot);
            debug_assert!(imported.is_ok(), "a transaction that has just begun has no snapshot");
            statements = 1;
        }
        Open {
            txn,
            start,
            draft: None,
            micros,
            statements,
            doomed: false,
            unchecked: None,
            deadlocked: false,
        }
    }

    /// Replaces the kv transaction by a fresh one, to run its first statement again.
    pub(crate) async fn restart_kv(&mut self) {
        self.shared.advisory.undo_transaction();
        if let Some(open) = self.open.take() {
            open.txn.rollback().await;
        }
        self.ensure_open();
    }

    pub(crate) fn modes(&self) -> Modes {
        self.shared.state.lock().modes
    }

    /// The catalog as the statement sees it: the transaction's own changes included.
    pub(crate) async fn catalog_at(&mut self, seq: Seq) -> Result<Arc<Catalog>> {
        let (server, entry) = (self.server.clone(), self.shared.entry.clone());
        let deadline = self.deadline();
        let open = self.ensure_open();
        if let Some(draft) = &open.draft
            && draft.is_locked()
        {
            return Ok(draft.catalog().clone());
        }
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
        Ok(self.over_shared(shared))
    }

    /// 25P02 in a failed block, 25000 in a released one.
    pub(crate) fn check_block(&self) -> Result<()> {
        match self.block {
            Block::Failed => Err(Error::new(
                SqlState::InFailedSqlTransaction,
                "current transaction is aborted, commands ignored until end of transaction block",
            )),
            Block::Released => Err(Error::new(
                SqlState::InvalidTransactionState,
                "current transaction is committed, commands ignored until end of transaction block",
            )),
            Block::None | Block::Active => Ok(()),
        }
    }

    /// 25P01 unless in a block.
    pub(crate) fn require_block(&self, command: &str) -> Result<()> {
        if self.block != Block::None || self.in_simple_list {
            return Ok(());
        }
        Err(Error::new(
            SqlState::NoActiveSqlTransaction,
            format!("{command} can only be used in transaction blocks"),
        ))
    }

    /// `BEGIN`
    pub(crate) fn begin_block(&mut self, modes: &TransactionModes) -> Result<()> {
        if self.block != Block::None {
            self.check_block()?;
            self.warn(SqlState::ActiveSqlTransaction, "there is already a transaction in progress");
        } else {
            self.block_state = BlockState { micros: Some(now_micros()), ..BlockState::default() };
            self.block = Block::Active;
            let record_timeline = self.active().record_timeline;
            self.group.begin(record_timeline);
            if self.open.is_none() {
                self.reset_modes();
            }
        }
        self.set_modes(modes)
    }

    fn reset_modes(&mut self) {
        let mut state = self.shared.state.lock();
        state.modes = default_modes(state.settings.active());
    }

    /// `SET TRANSACTION`
    pub(crate) fn set_modes(&mut self, modes: &TransactionModes) -> Result<()> {
        let begun = self.open.as_ref().is_some_and(|open| open.statements > 0);
        let mut now = self.modes();
        if let Some(isolation) = modes.isolation
            && isolation != now.isolation
        {
            if begun {
                return Err(Error::new(
                    SqlState::ActiveSqlTransaction,
                    "SET TRANSACTION ISOLATION LEVEL must be called before any query",
                ));
            }
            if !self.block_state.savepoints.is_empty() {
                return Err(Error::new(
                    SqlState::ActiveSqlTransaction,
                    "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction",
                ));
            }
            now.isolation = isolation;
        }
        if let Some(read_only) = modes.read_only
            && read_only != now.read_only
        {
            if !read_only && !self.block_state.savepoints.is_empty() {
                return Err(Error::new(
                    SqlState::ActiveSqlTransaction,
                    "cannot set transaction read-write mode inside a read-only transaction",
                ));
            }
            if begun && !read_only {
                return Err(Error::new(
                    SqlState::ActiveSqlTransaction,
                    "transaction read-write mode must be set before any query",
                ));
            }
            now.read_only = read_only;
        }
        now.deferrable = modes.deferrable.unwrap_or(now.deferrable);
        self.shared.state.lock().modes = now;
        if !begun {
            // It has not been used yet, so it can begin anew with these modes.
            self.open = None;
        }
        Ok(())
    }

    /// `COMMIT`; the tag.
    pub(crate) async fn commit_block(&mut self, and_chain: bool) -> Result<&'static str> {
        let modes = self.modes();
        let tag = match self.block {
            Block::None => {
                if and_chain {
                    return Err(Error::new(
                        SqlState::NoActiveSqlTransaction,
                        "COMMIT AND CHAIN can only be used in transaction blocks",
                    ));
                }
                self.warn(SqlState::NoActiveSqlTransaction, "there is no transaction in progress");
                self.commit_open().await?;
                return Ok("COMMIT");
            }
            Block::Failed => {
                self.rollback_open().await;
                "ROLLBACK"
            }
            Block::Released => "COMMIT",
            Block::Active => {
                // However it ends, the block is over.
                let result = self.commit_open().await;
                self.end_block();
                result?;
                "COMMIT"
            }
        };
        self.end_block();
        self.chain(and_chain, modes);
        Ok(tag)
    }

    /// `ROLLBACK`
    pub(crate) async fn rollback_block(&mut self, and_chain: bool) -> Result<()> {
        let modes = self.modes();
        if self.block == Block::None {
            if and_chain {
                return Err(Error::new(
                    SqlState::NoActiveSqlTransaction,
                    "ROLLBACK AND CHAIN can only be used in transaction blocks",
                ));
            }
            self.warn(SqlState::NoActiveSqlTransaction, "there is no transaction in progress");
        }
        if self.block == Block::Released {
            let message = "the transaction has been committed by RELEASE SAVEPOINT";
            self.warn(SqlState::InvalidTransactionState, message);
        }
        self.rollback_open().await;
        self.end_block();
        self.chain(and_chain, modes);
        Ok(())
    }

    fn chain(&mut self, and_chain: bool, modes: Modes) {
        if and_chain {
            self.block = Block::Active;
            self.block_state.micros = Some(now_micros());
            self.shared.state.lock().modes = modes;
        }
    }

    pub(crate) fn end_block(&mut self) {
        self.block = Block::None;
        self.block_state = BlockState::default();
    }

    /// Commits what is open, if anything is. However it ends, nothing is open afterwards.
    pub(crate) async fn commit_open(&mut self) -> Result<()> {
        self.commit_work(false).await
    }

    /// The same, but after a retry error that is not a deadlock the transaction stays open, begun
    /// anew with its locks.
    pub(crate) async fn commit_keeping_locks(&mut self) -> Result<()> {
        self.commit_work(true).await
    }

    async fn commit_work(&mut self, keep_locks: bool) -> Result<()> {
        if let Err(error) = self.materialize_held().await {
            if !(keep_locks && is_restart(&error)) {
                self.rollback_open().await;
            }
            return Err(error);
        }
        let token = self.shared.state.lock().settings.commit_token();
        if token.is_some() {
            self.ensure_open();
        }
        let Some(mut open) = self.open.take() else {
            self.shared.state.lock().settings.commit();
            self.finished();
            return Ok(());
        };
        let (open, result) = match self.commit_kv(&mut open, token, keep_locks).await {
            Err(error) => self.commit_again(open, token, error).await,
            Ok(()) => (Some(open), Ok(())),
        };
        if let Some(open) = &open {
            self.shared.state.lock().round_trips = open.txn.round_trips();
        }
        match &result {
            Ok(()) => {
                if let Some(open) = &open {
                    self.keep_temporary(open);
                }
                self.shared.state.lock().settings.commit();
                self.finished();
            }
            Err(error) if keep_locks && is_restart(error) => self.open = open,
            Err(_) => {
                if let Some(open) = &open {
                    open.txn.rollback().await;
                }
                self.shared.state.lock().settings.rollback();
                self.portals.retain(|_, portal| portal.is_held());
                self.finished();
            }
        }
        result
    }

    pub(crate) async fn commit_kv(
        &mut self,
        open: &mut Open,
        token: Option<Token>,
        keep_locks: bool,
    ) -> Result<()> {
        self.check_deferred(open).await?;
        self.end_temporary(open).await?;
        let mut pending: Option<PendingChange> = None;
        if let Some(draft) = &open.draft {
            let seq = open.txn.next_statement();
            pending = draft.flush(&self.server.catalog, &open.txn, seq).await.map_err(from_kv)?;
        }
        if let Some(token) = token {
            self.shared.record_token(&open.txn, token).await?;
        }
        open.txn.set_lock_timeout(self.commit_lock_timeout());
        let announcement = self.announce(&open.txn).await?;
        // Others may wait for this commit, or be part of the same one.
        work::return_home().await;
        let outcome = match keep_locks {
            true => open.txn.commit_or_restart().await,
            false => open.txn.commit().await,
        };
        drop(pending);
        if let (Ok(CommitOutcome::Committed(_)), Some(announcement)) = (&outcome, announcement) {
            self.announced(announcement).await;
        }
        match (outcome, token) {
            (Err(Kv::Duplicate { key, .. }), Some(token)) if key == token_key(token) => {
                Err(self.shared.token_used(token).await)
            }
            (Err(Kv::CheckChanged(conflict)), _) => Err(self.check_changed(&conflict).await),
            (outcome, _) => {
                let result = outcome.and_then(CommitOutcome::into_result).map(drop);
                result.map_err(|error| {
                    let error = self.commit_error(error, open.unchecked.as_ref());
                    self.late_commit(error)
                })
            }
        }
    }

    /// Rolls back what is open. The block, if there is one, goes on as it is.
    pub(crate) async fn rollback_open(&mut self) {
        self.stop_group().await;
        if let Some(open) = self.open.take() {
            open.txn.rollback().await;
            self.shared.state.lock().round_trips = open.txn.round_trips();
        }
        self.shared.state.lock().settings.rollback();
        self.portals.retain(|_, portal| portal.is_held());
        self.finished();
    }

    /// Rolls back what is open, to run it again.
    pub(crate) async fn take_back_open(&mut self) {
        self.shared.advisory.undo_transaction();
        self.rollback_open().await;
    }

    /// What ends with every transaction.
    fn finished(&mut self) {
        self.shared.advisory.end_transaction();
        self.shared.exports.lock().clear();
        self.block_state.snapshot = None;
        self.portals.retain(|_, portal| portal.is_held());
        self.retain_temporary_sequences();
        self.note_cursors();
        self.group.end();
        self.block_state.constraints = Arc::default();
        self.reset_modes();
        let mut activity = self.shared.entry.activity.lock();
        activity.transaction_start = None;
        activity.transaction = None;
    }

    /// An error is on its way to the client: an implicit transaction ends, a block has failed.
    pub async fn fail(&mut self, error: &Error) {
        self.replay.clear();
        self.stop_group().await;
        if is_retryable(error) {
            self.server.counters.client_retries.add(error);
            if let Some(open) = self.open.as_mut() {
                open.doomed = true;
                open.deadlocked |= error.state() == SqlState::DeadlockDetected;
            }
        }
        match self.block {
            Block::Active if !self.block_state.savepoints.is_empty() => {
                self.block = Block::Failed;
                self.shared.advisory.roll_back_from(self.block_state.savepoints.len());
                self.give_way().await;
            }
            Block::Active => {
                self.rollback_open().await;
                self.block = Block::Failed;
            }
            Block::None => self.rollback_open().await,
            Block::Failed | Block::Released => {}
        }
    }
}
